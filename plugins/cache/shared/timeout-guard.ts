export interface TimeoutGuardOptions {
  /** No caller waits longer than this for an answer. */
  readonly deadlineMs: number;
  /** After so many silences or failures in a row … */
  readonly maxFailures: number;
  /** … it is left alone for so long. */
  readonly restMs: number;
}

/** Asks what may be slow or away, and loses no time over it. */
export class TimeoutGuard {
  #failures = 0;
  #restUntil = 0;

  constructor(readonly options: TimeoutGuardOptions) {}

  /** null: no answer in time, or it failed, or it is left alone. Never rejects. */
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
