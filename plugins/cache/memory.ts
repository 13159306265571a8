import { LRUCache } from 'lru-cache';
import { type Entry, sizeOf } from './answers/entry.js';

/** Bytes of an entry beside its answer: its key, its objects, and its places in the list. */
const overheadBytes = 1536;

/** A worker's own answers: a least-recently-used cache, limited by bytes. */
export class Memory {
  readonly #kept: LRUCache<string, Entry>;

  constructor(maxBytes: number) {
    this.#kept = new LRUCache({
      maxSize: Math.max(1, maxBytes),
      sizeCalculation: (entry) => sizeOf(entry) + overheadBytes,
    });
  }

  get(key: string): Entry | undefined {
    return this.#kept.get(key);
  }

  set(key: string, entry: Entry): void {
    // The size of an existing entry would not be updated.
    this.#kept.delete(key);
    this.#kept.set(key, entry);
  }

  /** Updates the size of an entry; does nothing if it is no longer kept. */
  grown(key: string, entry: Entry): void {
    if (this.#kept.peek(key) === entry) this.set(key, entry);
  }

  drop(key: string): void {
    this.#kept.delete(key);
  }

  /** Bytes, overhead included. */
  get size(): number {
    return this.#kept.calculatedSize;
  }

  get count(): number {
    return this.#kept.size;
  }
}
