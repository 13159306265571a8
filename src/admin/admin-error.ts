import { status } from '@grpc/grpc-js';
import { GatewayError } from '../core/errors.js';

/** Codes of the administration plane (spec/api.md §3.2) and the gRPC status of each. */
export const adminErrors = {
  /** The request itself is wrong. */
  AB01: status.INVALID_ARGUMENT,
  /** Something that the request names does not exist. */
  AB02: status.NOT_FOUND,
  AB03: status.PERMISSION_DENIED,
  AB04: status.INTERNAL,
  AB05: status.UNAUTHENTICATED,
  AB06: status.RESOURCE_EXHAUSTED,
  AB07: status.ALREADY_EXISTS,
  AB08: status.NOT_FOUND,
  /** The store does not answer, or a worker has not confirmed. */
  unavailable: status.UNAVAILABLE,
} as const;

export type AdminErrorCode = keyof typeof adminErrors;

/** A refusal by the administration plane. `message` is public; `cause` goes to the log. */
export class AdminError extends Error {
  override readonly name = 'AdminError';

  constructor(
    readonly code: AdminErrorCode,
    message: string,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
  }

  /** Turns anything thrown into an AdminError; what nobody foresaw becomes AB04 with its cause kept. */
  static from(thrown: unknown): AdminError {
    if (thrown instanceof AdminError) return thrown;
    if (thrown instanceof GatewayError) {
      if (thrown.code === 'store_unavailable') return new AdminError('unavailable', thrown.message, thrown);
      if (thrown.blame === 'client') {
        const found = thrown.errors === null ? '' : ` ${thrown.errors.join('; ')}`;
        return new AdminError('AB01', `${thrown.message}${found}`);
      }
    }
    return new AdminError('AB04', 'The gateway failed to handle this request.', thrown);
  }
}
