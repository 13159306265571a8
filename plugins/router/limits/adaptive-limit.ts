/** Latency may rise to this multiple of what is usual in quiet before the limit falls: models take differently long. */
const tolerance = 3;
/** Requests that may wait at the upstream itself, at the square root of the limit. */
const headroom = (limit: number): number => Math.sqrt(limit);
/** Where learning begins. */
const firstLimit = 20;
/** Share of a new estimate that is believed at once. */
const smoothing = 0.2;
/** Factor for the limit after an answer that reports no capacity. */
const backoff = 0.9;
/** Weight of one observation in what is now. */
const recentWeight = 1 / 10;
/** In what is usual: of answers that were quicker, or that came while there was room, and of slower ones under load. */
const usualWeight = 1 / 300;
const loadedWeight = 1 / 30_000;

/**
 * How many requests an upstream takes well, learned from how long it takes to its first token and from its refusals.
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
    // From below: too little is queued here in a fair order, too much is refused there in none.
    this.#limit = Math.min(max, Math.max(min, firstLimit));
    this.bound(min, max);
  }

  bound(min: number, max: number): void {
    if (min === this.#min && max === this.#max) return;
    this.#min = Math.min(min, max);
    this.#max = max;
    this.#set(this.#limit);
  }

  /** A whole number of requests at a time. */
  get now(): number {
    return Math.floor(this.#limit);
  }

  /** An answer began after so many milliseconds, while `inFlight` requests were under way with it. */
  answered(ms: number, inFlight: number): void {
    if (this.#usualMs === null) {
      this.#usualMs = ms;
      this.#recentMs = ms;
      return;
    }
    this.#recentMs += (ms - this.#recentMs) * recentWeight;
    const isLoaded = inFlight >= this.#limit / 2;
    // Overload must not become the usual.
    this.#usualMs += (ms - this.#usualMs) * (isLoaded && ms > this.#usualMs ? loadedWeight : usualWeight);
    // Below the limit, a latency is no evidence about it.
    if (!isLoaded) return;
    const gradient = Math.max(0.5, Math.min(1, (tolerance * this.#usualMs) / this.#recentMs));
    const wanted = this.#limit * gradient + headroom(this.#limit);
    this.#set(this.#limit * (1 - smoothing) + wanted * smoothing);
  }

  /** The upstream reported no capacity, or did not answer in time. Those that left together are one such answer. */
  refused(now: number): void {
    if (now - this.#cutAt < this.#recentMs) return;
    this.#cutAt = now;
    this.#set(this.#limit * backoff);
  }

  #set(limit: number): void {
    this.#limit = Math.max(this.#min, Math.min(this.#max, limit));
  }
}
