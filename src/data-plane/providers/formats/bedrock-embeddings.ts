import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { noUsage, type Usage } from '../../../common/core/usage.js';
import { getHeader } from '../../../common/http/headers.js';
import type {
  CanonicalReply,
  CanonicalRequest,
  ConversionContext,
  EmbeddingFormat,
  WireRequest,
} from '../provider.js';
import { invalid, unsupported } from './anthropic-content.js';
import { bareModelId } from './bedrock-models.js';
import { bedrockError } from './bedrock-reply.js';
import { asArray, asObject, asString, count } from './json-shape.js';
import { floatsToBase64 } from './vectors.js';

/**
 * Embeddings by InvokeModel, whose body is each vendor's own: Titan
 * (docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html) takes one text a call, Cohere
 * (…/model-parameters-embed-v3.html, -v4.html) up to 96.
 */
export const bedrockEmbeddings: EmbeddingFormat = {
  name: 'bedrock-embeddings',
  toWire(request) {
    const model = bareModelId(asString(request['model']) ?? '');
    if (model.startsWith('cohere.')) return toCohere(request);
    if (model.startsWith('amazon.titan-embed')) return toTitan(request, model);
    throw unsupported(
      'model',
      'of the embedding models on Bedrock, only those of Titan (amazon.titan-embed-…) and Cohere (cohere.embed-…) can be asked in this way.',
    );
  },
  fromWire: fromInvoke,
  errorFromWire: bedrockError,
  usage: usageOf,
};

/** Read below; the rest is Titan's or Cohere's own and passes, or is reported. */
const mapped = new Set(['model', 'input', 'dimensions', 'encoding_format', 'user']);
const titanFields = new Set(['normalize', 'embeddingTypes', 'inputImage', 'embeddingConfig']);
const cohereFields = new Set(['input_type', 'truncate', 'images', 'inputs', 'max_tokens']);

function texts(request: CanonicalRequest): string[] {
  const { input } = request;
  const list = typeof input === 'string' ? [input] : asArray(input);
  if (list === null) throw invalid('input', 'must be a string or a list of strings.');
  return list.map((text, i) => {
    if (typeof text === 'string') return text;
    throw unsupported(`input[${i}]`, 'tokens cannot be sent to this provider: send the text.');
  });
}

function others(request: CanonicalRequest, passed: ReadonlySet<string>, body: JsonObject): string[] {
  const dropped: string[] = [];
  for (const key in request) {
    const value = request[key];
    if (mapped.has(key) || value === null || value === undefined) continue;
    if (passed.has(key)) body[key] = value;
    else dropped.push(key);
  }
  if (typeof request['user'] === 'string') dropped.push('user');
  return dropped;
}

function toTitan(request: CanonicalRequest, model: string): WireRequest {
  const [text, ...more] = texts(request);
  if (text === undefined) throw invalid('input', 'must not be empty.');
  if (more.length > 0) {
    throw unsupported(
      'input',
      'Titan embeds one text a call: send one, or use a Cohere model for several at once.',
    );
  }
  const body: JsonObject = { inputText: text };
  const dropped = others(request, titanFields, body);
  const dimensions = request['dimensions'] ?? null;
  if (dimensions !== null) {
    if (/titan-embed-text-v2/.test(model)) body['dimensions'] = dimensions;
    else if (/titan-embed-image/.test(model)) body['embeddingConfig'] = { outputEmbeddingLength: dimensions };
    else dropped.push('dimensions');
  }
  return { body, dropped };
}

function toCohere(request: CanonicalRequest): WireRequest {
  // `input_type` is mandatory; texts embedded without a purpose are most often documents for search.
  const body: JsonObject = { texts: texts(request), input_type: 'search_document' };
  const dropped = others(request, cohereFields, body);
  const dimensions = request['dimensions'] ?? null;
  if (dimensions !== null) {
    if (/embed-v4/.test(String(request['model']))) body['output_dimension'] = dimensions;
    else dropped.push('dimensions');
  }
  body['embedding_types'] = ['float'];
  return { body, dropped };
}

function fromInvoke(body: JsonObject, context: ConversionContext): CanonicalReply {
  const vectors = vectorsOf(body);
  if (vectors === null) {
    throw new GatewayError(
      'upstream_invalid_response',
      `${context.provider} answered with something that is not an embedding.`,
    );
  }
  const base64 = context.request?.['encoding_format'] === 'base64';
  const tokens = usageOf(body, context)?.input ?? 0;
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: base64 ? floatsToBase64(vector) : vector,
    })),
    model: context.model ?? context.request?.['model'] ?? null,
    provider: context.provider,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

function vectorsOf(body: JsonObject): (readonly unknown[])[] | null {
  const single = asArray(body['embedding']);
  if (single !== null) return [single];
  // By type where types were asked for, else a bare list.
  const list = asArray(asObject(body['embeddings'])?.['float']) ?? asArray(body['embeddings']);
  const vectors = list?.map(asArray) ?? null;
  return vectors === null || vectors.includes(null) ? null : (vectors as (readonly unknown[])[]);
}

/** Titan counts in its body; for all models InvokeModel counts in a header. */
function usageOf(body: JsonObject, context?: ConversionContext): Usage | null {
  const counted = getHeader(context?.headers ?? [], 'x-amzn-bedrock-input-token-count');
  const input = count(body['inputTextTokenCount']) || count(Number(counted));
  return input === 0 ? null : { ...noUsage(), input, source: 'provider' };
}
