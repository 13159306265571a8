import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { noUsage, type Usage } from '../../../common/core/usage.js';
import type { ConversionContext, EmbeddingFormat } from '../provider.js';
import { unsupported } from './anthropic-content.js';
import { embeddingList, inputTexts } from './embedding-list.js';
import { geminiError } from './gemini-error.js';
import { asArray, asObject, count } from './json-shape.js';

/** Read below. */
const mapped = new Set(['model', 'input', 'dimensions', 'encoding_format']);

/** Gemini's own fields, under either spelling, by their place in each of the two APIs. */
const own: Readonly<Record<string, { readonly gemini: string | null; readonly vertex: string }>> = {
  task_type: { gemini: 'taskType', vertex: 'task_type' },
  taskType: { gemini: 'taskType', vertex: 'task_type' },
  title: { gemini: 'title', vertex: 'title' },
  auto_truncate: { gemini: null, vertex: 'autoTruncate' },
  autoTruncate: { gemini: null, vertex: 'autoTruncate' },
};

function* unmapped(request: JsonObject): Generator<string> {
  for (const key in request) {
    if (!mapped.has(key) && request[key] !== null && request[key] !== undefined) yield key;
  }
}

/** `models/{model}:batchEmbedContents` (ai.google.dev/api/embeddings): one request in the batch for each text. */
export const geminiBatchEmbedContents: EmbeddingFormat = {
  name: 'gemini-batch-embed-contents',
  toWire(request) {
    const dropped: string[] = [];
    const model = String(request['model']);
    const shared: JsonObject = { model: model.includes('/') ? model : `models/${model}` };
    const more: JsonObject = {};
    if (typeof request['dimensions'] === 'number') more['outputDimensionality'] = request['dimensions'];
    for (const key of unmapped(request)) {
      const name = Object.hasOwn(own, key) ? (own[key]?.gemini ?? null) : null;
      if (name === null) dropped.push(key);
      else more[name] = request[key];
    }
    const requests = inputTexts(request).map((text) => ({
      ...shared,
      content: { parts: [{ text }] },
      ...more,
    }));
    return { body: { requests }, dropped };
  },
  fromWire(body, context) {
    const vectors = (asArray(body['embeddings']) ?? []).map((entry) => asArray(asObject(entry)?.['values']));
    return embeddingList(whole(vectors, context), tokensOf(body), context);
  },
  errorFromWire: geminiError,
  usage: (body) => counted(tokensOf(body)),
};

/** `publishers/google/models/{model}:predict` of Vertex AI (cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api). */
export const vertexPredictEmbeddings: EmbeddingFormat = {
  name: 'vertex-predict-embeddings',
  toWire(request) {
    const dropped: string[] = [];
    const instance: JsonObject = {};
    const parameters: JsonObject = {};
    if (typeof request['dimensions'] === 'number') parameters['outputDimensionality'] = request['dimensions'];
    for (const key of unmapped(request)) {
      const name = Object.hasOwn(own, key) ? own[key]?.vertex : undefined;
      if (name === undefined) dropped.push(key);
      else if (name === 'autoTruncate') parameters[name] = request[key];
      else instance[name] = request[key];
    }
    const instances = inputTexts(request).map((content) => ({ content, ...instance }));
    const body = Object.keys(parameters).length === 0 ? { instances } : { instances, parameters };
    return { body, dropped };
  },
  fromWire(body, context) {
    const vectors = (asArray(body['predictions']) ?? []).map((entry) =>
      asArray(asObject(asObject(entry)?.['embeddings'])?.['values']),
    );
    return embeddingList(whole(vectors, context), predicted(body), context);
  },
  errorFromWire: geminiError,
  usage: (body) => counted(predicted(body)),
};

/**
 * `publishers/google/models/{model}:embedContent` of Vertex AI: how its multimodal models (gemini-embedding-2 and after)
 * are asked, one text a call (the requests of @google/genai 2.32).
 */
export const vertexEmbedContent: EmbeddingFormat = {
  name: 'vertex-embed-content',
  toWire(request, inner) {
    const { auto_truncate: truncate = request['autoTruncate'], autoTruncate: __, ...rest } = request;
    const { body, dropped } = geminiBatchEmbedContents.toWire(rest, inner);
    const requests = body['requests'] as JsonObject[];
    if (requests.length > 1) {
      throw unsupported('input', 'this model embeds one text a call on Vertex AI: send one.');
    }
    const { model: _, content, ...settings } = requests[0]!;
    const config = typeof truncate === 'boolean' ? { ...settings, autoTruncate: truncate } : settings;
    const wire = Object.keys(config).length === 0 ? { content } : { content, embedContentConfig: config };
    return { body: wire, dropped };
  },
  fromWire(body, context) {
    const vector = asArray(asObject(body['embedding'])?.['values']);
    return embeddingList(whole([vector], context), tokensOf(body), context);
  },
  errorFromWire: geminiError,
  usage: (body) => counted(tokensOf(body)),
};

/** One vector for each text that was asked for, or it is no answer. */
function whole(
  vectors: readonly (readonly unknown[] | null)[],
  { provider, request }: ConversionContext,
): (readonly unknown[])[] {
  const found = vectors.filter((vector) => vector !== null);
  const wanted = request === undefined ? found.length : inputTexts(request).length;
  if (found.length > 0 && found.length === vectors.length && found.length === wanted) return found;
  throw new GatewayError(
    'upstream_invalid_response',
    `${provider} answered with ${found.length} embeddings where ${wanted} were asked for.`,
  );
}

const tokensOf = (body: JsonObject): number => count(asObject(body['usageMetadata'])?.['promptTokenCount']);

function predicted(body: JsonObject): number {
  return (asArray(body['predictions']) ?? []).reduce<number>((sum, entry) => {
    const statistics = asObject(asObject(asObject(entry)?.['embeddings'])?.['statistics']);
    return sum + count(statistics?.['token_count']);
  }, 0);
}

const counted = (tokens: number): Usage | null =>
  tokens === 0 ? null : { ...noUsage(), input: tokens, source: 'provider' };
