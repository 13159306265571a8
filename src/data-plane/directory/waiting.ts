import { PassingMap } from '../../common/bytes/passing-map.js';

interface Asker {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Limit of open look-ups of a worker: the control process answers them one after the other. */
const maxOpen = 4096;

/**
 * Open look-ups at the control process. Answers come by number; a lost channel fails them all, and one above the limit
 * fails at once.
 */
export class OpenQuestions {
  #next = 1;
  readonly #open = new PassingMap<number, Asker>();

  ask<T>(post: (id: number) => void): Promise<T> {
    if (this.#open.size >= maxOpen)
      return Promise.reject(new Error(`${maxOpen} questions wait for the control process`));
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#open.set(id, { resolve: resolve as (value: unknown) => void, reject });
      post(id);
    });
  }

  answered(id: number, value: unknown): void {
    this.#open.get(id)?.resolve(value);
    this.#open.delete(id);
  }

  failed(id: number): void {
    this.#open.get(id)?.reject(new Error('the control process could not answer'));
    this.#open.delete(id);
  }

  lost(): void {
    for (const { reject } of this.#open.drain()) reject(new Error('control process gone'));
  }
}
