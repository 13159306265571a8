import type { Endpoint } from '../../common/core/endpoint.js';
import { GatewayError } from '../../common/core/errors.js';
import { fixedEndpoints, storedResponsesRoot } from './fixed-endpoints.js';
import { adminPathKind } from './paths/admin-path.js';
import { geminiEndpoint, geminiEndpoints } from './paths/gemini-path.js';
import { isModelPath, models, readingMethods } from './paths/model-path.js';
import { checkPassthroughPath } from './paths/passthrough-path.js';
import { canonicalPath } from './paths/spelling.js';

/** Paths that the administration plane cannot have. */
export const endpointPaths: readonly string[] = [...fixedEndpoints.keys()];

const admin: Endpoint = { name: 'admin', format: 'none', body: 'stream' };
/** Answers without a key that this worker accepts requests. */
const health: Endpoint = { name: 'health', format: 'none', body: 'stream' };
const passthrough: Endpoint = { name: 'passthrough', format: 'none', body: 'stream' };
/** Answers that a provider keeps: only where it has the Responses API itself. */
const storedResponses: Endpoint = {
  name: 'stored-responses',
  format: 'none',
  body: 'stream',
  needs: 'openai-responses',
};
const passthroughMethods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD'];

/** Every endpoint, for lists of endpoints. */
export const endpoints: readonly Endpoint[] = [
  ...[...fixedEndpoints.values()].map(({ endpoint }) => endpoint),
  ...geminiEndpoints,
  storedResponses,
  passthrough,
];

/** Under `/v1/`, or under `/v1beta/`, which is Gemini's. */
const isProviderPath = (path: string): boolean =>
  (path.startsWith('/v1/') && path.length > 4) || (path.startsWith('/v1beta/') && path.length > 8);

/**
 * The endpoint of a request: one with a path of its own, the administration plane, a method of a Gemini model, or
 * passthrough for everything else under `/v1/` and `/v1beta/`. Throws `method_not_allowed`, `not_found`, or
 * `invalid_request` for a path that must not be passed on.
 */
export function findEndpoint(method: string, path: string): Endpoint {
  return fixedEndpoint(method, path) ?? canonicalEndpoint(method, canonicalPath(path));
}

function takesOnly(what: string, methods: readonly string[]): GatewayError {
  const list = methods.join(', ');
  return new GatewayError('method_not_allowed', `${what} takes ${list} only.`, { headers: ['allow', list] });
}

/** The endpoint that has exactly this path; null: none has. Throws `method_not_allowed`. */
export function fixedEndpoint(method: string, path: string): Endpoint | null {
  const fixed = fixedEndpoints.get(path);
  if (fixed === undefined) return null;
  if (fixed.methods.includes(method)) return fixed.endpoint;
  throw takesOnly(path, fixed.methods);
}

/** As `findEndpoint`, for a path that `canonicalPath` gave. */
export function canonicalEndpoint(method: string, path: string): Endpoint {
  const fixed = fixedEndpoint(method, path);
  if (fixed !== null) return fixed;
  const gemini = geminiEndpoint(path);
  if (gemini !== null) {
    if (method === 'POST') return gemini;
    throw takesOnly('A method of a Gemini model', ['POST']);
  }
  if (path === '/health' || path === '/v1/health') {
    if (readingMethods.includes(method)) return health;
    throw takesOnly(path, readingMethods);
  }
  if (adminPathKind(path) !== null) return admin;
  if (readingMethods.includes(method) && isModelPath(path)) return models;
  if (!isProviderPath(path)) {
    throw new GatewayError('not_found', 'There is nothing at this path: the API is under /v1/.');
  }
  if (!passthroughMethods.includes(method)) {
    throw takesOnly('A path of a provider', passthroughMethods);
  }
  checkPassthroughPath(path);
  return path.startsWith(storedResponsesRoot) ? storedResponses : passthrough;
}
