import { createHistogram } from 'node:perf_hooks';

/** Between two ticks of the timer that measures. Milliseconds. */
const tickMs = 20;
/** Of the time between two looks: a process that has used less of a processor has nothing to do. */
const busyPart = 0.02;
/** Milliseconds. So late a look shows that something has kept the loop. */
const lateMs = 50;
/** Looks at a process with nothing to do before measuring ends. */
const quietLooks = 3;

function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * How late the event loop is. It is measured while there is something to do: the timer that measures it would otherwise be
 * most of what an idle process does.
 */
export class LoopDelay {
  /** Microseconds, and one more: a histogram has no 0. */
  readonly #histogram = createHistogram();
  #used = usedMs();
  #timer: NodeJS.Timeout | null = null;
  #tickedAt = 0;
  #quiet = 0;
  #lookedAt = performance.now();

  /** `everyMs`: `look` is called so often. */
  constructor(readonly everyMs: number) {}

  get isMeasuring(): boolean {
    return this.#timer !== null;
  }

  /** Milliseconds: the 99.9th percentile of what was measured so far. */
  look(): number {
    const now = performance.now();
    const used = usedMs();
    const sinceMs = now - this.#lookedAt;
    const isBusy = used - this.#used > busyPart * sinceMs || sinceMs > this.everyMs + lateMs;
    this.#used = used;
    this.#lookedAt = now;
    this.#quiet = isBusy ? 0 : this.#quiet + 1;
    if (isBusy) this.#start();
    else if (this.#quiet >= quietLooks) this.#stop();
    return this.#histogram.count === 0 ? 0 : (this.#histogram.percentile(99.9) - 1) / 1000;
  }

  /** Forgets what was measured. */
  reset(): void {
    this.#histogram.reset();
    this.#tickedAt = performance.now();
  }

  #start(): void {
    if (this.#timer !== null) return;
    // Not since the last tick: in between, nothing was measured.
    this.#tickedAt = performance.now();
    this.#timer = setInterval(() => this.#tick(), tickMs).unref();
  }

  #stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #tick(): void {
    const now = performance.now();
    this.#histogram.record(1 + Math.max(0, Math.round((now - this.#tickedAt - tickMs) * 1000)));
    this.#tickedAt = now;
  }
}
