import { clearTimeout, setTimeout } from 'node:timers';
import { PassingMap } from '../../common/bytes/passing-map.js';

interface Asker {
  resolve(value: unknown): void;
  reject(error: Error): void;
  readonly timer: NodeJS.Timeout;
  /** Set once it has waited too long: gets the answer that comes after all. */
  late: ((value: unknown) => void) | null;
}

/** Limit of open look-ups of a worker: the control process answers them one after the other. */
const maxOpen = 4096;

/**
 * Open look-ups at the control process. Answers come by number; a lost channel fails them all, one above the limit
 * fails at once, and one that has no answer in time fails then.
 */
export class OpenQuestions {
  #next = 1;
  readonly #open = new PassingMap<number, Asker>();

  /** `withinMs`: milliseconds until it fails. `late`: called with an answer that arrives after that. */
  ask<T>(post: (id: number) => void, withinMs: number, late?: (value: T) => void): Promise<T> {
    if (this.#open.size >= maxOpen)
      return Promise.reject(new Error(`${maxOpen} questions wait for the control process`));
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        // Where this process was stopped, the answer may be there and not read yet.
        setImmediate(() => this.#expire(id, withinMs, late as ((value: unknown) => void) | undefined));
      }, withinMs).unref();
      this.#open.set(id, { resolve: resolve as (value: unknown) => void, reject, timer, late: null });
      post(id);
    });
  }

  #expire(id: number, withinMs: number, late: ((value: unknown) => void) | undefined): void {
    const asker = this.#open.get(id);
    if (asker === undefined) return;
    if (late === undefined) this.#open.delete(id);
    else asker.late = late;
    asker.reject(new Error(`the control process has not answered within ${withinMs} ms`));
  }

  answered(id: number, value: unknown): void {
    const asker = this.#take(id);
    if (asker === undefined) return;
    if (asker.late === null) asker.resolve(value);
    else asker.late(value);
  }

  failed(id: number): void {
    this.#take(id)?.reject(new Error('the control process could not answer'));
  }

  #take(id: number): Asker | undefined {
    const asker = this.#open.get(id);
    if (asker === undefined) return undefined;
    clearTimeout(asker.timer);
    this.#open.delete(id);
    return asker;
  }

  lost(): void {
    for (const { reject, timer } of this.#open.drain()) {
      clearTimeout(timer);
      reject(new Error('control process gone'));
    }
  }
}
