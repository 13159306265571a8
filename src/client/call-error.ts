import { type ServiceError, status } from '@grpc/grpc-js';
import { type FieldFault, faultsOf } from './field-faults.js';

/** An administration call that was refused or got no answer. */
export class AdminCallError extends Error {
  override readonly name = 'AdminCallError';

  constructor(
    message: string,
    /** Name of the gRPC status: `NOT_FOUND`. */
    readonly status: string,
    /** Code of the administration plane (`AB08`); null: there was no answer. */
    readonly code: string | null,
    /** The fields that are at fault; empty: it is no matter of fields. */
    readonly faults: readonly FieldFault[] = [],
  ) {
    super(message);
  }

  /** Was there no gateway at the address? */
  get isUnreachable(): boolean {
    return this.code === null && (this.status === 'UNAVAILABLE' || this.status === 'DEADLINE_EXCEEDED');
  }

  static from(error: ServiceError): AdminCallError {
    const [code] = error.metadata?.get('x-gateway-error-code') ?? [];
    return new AdminCallError(
      error.details,
      status[error.code] ?? 'UNKNOWN',
      code === undefined ? null : String(code),
      faultsOf(error.metadata?.get('grpc-status-details-bin')[0]),
    );
  }
}
