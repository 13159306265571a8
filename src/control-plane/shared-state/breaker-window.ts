import { monotonicMs } from '../../common/bytes/monotonic.js';
import type { Breaker } from '../../common/core/target.js';
import { breakerSliceMs } from '../../common/ipc/breaker.js';

/** Failures are counted over this long … */
export const windowMs = 60_000;
/** … and their share over this long, or further back until there are enough requests. */
const shareMs = 10_000;

/** Requests and failures of the last minute, by slices of time. */
export class BreakerWindow {
  readonly #slices = new Map<number, { requests: number; failures: number }>();

  /** Triples, as a worker sends them; those that ended before `from`, in monotonic milliseconds, are ignored. */
  add(counts: readonly number[], from: number): void {
    const oldest = this.#now() - windowMs / breakerSliceMs;
    for (let i = 0; i < counts.length; i += 3) {
      const [number, requests, failures] = counts.slice(i, i + 3) as [number, number, number];
      if ((number + 1) * breakerSliceMs <= from) continue;
      const slice = this.#slices.get(number) ?? { requests: 0, failures: 0 };
      slice.requests += requests;
      slice.failures += failures;
      this.#slices.set(number, slice);
    }
    for (const number of this.#slices.keys()) if (number <= oldest) this.#slices.delete(number);
  }

  breaks({ failureThreshold, failureThresholdPercentage, minimumRequests }: Breaker): boolean {
    const { failures } = this.total(windowMs);
    if (failureThreshold !== null && failures >= failureThreshold) return true;
    if (failureThresholdPercentage === null) return false;
    for (let ms = shareMs; ms <= windowMs; ms += breakerSliceMs) {
      const seen = this.total(ms);
      if (seen.requests < minimumRequests) continue;
      return seen.failures * 100 >= failureThresholdPercentage * seen.requests;
    }
    return false;
  }

  /** Sums of the last `ms` milliseconds, in whole slices. */
  total(ms: number): { requests: number; failures: number } {
    const oldest = this.#now() - ms / breakerSliceMs;
    const total = { requests: 0, failures: 0 };
    for (const [number, { requests, failures }] of this.#slices) {
      if (number <= oldest) continue;
      total.requests += requests;
      total.failures += failures;
    }
    return total;
  }

  clear(): void {
    this.#slices.clear();
  }

  #now(): number {
    return Math.floor(monotonicMs() / breakerSliceMs);
  }
}
