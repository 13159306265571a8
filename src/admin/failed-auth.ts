import { LRUCache } from 'lru-cache';
import { AdminError } from './admin-error.js';

const windowMs = 60_000;

/**
 * Counts keys that were refused, by the address they came from: one that goes on trying is told to wait. A good key
 * from the same address (a proxy's, say) passes all the same.
 */
export class FailedAuth {
  readonly #counts = new LRUCache<string, { count: number }>({ max: 10_000, ttl: windowMs });

  constructor(readonly most = 60) {}

  /** What to answer to a refused key from there. */
  refusal(address: string, error: AdminError): AdminError {
    const seen = this.#counts.get(address) ?? { count: 0 };
    seen.count += 1;
    if (seen.count === 1) this.#counts.set(address, seen);
    if (seen.count <= this.most) return error;
    return new AdminError('AB06', 'Too many requests without a valid key: wait a minute.');
  }
}
