/** Milliseconds. */
const everyMs = 60_000;
/** Different messages in that time; further ones are not logged. */
const most = 100;

/** For messages that each call would repeat: each message is logged once a minute. */
export class Reminders {
  readonly #shown = new Set<string>();
  #since = Number.NEGATIVE_INFINITY;

  /** `now`: monotonic milliseconds. */
  isDue(message: string, now: number): boolean {
    if (now - this.#since >= everyMs) {
      this.#since = now;
      this.#shown.clear();
    }
    if (this.#shown.has(message) || this.#shown.size >= most) return false;
    this.#shown.add(message);
    return true;
  }
}
