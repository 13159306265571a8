import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { noUsage, type Usage } from '../../../common/core/usage.js';
import type {
  CanonicalReply,
  CanonicalRequest,
  ConversionContext,
  EmbeddingFormat,
  WireRequest,
} from '../provider.js';
import { embeddingList, inputTexts } from './embedding-list.js';
import { asArray, asObject, count } from './json-shape.js';
import { readProviderError } from './provider-error.js';

/** Nomic's embeddings of text (docs.nomic.ai/reference/api/embed-text-v-1-embedding-text-post). */
export const nomicEmbed: EmbeddingFormat = {
  name: 'nomic-embed',
  toWire: toNomicRequest,
  fromWire: fromNomicReply,
  errorFromWire: readProviderError,
  usage: nomicUsage,
};

const mapped = new Set(['input', 'dimensions', 'encoding_format']);
const passed = new Set(['model', 'task_type', 'dimensionality', 'long_text_mode', 'max_tokens_per_text']);

function toNomicRequest(request: CanonicalRequest): WireRequest {
  const dropped: string[] = [];
  const body: JsonObject = {};
  for (const key in request) {
    const value = request[key];
    if (mapped.has(key) || value === null || value === undefined) continue;
    if (passed.has(key)) body[key] = value;
    else dropped.push(key);
  }
  body['texts'] = inputTexts(request);
  // Nomic's own default, sent so that it stays the same: most texts are embedded to be found again.
  body['task_type'] ??= 'search_document';
  const dimensions = request['dimensions'] ?? null;
  if (dimensions !== null) body['dimensionality'] ??= dimensions;
  return { body, dropped };
}

function fromNomicReply(body: JsonObject, context: ConversionContext): CanonicalReply {
  const vectors = asArray(body['embeddings'])?.map(asArray);
  if (vectors === undefined || !vectors.every((vector) => vector !== null)) {
    throw new GatewayError(
      'upstream_invalid_response',
      `${context.provider} answered with something that is not a list of embeddings.`,
    );
  }
  return embeddingList(vectors, nomicUsage(body)?.input ?? 0, context);
}

function nomicUsage(body: JsonObject): Usage | null {
  const raw = asObject(body['usage']);
  if (raw === null) return null;
  return {
    ...noUsage(),
    input: count(raw['prompt_tokens'] ?? raw['total_tokens']),
    source: 'provider',
  };
}
