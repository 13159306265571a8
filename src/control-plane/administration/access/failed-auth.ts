import { FailedAttempts, networkOf } from '../../../common/access/failed-attempts.js';
import { AdminError } from '../admin-error.js';

/**
 * Counts keys that were refused, by the address they came from: an address that keeps trying must wait. A good key
 * from the same address (such as a proxy's) is still accepted.
 */
export class FailedAuth {
  readonly #failed: FailedAttempts;

  constructor(most = 60) {
    this.#failed = new FailedAttempts(most);
  }

  /** What to answer to a refused key from there. */
  refusal(address: string, error: AdminError): AdminError {
    if (this.#failed.add(networkOf(address)) <= this.#failed.limit) return error;
    return new AdminError('AB06', 'Too many requests without a valid key: wait a minute.');
  }
}
