import { asObject } from '../formats/json-shape.js';
import { writeEvent } from '../streams/sse.js';
import type { CanonicalError, ErrorFormat, ErrorOrigin } from './client-format.js';

/** Names of google.rpc.Code by the HTTP status they come with (cloud.google.com/apis/design/errors). */
const names: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'INVALID_ARGUMENT',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  412: 'FAILED_PRECONDITION',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
  529: 'UNAVAILABLE',
};

const known = new Set(Object.values(names));

/** `{error: {code, message, status, details}}`: what @google/genai makes its ApiError of. */
export const geminiErrors: ErrorFormat = {
  writeError: body,
  errorEvent: (error, origin) => writeEvent(null, body(error, origin)),
  isOwn(given) {
    const error = asObject(given?.['error']);
    return typeof error?.['status'] === 'string' && typeof error['message'] === 'string';
  },
};

function body({ status, type, message, param }: CanonicalError, { requestId }: ErrorOrigin): string {
  const details: unknown[] = [];
  if (param !== null) {
    const violation = { field: param, description: message };
    details.push({ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [violation] });
  }
  if (requestId !== null) details.push({ '@type': 'type.googleapis.com/google.rpc.RequestInfo', requestId });
  const named = known.has(type) ? type : (names[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL'));
  return JSON.stringify({ error: { code: status, message, status: named, details } });
}
