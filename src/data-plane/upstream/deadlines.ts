/** A fallback starts within 20 ms of a timeout: two of these, and the time of the fallback itself. */
const resolutionMs = 8;
/** The longest tick that counts as passed time: in the rest of it the event loop was blocked. */
const longestTickMs = 60;
const idleTicksBeforeStop = 125;

/** Something with a deadline. `due` and `slot` belong to Deadlines. */
export interface Timed {
  due: number;
  slot: number;
  /** Called when its time is up; it is no longer watched then. */
  late(): void;
}

/**
 * Deadlines of many requests on one ticker. Setting a deadline is a plain assignment (a stream moves its own
 * with each chunk), in exchange for a scan every 8 ms; it fires 0 to 16 ms late, never early.
 *
 * The clock does not count time in which the event loop was blocked: bytes that arrived meanwhile are still unread, and
 * no request should be considered late for it.
 */
export class Deadlines {
  readonly #watched: Timed[] = [];
  #now = 0;
  #ticked = 0;
  #idleTicks = 0;
  #ticker: NodeJS.Timeout | null = null;

  /** From now on; the first time that it may take is `ms`, 0 for any. */
  watch(timed: Timed, ms: number): void {
    timed.due = ms === 0 ? Number.POSITIVE_INFINITY : this.#now + ms + resolutionMs;
    timed.slot = this.#watched.push(timed) - 1;
    if (this.#ticker === null) this.#startTicking();
  }

  unwatch(timed: Timed): void {
    const slot = timed.slot;
    if (slot === -1) return;
    timed.slot = -1;
    const last = this.#watched.pop();
    if (last === undefined || last === timed) return;
    this.#watched[slot] = last;
    last.slot = slot;
  }

  /** The value of `due` for a deadline in `ms`; 0: never. */
  after(ms: number): number {
    return ms === 0 ? Number.POSITIVE_INFINITY : this.#now + ms + resolutionMs;
  }

  get size(): number {
    return this.#watched.length;
  }

  stop(): void {
    if (this.#ticker !== null) clearInterval(this.#ticker);
    this.#ticker = null;
  }

  #startTicking(): void {
    this.#ticked = performance.now();
    this.#idleTicks = 0;
    this.#ticker = setInterval(() => this.#tick(), resolutionMs);
    // The socket of a request keeps the process alive; the ticker must not.
    this.#ticker.unref();
  }

  #tick(): void {
    const at = performance.now();
    this.#now += Math.min(at - this.#ticked, longestTickMs);
    this.#ticked = at;
    const watched = this.#watched;
    if (watched.length === 0) {
      this.#idleTicks += 1;
      if (this.#idleTicks === idleTicksBeforeStop) this.stop();
      return;
    }
    this.#idleTicks = 0;
    // From the end: unwatching moves the last one, already checked, into the free slot.
    for (let i = watched.length - 1; i >= 0; i--) {
      const timed = watched[i];
      if (timed === undefined || timed.due > this.#now) continue;
      this.unwatch(timed);
      timed.late();
    }
  }
}
