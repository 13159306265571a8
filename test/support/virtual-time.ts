interface Timer {
  at: number;
  readonly ms: number;
  readonly fire: () => void;
  off: boolean;
  isRef: boolean;
  ref(): Timer;
  unref(): Timer;
  hasRef(): boolean;
  refresh(): Timer;
}

/**
 * Time that passes only when nothing is left to do: an hour of timers takes as long as their callbacks. Stands in for
 * `setTimeout`, `clearTimeout` and `performance.now` between `install` and `restore`. Timers that were set before keep to the
 * real clock.
 */
export class VirtualTime {
  now = 0;
  readonly #due: Timer[] = [];
  readonly #real = {
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    now: performance.now,
  };
  /** Timers that a run waits for. */
  #awaited = 0;

  install(): this {
    const made = new WeakSet<object>();
    globalThis.setTimeout = ((fire: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
      const timer = this.#timer(() => fire(...args), ms);
      made.add(timer);
      return timer;
    }) as unknown as typeof setTimeout;
    globalThis.clearTimeout = ((timer: Timer | NodeJS.Timeout | null | undefined) => {
      if (typeof timer === 'object' && timer !== null && made.has(timer)) this.#drop(timer as Timer);
      else this.#real.clearTimeout(timer as NodeJS.Timeout);
    }) as typeof clearTimeout;
    performance.now = () => this.now;
    return this;
  }

  restore(): void {
    globalThis.setTimeout = this.#real.setTimeout;
    globalThis.clearTimeout = this.#real.clearTimeout;
    performance.now = this.#real.now;
    this.#due.length = 0;
    this.#awaited = 0;
  }

  /** Lets it pass until no timer is left that would keep a process alive; what each sets off is done before the next. */
  async run(): Promise<void> {
    for (;;) {
      await new Promise((turn) => setImmediate(turn));
      if (this.#awaited === 0) return;
      const next = this.#due.shift()!;
      if (next.off) continue;
      this.#drop(next);
      this.now = Math.max(this.now, next.at);
      next.fire();
    }
  }

  #timer(fire: () => void, ms: number): Timer {
    const setRef = (isRef: boolean): Timer => {
      if (!timer.off && timer.isRef !== isRef) this.#awaited += isRef ? 1 : -1;
      timer.isRef = isRef;
      return timer;
    };
    const timer: Timer = {
      ...{ at: this.now + ms, ms, fire, off: true, isRef: true },
      ref: () => setRef(true),
      unref: () => setRef(false),
      hasRef: () => timer.isRef,
      refresh: () => {
        this.#drop(timer);
        const index = this.#due.indexOf(timer);
        if (index >= 0) this.#due.splice(index, 1);
        timer.at = this.now + ms;
        this.#add(timer);
        return timer;
      },
    };
    this.#add(timer);
    return timer;
  }

  #drop(timer: Timer): void {
    if (!timer.off && timer.isRef) this.#awaited--;
    timer.off = true;
  }

  /** Kept in order: by time, then as they were made. */
  #add(timer: Timer): void {
    timer.off = false;
    if (timer.isRef) this.#awaited++;
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
