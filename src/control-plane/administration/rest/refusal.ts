import { STATUS_CODES } from 'node:http';
import { type RestAnswer, type RestRequest, valuesOf } from './request.js';
import { isScimPath, scimRefusal, scimType } from './scim-form.js';

/** The data of a refusal: an AdminError, or one that a data worker makes without loading the plane. */
export interface Refused {
  readonly code: string;
  readonly message: string;
  readonly answered: { readonly http: number };
  /** Fields that are at fault. */
  readonly faults?: readonly { readonly path: string; readonly problem: string }[];
  /** Seconds after which the call may be sent again; the status's usual ones unless given. */
  readonly retryAfter?: number;
  /** Of RFC 7644. */
  readonly scimType?: string;
}

type RefusedRequest = Pick<RestRequest, 'headers'> & Partial<Pick<RestRequest, 'path'>>;

const wantsProblem = ({ headers }: RefusedRequest): boolean =>
  valuesOf(headers, 'accept').some((accept) => accept.includes('application/problem+json'));

/** Seconds, by status. */
const usualRetries: ReadonlyMap<number, number> = new Map([
  [429, 60],
  [503, 1],
]);

/** For a single fault the message is enough. */
const listOf = ({ faults = [] }: Refused) =>
  faults.length < 2 ? {} : { errors: faults.map(({ path, problem }) => ({ path, message: problem })) };

const refusalObject = (error: Refused) => ({
  success: false,
  data: { message: error.message, errorCode: error.code, ...listOf(error) },
});

/** JSON of a refusal in the specification's own form, as the last line or event of a stream too. */
export const refusalBody = (error: Refused): string => JSON.stringify(refusalObject(error));

/**
 * A refusal over HTTP: in the specification's own form, with the members `more`, in that of RFC 9457 where the client asks
 * for it, or in that of RFC 7644 under the paths of SCIM.
 */
export function refusalOf(
  error: Refused,
  request: RefusedRequest,
  requestId: string,
  more: object = {},
): RestAnswer & { readonly body: string } {
  const { http: status } = error.answered;
  if (isScimPath(request.path ?? '')) return answer(error, scimType, JSON.stringify(scimRefusal(error)));
  if (!wantsProblem(request))
    return answer(error, 'application/json', JSON.stringify({ ...refusalObject(error), ...more }));
  const problem = {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail: error.message,
    code: error.code,
    request_id: requestId,
    ...listOf(error),
  };
  return answer(error, 'application/problem+json', JSON.stringify(problem));
}

function answer(error: Refused, type: string, body: string): RestAnswer & { readonly body: string } {
  const { http: status } = error.answered;
  const headers = ['content-type', type];
  if (status === 401) headers.push('www-authenticate', 'Bearer');
  const retryAfter = error.retryAfter ?? usualRetries.get(status);
  if (retryAfter !== undefined) headers.push('retry-after', String(retryAfter));
  return { status, headers, body };
}
