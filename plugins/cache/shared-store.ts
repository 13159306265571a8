import type { Shared } from '../../src/core/shared.js';
import { type Entry, readEntry, writeEntry } from './entry.js';

/** Longer than this no call waits for it: an answer that comes later is a miss. */
const deadlineMs = 50;
/** After so many silent misses in a row it is left alone for a while. */
const maxLate = 3;
const restMs = 1000;

/** The answers that all workers share, kept by the control process. Whatever fails in it is a miss. */
export class SharedStore {
  #late = 0;
  #restUntil = 0;

  constructor(readonly shared: Shared) {}

  read(key: string): Promise<Entry | null> {
    if (performance.now() < this.#restUntil) return Promise.resolve(null);
    return new Promise((resolve) => {
      const late = setTimeout(() => {
        if (++this.#late >= maxLate) {
          this.#late = 0;
          this.#restUntil = performance.now() + restMs;
        }
        resolve(null);
      }, deadlineMs);
      this.shared.ask('cache-read', { key }).then(
        (text) => {
          clearTimeout(late);
          this.#late = 0;
          resolve(text === null ? null : readEntry(text));
        },
        () => {
          clearTimeout(late);
          resolve(null);
        },
      );
    });
  }

  /** `replaces`: may other workers remember an older answer of this name? */
  write(key: string, entry: Entry, replaces: boolean): void {
    this.shared.tell('cache-write', { key, entry: writeEntry(entry), ttl: entry.maxAge, replaces });
  }
}
