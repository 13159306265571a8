import { STATUS_CODES } from 'node:http';
import type { AdminError } from '../admin-error.js';
import { type RestAnswer, type RestRequest, valuesOf } from './request.js';

const wantsProblem = (request: RestRequest): boolean =>
  valuesOf(request.headers, 'accept').some((accept) => accept.includes('application/problem+json'));

/** A refusal over HTTP: in the specification's own form, or in that of RFC 9457 where the client asks for it. */
export function refusalOf(error: AdminError, request: RestRequest, requestId: string): RestAnswer {
  const { http: status } = error.answered;
  const isProblem = wantsProblem(request);
  const body = isProblem
    ? {
        type: 'about:blank',
        title: STATUS_CODES[status] ?? 'Error',
        status,
        detail: error.message,
        code: error.code,
        request_id: requestId,
      }
    : { success: false, data: { message: error.message, errorCode: error.code } };
  const headers = ['content-type', isProblem ? 'application/problem+json' : 'application/json'];
  if (status === 401) headers.push('www-authenticate', 'Bearer');
  if (status === 429) headers.push('retry-after', '60');
  if (status === 503) headers.push('retry-after', '1');
  return { status, headers, body: JSON.stringify(body) };
}
