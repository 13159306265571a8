import { type EventLoopUtilization, monitorEventLoopDelay, performance } from 'node:perf_hooks';

/** Between two ticks of the histogram's timer. Milliseconds. */
const resolutionMs = 20;
/** Of the time between two looks: a process that does less has nothing to do. */
const busyPart = 0.02;
/** Milliseconds. So late a look shows that something has kept the loop busy. */
const lateMs = 20;
/** Looks at a process with nothing to do before measuring ends. */
const quietLooks = 3;

/**
 * How late the event loop is. It is measured while there is something to do: the timer that measures it would otherwise be
 * most of what an idle process does.
 */
export class LoopDelay {
  readonly #histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  #before: EventLoopUtilization = performance.eventLoopUtilization();
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
    const used = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(used, this.#before);
    const isBusy = utilization > busyPart || now - this.#lookedAt > this.everyMs + lateMs;
    this.#before = used;
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
