import type { Back } from '../channel.js';

/** A worker that has not answered by then counts as using what it holds. Milliseconds. */
const answerMs = 50;

interface Recall {
  readonly waiting: Set<number>;
  readonly over: Promise<void>;
  readonly end: () => void;
}

/** Permits that workers are asked to give back before a request is refused for want of them. */
export class Recalls {
  readonly #recalls = new Map<string, Recall>();

  /** `tell`: asks every worker to give back what it has of a counter. */
  constructor(readonly tell: (counter: string) => void) {}

  /** Resolves when these workers have given back what they had. */
  ask(counter: string, workers: readonly number[]): Promise<void> {
    const asked = this.#recalls.get(counter);
    if (asked !== undefined) return asked.over;
    let end = (): void => {};
    const over = new Promise<void>((resolve) => {
      const timer = setTimeout(() => end(), answerMs).unref();
      end = () => {
        clearTimeout(timer);
        this.#recalls.delete(counter);
        resolve();
      };
    });
    this.#recalls.set(counter, { waiting: new Set(workers), over, end });
    this.tell(counter);
    return over;
  }

  answered(worker: number, back: readonly Back[]): void {
    if (this.#recalls.size === 0) return;
    for (const { counter } of back) {
      const recall = this.#recalls.get(counter);
      if (recall === undefined) continue;
      recall.waiting.delete(worker);
      if (recall.waiting.size === 0) recall.end();
    }
  }

  gone(worker: number): void {
    for (const recall of this.#recalls.values()) {
      recall.waiting.delete(worker);
      if (recall.waiting.size === 0) recall.end();
    }
  }
}
