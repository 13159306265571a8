/** Latency may rise to this multiple of its unloaded value before the limit falls, since models differ in speed. */
const tolerance = 3;
/** Requests that may wait at the upstream itself, at the square root of the limit. */
const headroom = (limit: number): number => Math.sqrt(limit);
/** The first limit. */
const firstLimit = 20;
/** Share of a new estimate that is applied at once. */
const smoothing = 0.2;
/** Factor for the limit after an answer that reports no capacity. */
const backoff = 0.9;
/** Weight of one observation in the recent average. */
const recentWeight = 1 / 10;
/**
 * Its weight in the long-term average: for faster answers, and for those with free capacity. Slower ones under load
 * count less.
 */
const usualWeight = 1 / 300;
const loadedWeight = 1 / 30_000;

/**
 * The number of requests that an upstream handles well, learned from the time to its first token and from its refusals.
 * The gradient of the two latencies moves the limit (after Netflix's concurrency-limits, "Gradient2"); a refusal cuts it.
 */
export class AdaptiveLimit {
  #limit: number;
  #usualMs: number | null = null;
  #recentMs = 0;
  #min = 1;
  #max = 1;
  /** Monotonic milliseconds of the last cut. */
  #cutAt = Number.NEGATIVE_INFINITY;

  constructor(min: number, max: number) {
    // Starts low: excess requests are better queued here in a fair order than refused by the upstream.
    this.#limit = Math.min(max, Math.max(min, firstLimit));
    this.bound(min, max);
  }

  bound(min: number, max: number): void {
    if (min === this.#min && max === this.#max) return;
    this.#min = Math.min(min, max);
    this.#max = max;
    this.#set(this.#limit);
  }

  /** The limit, as a whole number of requests. */
  get now(): number {
    return Math.floor(this.#limit);
  }

  /** An answer began after `ms` milliseconds, while `inFlight` requests were in flight with it. */
  answered(ms: number, inFlight: number): void {
    if (this.#usualMs === null) {
      this.#usualMs = ms;
      this.#recentMs = ms;
      return;
    }
    this.#recentMs += (ms - this.#recentMs) * recentWeight;
    const isLoaded = inFlight >= this.#limit / 2;
    // Latency under overload must not become the reference.
    this.#usualMs += (ms - this.#usualMs) * (isLoaded && ms > this.#usualMs ? loadedWeight : usualWeight);
    // Below the limit, a latency is no evidence about it.
    if (!isLoaded) return;
    const gradient = Math.max(0.5, Math.min(1, (tolerance * this.#usualMs) / this.#recentMs));
    const wanted = this.#limit * gradient + headroom(this.#limit);
    this.#set(this.#limit * (1 - smoothing) + wanted * smoothing);
  }

  /**
   * The upstream reported no capacity, or did not answer in time. Refusals of requests that were sent together count
   * once.
   */
  refused(now: number): void {
    if (now - this.#cutAt < this.#recentMs) return;
    this.#cutAt = now;
    this.#set(this.#limit * backoff);
  }

  #set(limit: number): void {
    this.#limit = Math.max(this.#min, Math.min(this.#max, limit));
  }
}
