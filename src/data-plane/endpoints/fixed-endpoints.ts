import type { Endpoint } from '../../common/core/endpoint.js';
import { models, readingMethods } from './paths/model-path.js';

/** An endpoint with a path of its own, and the methods that it takes. */
export interface FixedEndpoint {
  readonly methods: readonly string[];
  readonly endpoint: Endpoint;
}

const post = (endpoint: Endpoint): FixedEndpoint => ({ methods: ['POST'], endpoint });

/** The endpoints whose bodies the gateway understands, and the model list. Paths are compared exactly, case included. */
export const fixedEndpoints: ReadonlyMap<string, FixedEndpoint> = new Map([
  ['/v1/chat/completions', post({ name: 'chat', format: 'openai-chat', body: 'json' })],
  ['/v1/completions', post({ name: 'completions', format: 'openai-completions', body: 'json' })],
  ['/v1/embeddings', post({ name: 'embeddings', format: 'openai-embeddings', body: 'json' })],
  ['/v1/moderations', post({ name: 'moderations', format: 'openai-moderations', body: 'json' })],
  ['/v1/rerank', post({ name: 'rerank', format: 'rerank', body: 'json' })],
  ['/v1/responses', post({ name: 'responses', format: 'openai-responses', body: 'json' })],
  ['/v1/messages', post({ name: 'messages', format: 'anthropic-messages', body: 'json' })],
  [
    '/v1/messages/count_tokens',
    post({ name: 'count-tokens', format: 'anthropic-count-tokens', body: 'json', counts: true }),
  ],
  ['/v1/models', { methods: readingMethods, endpoint: models }],
]);

/** Before the id of an answer that a provider keeps. */
export const storedResponsesRoot = '/v1/responses/';
