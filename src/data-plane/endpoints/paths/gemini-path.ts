import type { Endpoint, PathCall } from '../../../common/core/endpoint.js';
import { GatewayError } from '../../../common/core/errors.js';
import { model as checkModel } from '../rules/rules.js';

const root = '/v1beta/models/';

const inPath = { body: 'json', modelInPath: true, readPath: geminiCall } as const;

const generate: Endpoint = {
  ...inPath,
  name: 'gemini-generate',
  format: 'gemini-generate-content',
  wantsArray: (query) => new URLSearchParams(query).get('alt') !== 'sse',
};
const count: Endpoint = {
  ...inPath,
  name: 'gemini-count-tokens',
  format: 'gemini-count-tokens',
  counts: true,
};
const embed: Endpoint = { ...inPath, name: 'gemini-embed', format: 'gemini-embed-content' };
const batchEmbed: Endpoint = { ...inPath, name: 'gemini-embed', format: 'gemini-batch-embed-contents' };

const endpointOf: ReadonlyMap<string, Endpoint> = new Map([
  ['generateContent', generate],
  ['streamGenerateContent', generate],
  ['countTokens', count],
  ['embedContent', embed],
  ['batchEmbedContents', batchEmbed],
]);

/** Every endpoint of the Gemini API, for lists of endpoints. */
export const geminiEndpoints: readonly Endpoint[] = [generate, count, embed, batchEmbed];

/** What may follow the colon after a model. */
export const geminiMethods: readonly string[] = [...endpointOf.keys()];

/** The endpoint of `/v1beta/models/{model}:{method}`; null for another path or a method that the gateway does not support. */
export function geminiEndpoint(path: string): Endpoint | null {
  if (!path.startsWith(root)) return null;
  return endpointOf.get(path.slice(path.lastIndexOf(':') + 1)) ?? null;
}

/** What the address of a Gemini call contains. */
export interface GeminiCall {
  readonly model: string;
  readonly stream: boolean;
}

/** Throws `invalid_request` for an invalid model name. The path must be that of one of these endpoints. */
export function geminiCall(path: string): PathCall {
  const colon = path.lastIndexOf(':');
  let model: string;
  try {
    model = decodeURIComponent(path.slice(root.length, colon));
  } catch (cause) {
    throw new GatewayError('invalid_request', 'model is not percent-encoded as it should be.', {
      param: 'model',
      cause,
    });
  }
  checkModel(model, 'model');
  return { model, stream: path.slice(colon + 1) === 'streamGenerateContent' };
}
