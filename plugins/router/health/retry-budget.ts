import { LRUCache } from 'lru-cache';
import { atMost } from '../../../src/common/bytes/lru.js';
import { monotonicMs } from '../../../src/common/bytes/monotonic.js';

/** Retries are at most this share of the requests that may be retried … */
const share = 0.2;
/** … or this many per second, if that is more: with little traffic every configured retry is made. */
const floor = 10;
const spanMs = 1000;

/** One tenant's counts of a second. */
class RetryAccount {
  #span = 0;
  #requests = 0;
  #retries = 0;
  #requestsBefore = 0;

  request(now: number): void {
    this.#turn(now);
    this.#requests++;
  }

  retry(now: number): boolean {
    this.#turn(now);
    // A second that has just begun is assumed to be as busy as the one before.
    const allowed = Math.max(floor, share * Math.max(this.#requests, this.#requestsBefore));
    if (this.#retries >= allowed) return false;
    this.#retries++;
    return true;
  }

  #turn(now: number): void {
    const span = Math.floor(now / spanMs);
    if (span === this.#span) return;
    this.#requestsBefore = span === this.#span + 1 ? this.#requests : 0;
    this.#requests = 0;
    this.#retries = 0;
    this.#span = span;
  }
}

const maxTenants = 10_000;

/**
 * Limits the retries of a worker for each tenant: a failing provider gets a fifth more calls, not five times as many.
 * The move to another target is not a retry: the config asks for it, and the breaker limits it.
 */
export class RetryBudget {
  /** Retries that the budget prevented. */
  refused = 0;
  readonly #accounts = new LRUCache<string, RetryAccount>(atMost(maxTenants));

  /** Counts a request that may be retried. */
  request(tenant: string, now = monotonicMs()): void {
    this.#of(tenant).request(now);
  }

  /** May one more retry be made? If so, it is counted. */
  retry(tenant: string, now = monotonicMs()): boolean {
    if (this.#of(tenant).retry(now)) return true;
    this.refused++;
    return false;
  }

  #of(tenant: string): RetryAccount {
    let account = this.#accounts.get(tenant);
    if (account === undefined) {
      account = new RetryAccount();
      this.#accounts.set(tenant, account);
    }
    return account;
  }
}
