import type { CanonicalReply, CanonicalRequest, ConversionContext } from '../provider.js';
import { invalid, unsupported } from './anthropic-content.js';
import { asArray } from './json-shape.js';
import { floatsToBase64 } from './vectors.js';

/** `input` of an embeddings request as texts. */
export function inputTexts({ input }: CanonicalRequest): string[] {
  const list = typeof input === 'string' ? [input] : asArray(input);
  if (list === null || list.length === 0) throw invalid('input', 'must be a string or a list of strings.');
  return list.map((text, i) => {
    if (typeof text === 'string') return text;
    throw unsupported(`input[${i}]`, 'tokens cannot be sent to this provider: send the text.');
  });
}

/** Vectors as OpenAI's answer has them: numbers, or base64 where it was asked for. */
export function embeddingList(
  vectors: readonly (readonly unknown[])[],
  tokens: number,
  { provider, request }: ConversionContext,
): CanonicalReply {
  const base64 = request?.['encoding_format'] === 'base64';
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: base64 ? floatsToBase64(vector) : vector,
    })),
    model: request?.['model'] ?? null,
    provider,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}
