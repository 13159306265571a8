import { randomUUID } from 'node:crypto';
import type { CacheRead, Shared } from '../../src/core/shared.js';
import { type Entry, readEntry, writeEntry } from './entry.js';

/** Longer than this no call waits for it: an answer that comes later is a miss. */
const deadlineMs = 50;
/** After so many silences in a row it is left alone for a while. */
const maxLate = 3;
const restMs = 1000;

export interface SharedRead {
  readonly entry: Entry | null;
  /** Does another worker ask an upstream for it at this moment? */
  readonly led: boolean;
}

const nothing: SharedRead = { entry: null, led: false };

/** The answers that all workers share, kept by the control process. Whatever fails in it is a miss. */
export class SharedStore {
  /** This worker's name among those that write. */
  readonly #own = randomUUID();
  #late = 0;
  #restUntil = 0;

  /** `dropped`: told of an answer that another worker has replaced. */
  constructor(
    readonly shared: Shared,
    dropped: (key: string) => void,
  ) {
    shared.hear('cache-drop', ({ key, replacedBy }) => {
      if (replacedBy !== this.#own) dropped(key);
    });
  }

  read(key: string): Promise<SharedRead> {
    if (performance.now() < this.#restUntil) return Promise.resolve(nothing);
    return new Promise((resolve) => {
      const late = setTimeout(() => {
        if (++this.#late >= maxLate) {
          this.#late = 0;
          this.#restUntil = performance.now() + restMs;
        }
        resolve(nothing);
      }, deadlineMs);
      this.shared
        .ask('cache-read', { key })
        .then(understood, () => nothing)
        .then((read) => {
          clearTimeout(late);
          this.#late = 0;
          resolve(read);
        });
    });
  }

  /** The same once the worker that asks an upstream for it has its answer, or none. */
  wait(key: string): Promise<SharedRead> {
    return this.shared.ask('cache-wait', { key }).then(understood, () => nothing);
  }

  /** `replaces`: may other workers remember an older answer of this name? */
  write(key: string, entry: Entry, replaces: boolean): void {
    const replacedBy = replaces ? this.#own : null;
    this.shared.tell('cache-write', { key, entry: writeEntry(entry), ttl: entry.maxAge, replacedBy });
  }

  /** There will be no such answer. */
  over(key: string): void {
    this.shared.tell('cache-over', { key });
  }
}

const understood = ({ entry, led }: CacheRead): SharedRead => ({
  entry: entry === null ? null : readEntry(entry),
  led,
});
