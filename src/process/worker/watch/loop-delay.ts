import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Between two ticks of the histogram's timer. Milliseconds. */
const resolutionMs = 20;
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
  readonly #histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  #used = usedMs();
  #isMeasuring = false;
  #quiet = 0;
  #lookedAt = performance.now();

  /** `everyMs`: `look` is called so often. */
  constructor(readonly everyMs: number) {}

  get isMeasuring(): boolean {
    return this.#isMeasuring;
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
    const isMeasuring = isBusy || (this.#isMeasuring && this.#quiet < quietLooks);
    if (isMeasuring !== this.#isMeasuring) this.#switch(isMeasuring);
    // It has whole intervals between two ticks of its timer; the excess over the timer's own interval is the delay.
    return Math.max(0, this.#histogram.percentile(99.9) / 1e6 - resolutionMs);
  }

  /** Forgets what was measured. */
  reset(): void {
    this.#histogram.reset();
  }

  #switch(isMeasuring: boolean): void {
    this.#isMeasuring = isMeasuring;
    if (isMeasuring) this.#histogram.enable();
    else this.#histogram.disable();
  }
}
