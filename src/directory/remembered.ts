import { LRUCache } from 'lru-cache';
import type { Awaitable } from '../core/directory.js';

const absent = Symbol('absent');

/**
 * A bounded memory in front of a slow question. Known absences are remembered too. One question is under way per
 * name however many ask, and an answer that a `forget` overtook is given to its askers but not kept.
 */
export class Remembered<T extends object> {
  readonly #known: LRUCache<string, T | typeof absent>;
  readonly #asked = new Map<string, Promise<T | null>>();

  constructor(
    max: number,
    readonly ask: (name: string) => Promise<T | null>,
  ) {
    this.#known = new LRUCache({ max });
  }

  get(name: string): Awaitable<T | null> {
    const known = this.#known.get(name);
    if (known !== undefined) return known === absent ? null : known;
    return this.#asked.get(name) ?? this.#question(name);
  }

  #question(name: string): Promise<T | null> {
    const question = this.ask(name).then(
      (value) => {
        if (this.#asked.get(name) === question) {
          this.#asked.delete(name);
          this.#known.set(name, value ?? absent);
        }
        return value;
      },
      (error) => {
        if (this.#asked.get(name) === question) this.#asked.delete(name);
        throw error;
      },
    );
    this.#asked.set(name, question);
    return question;
  }

  forget(name: string): void {
    this.#known.delete(name);
    this.#asked.delete(name);
  }

  /** Everything at once: after the channel was away, nobody knows what was missed. */
  clear(): void {
    this.#known.clear();
    this.#asked.clear();
  }

  get size(): number {
    return this.#known.size;
  }
}
