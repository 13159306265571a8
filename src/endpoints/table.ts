import { adminPaths } from '../../proto/routes.js';
import type { Endpoint } from '../core/endpoint.js';
import { GatewayError } from '../core/errors.js';
import { PathTable } from '../core/path-table.js';
import { geminiEndpoint, geminiEndpoints } from './gemini-path.js';
import { checkPassthroughPath } from './passthrough-path.js';

interface Door {
  readonly method: string;
  readonly endpoint: Endpoint;
}

const post = (endpoint: Endpoint): Door => ({ method: 'POST', endpoint });

/** The doors whose bodies the gateway understands, and the model list. Paths are compared exactly, case included. */
const doors: ReadonlyMap<string, Door> = new Map([
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
  ['/v1/models', { method: 'GET', endpoint: { name: 'models', format: 'none', body: 'stream' } }],
]);

/** Paths that the administration plane cannot have. */
export const doorPaths: readonly string[] = [...doors.keys()];

const admin: Endpoint = { name: 'admin', format: 'none', body: 'stream' };
const adminTable = new PathTable<true>();
for (const path of adminPaths) adminTable.at(path, () => true);

const passthrough: Endpoint = { name: 'passthrough', format: 'none', body: 'stream' };
/** Answers that a provider keeps: only where it has the Responses API itself. */
const storedResponses: Endpoint = {
  name: 'stored-responses',
  format: 'none',
  body: 'stream',
  needs: 'openai-responses',
};
const passthroughMethods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD'];

/** Every door, for those who list them. */
export const endpoints: readonly Endpoint[] = [
  ...[...doors.values()].map((door) => door.endpoint),
  ...geminiEndpoints,
  storedResponses,
  passthrough,
];

/** Under `/v1/`, or under `/v1beta/`, which is Gemini's. */
const isProviderPath = (path: string): boolean =>
  (path.startsWith('/v1/') && path.length > 4) || (path.startsWith('/v1beta/') && path.length > 8);

/**
 * The door that a request stands before: one of the table, the administration plane's, a method of a Gemini model, or
 * passthrough for everything else under `/v1/` and `/v1beta/`. Throws `method_not_allowed`, `not_found`, or
 * `invalid_request` for a path that must not be passed on.
 */
export function findEndpoint(method: string, path: string): Endpoint {
  const door = doors.get(path);
  if (door !== undefined) {
    if (door.method === method) return door.endpoint;
    throw new GatewayError('method_not_allowed', `${path} takes ${door.method} only.`);
  }
  if (adminTable.find(path) !== null) return admin;
  const gemini = geminiEndpoint(path);
  if (gemini !== null) {
    if (method === 'POST') return gemini;
    throw new GatewayError('method_not_allowed', 'The methods of Gemini models take POST only.');
  }
  if (!isProviderPath(path)) {
    throw new GatewayError('not_found', 'There is nothing at this path: the API is under /v1/.');
  }
  if (!passthroughMethods.includes(method)) {
    throw new GatewayError(
      'method_not_allowed',
      `Provider paths take ${passthroughMethods.join(', ')} only.`,
    );
  }
  checkPassthroughPath(path);
  return path.startsWith('/v1/responses/') ? storedResponses : passthrough;
}
