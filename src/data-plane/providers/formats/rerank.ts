import { GatewayError } from '../../../common/core/errors.js';
import type { JsonObject } from '../../../common/core/exchange.js';
import { noUsage, setKinds, type Usage } from '../../../common/core/usage.js';
import { stringifyJson } from '../../../common/json/json.js';
import type {
  CanonicalReply,
  CanonicalRequest,
  ConversionContext,
  WireFormat,
  WireRequest,
} from '../provider.js';
import { invalid } from './anthropic-content.js';
import { asArray, asObject, asString, count } from './json-shape.js';
import { readProviderError } from './provider-error.js';

/** Fields of `POST /v1/rerank` and what one provider makes of them: under which name, or not at all. */
type Names = Readonly<Record<string, string | null>>;

/** Cohere, version 2: documents are texts (docs.cohere.com/reference/rerank). */
export const cohereRerank = rerankFormat('cohere-rerank', textsAlone, {
  model: 'model',
  query: 'query',
  top_n: 'top_n',
  max_tokens_per_doc: 'max_tokens_per_doc',
  priority: 'priority',
  // Done here, on the texts and on the answer.
  rank_fields: null,
  return_documents: null,
});

/** Voyage: documents are texts, `top_n` has another name (docs.voyageai.com/reference/reranker-api). */
export const voyageRerank = rerankFormat('voyage-rerank', textsAlone, {
  model: 'model',
  query: 'query',
  top_n: 'top_k',
  truncation: 'truncation',
  rank_fields: null,
  return_documents: null,
});

/** Jina and those who took its shape over (api.jina.ai/redoc): the request goes as it came. */
export const jinaRerank = rerankFormat('jina-rerank', (request) => ({ body: request, dropped: [] }), {});

function rerankFormat(
  name: WireFormat['name'],
  toWire: (request: CanonicalRequest, names: Names) => WireRequest,
  names: Names,
): WireFormat {
  return {
    name,
    toWire: (request) => toWire(request, names),
    fromWire: fromRerank,
    errorFromWire: readProviderError,
    usage: rerankUsage,
  };
}

function textsAlone(request: CanonicalRequest, names: Names): WireRequest {
  const dropped: string[] = [];
  const body: JsonObject = {};
  const fields = asArray(request['rank_fields']);
  for (const key in request) {
    const value = request[key];
    if (value === null || value === undefined) continue;
    if (key === 'documents') body[key] = (asArray(value) ?? []).map((doc, i) => textOf(doc, fields, i));
    else if (!Object.hasOwn(names, key)) dropped.push(key);
    else if (names[key]) body[names[key] as string] = value;
  }
  return { body, dropped };
}

/** A document of several fields as YAML, which is how such models read one best. */
function textOf(document: unknown, fields: readonly unknown[] | null, i: number): string {
  if (typeof document === 'string') return document;
  const object = asObject(document);
  if (object === null) throw invalid(`documents[${i}]`, 'must be a string or an object with a text.');
  const keys = Object.keys(object).filter((key) => fields === null || fields.includes(key));
  if (keys.length === 1 && typeof object[keys[0] as string] === 'string')
    return object[keys[0] as string] as string;
  return keys
    .map((key) => `${key}: ${typeof object[key] === 'string' ? object[key] : stringifyJson(object[key])}`)
    .join('\n');
}

/** `results` or `data`, each with its score; documents come from the request where the provider sends none. */
function fromRerank(body: JsonObject, context: ConversionContext): CanonicalReply {
  const ranked = asArray(body['results']) ?? asArray(body['data']);
  if (ranked === null) {
    throw new GatewayError(
      'upstream_invalid_response',
      `${context.provider} answered with something that is not a ranking.`,
    );
  }
  const request = context.request ?? {};
  const documents = request['return_documents'] === true ? (asArray(request['documents']) ?? []) : [];
  return {
    ...(body['id'] === undefined ? {} : { id: body['id'] }),
    object: 'list',
    results: ranked.map((value) => {
      const result = asObject(value) ?? {};
      const document = result['document'] ?? documents[Number(result['index'])];
      return {
        ...result,
        ...(document === undefined || document === null ? {} : { document: asDocument(document) }),
      };
    }),
    model: asString(body['model']) ?? context.model ?? null,
    usage: usageOf(body),
    provider: context.provider,
  };
}

const asDocument = (document: unknown): unknown =>
  typeof document === 'string' ? { text: document } : document;

/** Cohere bills searches, others count tokens. */
function usageOf(body: JsonObject): JsonObject {
  const units = unitsOf(body);
  if (units !== undefined) return { search_units: units };
  return countsOf(body) ?? {};
}

const unitsOf = (body: JsonObject): unknown =>
  asObject(asObject(body['meta'])?.['billed_units'])?.['search_units'];

const countsOf = (body: JsonObject): JsonObject | null =>
  asObject(body['usage']) ?? asObject(asObject(body['meta'])?.['tokens']);

function rerankUsage(body: JsonObject): Usage | null {
  const counts = countsOf(body);
  const input = count(counts?.['total_tokens'] ?? counts?.['prompt_tokens'] ?? counts?.['input_tokens']);
  const searches = count(unitsOf(body));
  if (input === 0 && searches === 0) return null;
  const usage: Usage = { ...noUsage(), input, source: 'provider' };
  setKinds(usage, { searches });
  return usage;
}
