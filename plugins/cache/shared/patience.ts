export interface PatienceTerms {
  /** No caller waits longer than this for an answer. */
  readonly deadlineMs: number;
  /** After so many silences or failures in a row … */
  readonly most: number;
  /** … it is left alone for so long. */
  readonly restMs: number;
}

/** Asks what may be slow or away, and loses no time over it. */
export class Patience {
  #failures = 0;
  #restUntil = 0;

  constructor(readonly terms: PatienceTerms) {}

  /** null: no answer in time, or it failed, or it is left alone. Never rejects. */
  ask<T>(question: () => Promise<T>): Promise<T | null> {
    if (performance.now() < this.#restUntil) return Promise.resolve(null);
    return new Promise((resolve) => {
      const failed = (): void => {
        if (++this.#failures >= this.terms.most) {
          this.#failures = 0;
          this.#restUntil = performance.now() + this.terms.restMs;
        }
        resolve(null);
      };
      const late = setTimeout(failed, this.terms.deadlineMs);
      const over = (tell: () => void): void => {
        clearTimeout(late);
        tell();
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
