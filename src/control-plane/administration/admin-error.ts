import { status } from '@grpc/grpc-js';
import { GatewayError } from '../../common/core/errors.js';

interface ErrorReply {
  readonly grpc: status;
  readonly http: number;
}

const answer = (grpc: status, http: number): ErrorReply => ({ grpc, http });

/** Codes of the administration plane, with the status of each over gRPC and over HTTP. */
export const adminErrors = {
  /** The request itself is wrong. */
  AB01: answer(status.INVALID_ARGUMENT, 400),
  /** Something that the request names does not exist. */
  AB02: answer(status.NOT_FOUND, 404),
  AB03: answer(status.PERMISSION_DENIED, 403),
  AB04: answer(status.INTERNAL, 500),
  AB05: answer(status.UNAUTHENTICATED, 401),
  AB06: answer(status.RESOURCE_EXHAUSTED, 429),
  AB07: answer(status.ALREADY_EXISTS, 409),
  AB08: answer(status.NOT_FOUND, 404),
  /** The store does not answer, or a worker has not confirmed. */
  unavailable: answer(status.UNAVAILABLE, 503),
  /** The path is the administration's, and this version has nothing at it. */
  not_implemented: answer(status.UNIMPLEMENTED, 501),
  deadline: answer(status.DEADLINE_EXCEEDED, 504),
} as const;

export type AdminErrorCode = keyof typeof adminErrors;

/** One thing that is wrong with a request. `path`: of the field, by the names of JSON; `problem`: a sentence without it. */
export interface Fault {
  readonly path: string;
  readonly problem: string;
}

/** Faults of one request that are reported; callers choose how many there are. */
export const mostFaults = 16;
/** No further fault is added to a message that is longer: paths hold names that callers choose. Characters. */
const longestMessage = 1000;
/** Of any message and path: one in a trailer of gRPC that is longer than its client accepts would never arrive. Characters. */
const longestText = 2000;

const cut = (text: string): string => (text.length > longestText ? `${text.slice(0, longestText)}…` : text);

/** A refusal by the administration plane. `message` is public; `cause` goes to the log. */
export class AdminError extends Error {
  override readonly name = 'AdminError';
  /** Seconds after which the call may be sent again; the status's usual ones unless set. */
  retryAfter?: number;
  /** What is wrong, field by field; empty: it is no matter of fields. */
  readonly faults: readonly Fault[];

  constructor(
    readonly code: AdminErrorCode,
    message: string,
    cause?: unknown,
    /** Where the code's own statuses are not exact enough: 405, 413, 415; ABORTED for a lost race. */
    readonly answered: ErrorReply = adminErrors[code],
    faults: readonly Fault[] = [],
  ) {
    super(cut(message), cause === undefined ? undefined : { cause });
    this.faults = faults.map(({ path, problem }) => ({ path: cut(path), problem: cut(problem) }));
  }

  /** Turns anything thrown into an AdminError; an unexpected error becomes AB04 with its cause kept. */
  static from(thrown: unknown): AdminError {
    if (thrown instanceof AdminError) return thrown;
    if (thrown instanceof GatewayError) {
      if (thrown.code === 'store_unavailable') return new AdminError('unavailable', thrown.message, thrown);
      if (thrown.blame === 'client') {
        // The message names the first already.
        const found =
          thrown.errors === null || thrown.errors.length < 2 ? '' : ` ${thrown.errors.join('; ')}`;
        const faults = (thrown.errors ?? []).slice(0, mostFaults).map(faultOf);
        return new AdminError('AB01', `${thrown.message}${found}`, undefined, adminErrors.AB01, faults);
      }
    }
    return new AdminError('AB04', 'The gateway failed to handle this request.', thrown);
  }

  /** The request is wrong in that field. */
  static field(path: string, wanted: string): AdminError {
    return AdminError.fields([{ path, problem: wanted }]);
  }

  /** The request is wrong in all of these; at least one. */
  static fields(faults: readonly Fault[]): AdminError {
    let message = '';
    for (const { path, problem } of faults) {
      if (message.length > longestMessage) break;
      message += `${message === '' ? '' : ' '}${path} ${problem}`;
    }
    return new AdminError('AB01', message, undefined, adminErrors.AB01, faults);
  }

  /** Another change was first: the record is not as the caller read it, or the key was used for another request. */
  static lost(message: string): AdminError {
    return new AdminError('AB07', message, undefined, { grpc: status.ABORTED, http: 409 });
  }

  /** Too many of something; `seconds` until it may be tried again. */
  static later(message: string, seconds: number): AdminError {
    const error = new AdminError('AB06', message);
    error.retryAfter = seconds;
    return error;
  }

  /** The same code under another HTTP status. */
  static http(http: number, message: string, code: AdminErrorCode = 'AB01'): AdminError {
    return new AdminError(code, message, undefined, { grpc: adminErrors[code].grpc, http });
  }
}

/** A finding of the data plane: `path: <p>, message: <m>`. */
function faultOf(finding: string): Fault {
  const [, path = '', problem = finding] = /^path: (.*?), message: (.*)$/s.exec(finding) ?? [];
  return { path, problem };
}
