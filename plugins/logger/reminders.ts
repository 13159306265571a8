/** Milliseconds. */
const everyMs = 60_000;
/** Different messages in that time; further ones are left out. */
const most = 100;

/** Messages that each call would repeat: each is let through once a minute. */
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
