interface Timer {
  readonly at: number;
  readonly fire: () => void;
  off: boolean;
  unref(): Timer;
}

/**
 * Time that passes only when nothing is left to do: an hour of timers takes as long as their callbacks. Stands in for
 * `setTimeout`, `clearTimeout` and `performance.now` between `install` and `restore`.
 */
export class VirtualTime {
  now = 0;
  readonly #due: Timer[] = [];
  readonly #real = {
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    now: performance.now,
  };

  install(): this {
    globalThis.setTimeout = ((fire: () => void, ms = 0) => {
      const timer: Timer = { at: this.now + ms, fire, off: false, unref: () => timer };
      this.#add(timer);
      return timer;
    }) as unknown as typeof setTimeout;
    globalThis.clearTimeout = ((timer: { off: boolean } | undefined) => {
      if (timer !== undefined) timer.off = true;
    }) as typeof clearTimeout;
    performance.now = () => this.now;
    return this;
  }

  restore(): void {
    globalThis.setTimeout = this.#real.setTimeout;
    globalThis.clearTimeout = this.#real.clearTimeout;
    performance.now = this.#real.now;
  }

  /** Lets it pass until no timer is left; what each sets off is done before the next. */
  async run(): Promise<void> {
    for (;;) {
      await new Promise((turn) => setImmediate(turn));
      const next = this.#due.shift();
      if (next === undefined) return;
      if (next.off) continue;
      this.now = next.at;
      next.fire();
    }
  }

  /** Kept in order: by time, then as they were made. */
  #add(timer: Timer): void {
    let low = 0;
    let high = this.#due.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#due[middle]!.at <= timer.at) low = middle + 1;
      else high = middle;
    }
    this.#due.splice(low, 0, timer);
  }
}
