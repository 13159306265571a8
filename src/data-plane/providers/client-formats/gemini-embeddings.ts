import type { JsonObject } from '../../../common/core/exchange.js';
import { stringifyJson } from '../../../common/json/json.js';
import { invalid, unsupported } from '../formats/anthropic-content.js';
import { asArray, asObject, asString } from '../formats/json-shape.js';
import { openAiUsage } from '../formats/openai-usage.js';
import type { CanonicalRequest } from '../provider.js';
import type { CanonicalIn, PlainClientFormat } from './client-format.js';
import { geminiErrors } from './gemini-errors.js';
import { geminiRenamed } from './gemini-model.js';
import { camel, member } from './gemini-names.js';

/** `embedContent` of the Gemini API as a client's format (ai.google.dev/api/embeddings): one text, one vector. */
export const geminiEmbedContentClientFormat: PlainClientFormat = {
  ...geminiErrors,
  name: 'gemini-embed-content',
  canonical: 'openai-embeddings',
  renamed: geminiRenamed,
  readRequest: (body, { model }) => readRequests([body], model, (path) => path),
  writeReply: (reply) => ({ embedding: embeddings(reply)[0], ...usageMetadata(reply) }),
};

/** `batchEmbedContents`: several, which must want the same of their vectors. */
export const geminiBatchEmbedContentsClientFormat: PlainClientFormat = {
  ...geminiErrors,
  name: 'gemini-batch-embed-contents',
  canonical: 'openai-embeddings',
  renamed: geminiRenamed,
  readRequest(body, { model }) {
    const requests = asArray(body['requests']);
    if (requests === null) throw invalid('requests', 'must be a list of requests.');
    return readRequests(requests, model, (path, i) => `requests[${i}].${path}`);
  },
  writeReply: (reply) => ({ embeddings: embeddings(reply), ...usageMetadata(reply) }),
};

const read = new Set(['model', 'content', 'outputDimensionality', 'taskType', 'title']);

function readRequests(
  given: readonly unknown[],
  model: string | null,
  pathOf: (path: string, i: number) => string,
): CanonicalIn {
  const dropped: string[] = [];
  const wanted = given.map((value) => wantedOf(asObject(value) ?? {}));
  const first = stringifyJson(wanted[0] ?? {});
  const input = given.map((value, i) => {
    if (stringifyJson(wanted[i]) !== first) {
      throw unsupported(
        pathOf('taskType', i),
        'this provider takes texts together only if they want the same.',
      );
    }
    const request = asObject(value) ?? {};
    for (const key in request) if (!read.has(camel(key))) dropped.push(pathOf(key, i));
    return textOf(request, (path) => pathOf(path, i));
  });
  const request: CanonicalRequest = { model, input, encoding_format: 'float', ...wanted[0] };
  return { request, dropped, clientPath: (path) => clientPath(path, pathOf) };
}

/** What is wanted of a vector, under the canonical names; Gemini's own fields are known to those that have them. */
function wantedOf(request: JsonObject): JsonObject {
  const fields = {
    dimensions: member(request, 'outputDimensionality'),
    task_type: member(request, 'taskType'),
    title: request['title'],
  };
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  );
}

function textOf(request: JsonObject, pathOf: (path: string) => string): string {
  const parts = asArray(asObject(request['content'])?.['parts']) ?? [];
  const texts = parts.map((part, j) => {
    const text = asString(asObject(part)?.['text']);
    if (text === null)
      throw unsupported(pathOf(`content.parts[${j}]`), 'only text can be sent to this provider.');
    return text;
  });
  return texts.join('\n');
}

const names: Readonly<Record<string, string>> = {
  dimensions: 'outputDimensionality',
  task_type: 'taskType',
  input: 'content',
};

function clientPath(path: string, pathOf: (path: string, i: number) => string): string {
  const at = /^input\[(\d+)\]/.exec(path);
  if (at !== null) return pathOf('content', Number(at[1]));
  return Object.hasOwn(names, path) ? pathOf(names[path] as string, 0) : path;
}

function embeddings(reply: JsonObject): JsonObject[] {
  return (asArray(reply['data']) ?? []).map((entry) => ({ values: asObject(entry)?.['embedding'] ?? [] }));
}

function usageMetadata(reply: JsonObject): JsonObject {
  const usage = openAiUsage(reply);
  return usage === null ? {} : { usageMetadata: { promptTokenCount: usage.input } };
}
