export interface TimeoutGuardOptions {
  /** No caller waits longer than this for an answer. */
  readonly deadlineMs: number;
  /** After this many timeouts or failures in a row … */
  readonly maxFailures: number;
  /** … it is not asked for this long. */
  readonly restMs: number;
}

/** Calls a service that may be slow or unavailable, with a deadline and a pause after failures. */
export class TimeoutGuard {
  #failures = 0;
  #restUntil = 0;

  constructor(readonly options: TimeoutGuardOptions) {}

  /** null: no answer in time, a failure, or a pause. Never rejects. */
  ask<T>(question: () => Promise<T>): Promise<T | null> {
    if (performance.now() < this.#restUntil) return Promise.resolve(null);
    return new Promise((resolve) => {
      const failed = (): void => {
        if (++this.#failures >= this.options.maxFailures) {
          this.#failures = 0;
          this.#restUntil = performance.now() + this.options.restMs;
        }
        resolve(null);
      };
      const late = setTimeout(failed, this.options.deadlineMs);
      const over = (settle: () => void): void => {
        clearTimeout(late);
        settle();
      };
      question().then(
        (answer) =>
          over(() => {
            this.#failures = 0;
            resolve(answer);
          }),
        () => over(failed),
      );
    });
  }
}
