import { PassingMap } from '../core/passing-map.js';

interface Asker {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Questions on their way to the control process. Answers come by number; a lost channel fails them all. */
export class Waiting {
  #next = 1;
  readonly #open = new PassingMap<number, Asker>();

  ask<T>(post: (id: number) => void): Promise<T> {
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
