import { status } from '@grpc/grpc-js';
import { GatewayError } from '../core/errors.js';

interface Answer {
  readonly grpc: status;
  readonly http: number;
}

const answer = (grpc: status, http: number): Answer => ({ grpc, http });

/** Codes of the administration plane (spec/api.md §3.2), with the status of each over gRPC and over HTTP. */
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
  deadline: answer(status.DEADLINE_EXCEEDED, 504),
} as const;

export type AdminErrorCode = keyof typeof adminErrors;

/** A refusal by the administration plane. `message` is public; `cause` goes to the log. */
export class AdminError extends Error {
  override readonly name = 'AdminError';

  constructor(
    readonly code: AdminErrorCode,
    message: string,
    cause?: unknown,
    /** Where the code's own statuses do not say enough: 405, 413, 415; ABORTED for a lost race. */
    readonly answered: Answer = adminErrors[code],
  ) {
    super(message, cause === undefined ? undefined : { cause });
  }

  /** Turns anything thrown into an AdminError; what nobody foresaw becomes AB04 with its cause kept. */
  static from(thrown: unknown): AdminError {
    if (thrown instanceof AdminError) return thrown;
    if (thrown instanceof GatewayError) {
      if (thrown.code === 'store_unavailable') return new AdminError('unavailable', thrown.message, thrown);
      if (thrown.blame === 'client') {
        // The message says the first already.
        const found =
          thrown.errors === null || thrown.errors.length < 2 ? '' : ` ${thrown.errors.join('; ')}`;
        return new AdminError('AB01', `${thrown.message}${found}`);
      }
    }
    return new AdminError('AB04', 'The gateway failed to handle this request.', thrown);
  }

  /** The request is wrong in that field. */
  static field(path: string, wanted: string): AdminError {
    return new AdminError('AB01', `${path} ${wanted}`);
  }

  /** Somebody else was first: the record is not as the caller knew it, or the key was used for another request. */
  static lost(message: string): AdminError {
    return new AdminError('AB07', message, undefined, { grpc: status.ABORTED, http: 409 });
  }

  /** The same code under another HTTP status. */
  static http(http: number, message: string, code: AdminErrorCode = 'AB01'): AdminError {
    return new AdminError(code, message, undefined, { grpc: adminErrors[code].grpc, http });
  }
}
