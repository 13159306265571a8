import type { Endpoint } from '../core/endpoint.js';
import { GatewayError } from '../core/errors.js';
import { model as checkModel } from './rules.js';

const generate: Endpoint = {
  name: 'gemini-generate',
  format: 'gemini-generate-content',
  body: 'json',
  modelInPath: true,
};
const count: Endpoint = {
  name: 'gemini-count-tokens',
  format: 'gemini-count-tokens',
  body: 'json',
  counts: true,
  modelInPath: true,
};
const embed: Endpoint = {
  name: 'gemini-embed',
  format: 'gemini-embed-content',
  body: 'json',
  modelInPath: true,
};
const batchEmbed: Endpoint = {
  name: 'gemini-embed',
  format: 'gemini-batch-embed-contents',
  body: 'json',
  modelInPath: true,
};

const endpointOf: ReadonlyMap<string, Endpoint> = new Map([
  ['generateContent', generate],
  ['streamGenerateContent', generate],
  ['countTokens', count],
  ['embedContent', embed],
  ['batchEmbedContents', batchEmbed],
]);

/** Every door of the Gemini API, for those who list them. */
export const geminiEndpoints: readonly Endpoint[] = [generate, count, embed, batchEmbed];

const root = '/v1beta/models/';

/** The door of `/v1beta/models/{model}:{method}`; null: none, or a method that the gateway does not understand. */
export function geminiEndpoint(path: string): Endpoint | null {
  if (!path.startsWith(root)) return null;
  return endpointOf.get(path.slice(path.lastIndexOf(':') + 1)) ?? null;
}

/** What a call of the Gemini API says in its address. */
export interface GeminiCall {
  readonly model: string;
  readonly stream: boolean;
}

/** Throws `invalid_request` for a model that cannot be one. The path is that of one of these doors. */
export function geminiCall(path: string): GeminiCall {
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

/** Does the client of a Gemini stream want server-sent events, or one JSON array? */
export function wantsEvents(query: string): boolean {
  return new URLSearchParams(query).get('alt') === 'sse';
}
