import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import type {
  CanonicalReply,
  CanonicalRequest,
  ConversionContext,
  EmbeddingFormat,
  WireRequest,
} from '../provider.js';
import { invalid, unsupported } from './anthropic-content.js';
import { cohereUsage } from './cohere-usage.js';
import { asArray, asObject } from './json-shape.js';
import { readProviderError } from './provider-error.js';
import { floatsToBase64 } from './vectors.js';

/** Cohere's embeddings, version 2 (docs.cohere.com/reference/embed). */
export const cohereEmbed: EmbeddingFormat = {
  name: 'cohere-embed',
  toWire: toEmbedRequest,
  fromWire: fromEmbedReply,
  errorFromWire: readProviderError,
  usage(body) {
    const meta = asObject(body['meta']);
    return meta === null ? null : cohereUsage(meta);
  },
};

const mapped = new Set(['input', 'dimensions', 'encoding_format']);
const passed = new Set(['model', 'input_type', 'truncate', 'max_tokens', 'priority']);

function toEmbedRequest(request: CanonicalRequest): WireRequest {
  const dropped: string[] = [];
  const body: JsonObject = {};
  for (const key in request) {
    const value = request[key];
    if (mapped.has(key) || value === null || value === undefined) continue;
    if (passed.has(key)) body[key] = value;
    else dropped.push(key);
  }
  const { input } = request;
  const list = typeof input === 'string' ? [input] : asArray(input);
  if (list === null) throw invalid('input', 'must be a string or a list of strings.');
  body['texts'] = list.map((text, i) => {
    if (typeof text === 'string') return text;
    throw unsupported(`input[${i}]`, 'tokens cannot be sent to this provider: send the text.');
  });
  // Mandatory; texts embedded without a purpose are most often documents for search.
  body['input_type'] ??= 'search_document';
  body['embedding_types'] = ['float'];
  const dimensions = request['dimensions'] ?? null;
  if (dimensions !== null) body['output_dimension'] = dimensions;
  return { body, dropped };
}

function fromEmbedReply(body: JsonObject, context: ConversionContext): CanonicalReply {
  const vectors = asArray(asObject(body['embeddings'])?.['float']);
  if (vectors === null) {
    throw new GatewayError(
      'upstream_invalid_response',
      `${context.provider} answered with something that is not a list of embeddings.`,
    );
  }
  const base64 = context.request?.['encoding_format'] === 'base64';
  const { input } = cohereUsage(asObject(body['meta']) ?? {});
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: base64 ? floatsToBase64(asArray(vector) ?? []) : vector,
    })),
    model: context.model ?? context.request?.['model'] ?? null,
    provider: context.provider,
    usage: { prompt_tokens: input, total_tokens: input },
  };
}
