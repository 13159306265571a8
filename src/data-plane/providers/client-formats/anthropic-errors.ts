import { asObject } from '../formats/json-shape.js';
import { writeEvent } from '../streams/sse.js';
import type { CanonicalError, ErrorFormat, ErrorOrigin } from './client-format.js';

const typeOf: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** Types that Anthropic's API gives itself (platform.claude.com/docs/en/api/errors). */
const ownTypes = new Set([...Object.values(typeOf), 'api_error']);

/** `{type: "error", error: {type, message}, request_id}`: what @anthropic-ai/sdk makes its error classes of. */
export const anthropicErrors: ErrorFormat = {
  writeError: body,
  errorEvent: (error, origin) => writeEvent('error', body(error, origin)),
  isOwn(given) {
    const error = given?.['type'] === 'error' ? asObject(given['error']) : null;
    return typeof error?.['type'] === 'string' && typeof error['message'] === 'string';
  },
  requestIdHeader: 'request-id',
};

function body({ status, type, message, code, param }: CanonicalError, { requestId }: ErrorOrigin): string {
  const known = ownTypes.has(type) ? type : null;
  // A status is more exact than a type of another API's: only where it has no type of its own does that one count.
  const errorType = typeOf[status] ?? known ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  // After this code the tool runner of @anthropic-ai/sdk sends the whole conversation instead; by default it starts a thread.
  const details =
    code === 'unsupported_by_provider' && param === 'thread'
      ? { error_code: 'thread_unsupported_request' }
      : undefined;
  return JSON.stringify({
    type: 'error',
    error: { type: errorType, message, details },
    request_id: requestId,
  });
}
