import { LRUCache } from 'lru-cache';
import type { Awaitable } from '../../common/core/directory.js';

/** Names without a record are kept separately, so that they never displace a record. */
const maxAbsent = { entries: 10_000, bytes: 4 * 1024 * 1024 };
const leastAbsentBytes = Math.ceil(maxAbsent.bytes / maxAbsent.entries);
/** Milliseconds. `forget` reports new records; this covers changes that bypass the gateway. */
const absentForMs = 30_000;

/** The limits of a cache. */
export interface Bounds<T> {
  readonly entries: number;
  /** Of heap, all entries together. */
  readonly bytes: number;
  /** Of heap, of one entry: an estimate. */
  bytesOf(value: T): number;
}

/** Heap bytes of an entry beside its value. */
const entryBytes = 256;

/**
 * A bounded cache in front of a slow look-up. Absences are cached too, for a short time. Only one look-up is
 * under way per name however many ask, and an answer that a `forget` overtook is asked for again: its contents may no
 * longer be true, and nothing would correct it.
 */
export class Remembered<T extends object> {
  readonly #known: LRUCache<string, T>;
  readonly #absent = new LRUCache<string, true>({
    maxSize: maxAbsent.bytes,
    sizeCalculation: (_, name) => Math.max(leastAbsentBytes, entryBytes + name.length),
    ttl: absentForMs,
  });
  readonly #asked = new Map<string, Promise<T | null>>();

  constructor(
    { entries, bytes, bytesOf }: Bounds<T>,
    readonly ask: (name: string) => Promise<T | null>,
  ) {
    // Bounds the entries too. lru-cache's `max` would allocate arrays for all of them at once.
    const leastBytes = Math.ceil(bytes / entries);
    this.#known = new LRUCache({
      maxSize: bytes,
      sizeCalculation: (value, name) => Math.max(leastBytes, entryBytes + name.length + bytesOf(value)),
    });
  }

  get(name: string): Awaitable<T | null> {
    return this.#known.get(name) ?? this.#ask(name);
  }

  /** For a name under which nothing is in memory. */
  #ask(name: string): Awaitable<T | null> {
    if (this.#absent.get(name) === true) return null;
    return this.#asked.get(name) ?? this.#question(name);
  }

  /** The cached record; null: there is no such record; undefined: it has to be looked up. */
  known(name: string): T | null | undefined {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    return this.#absent.get(name) === true ? null : undefined;
  }

  /** Is a look-up of this name in flight? */
  isAsked(name: string): boolean {
    return this.#asked.has(name);
  }

  #question(name: string): Promise<T | null> {
    const question = this.ask(name).then(
      (value) => {
        if (this.#asked.get(name) !== question) return this.get(name);
        this.#asked.delete(name);
        if (value === null) this.#absent.set(name, true);
        else this.#known.set(name, value);
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
    this.#absent.delete(name);
    this.#asked.delete(name);
  }

  /** Everything at once. */
  clear(): void {
    this.#known.clear();
    this.#absent.clear();
    this.#asked.clear();
  }

  /** Forgets every such record, and all uncertain entries. */
  forgetWhere(isConcerned: (value: T) => boolean): void {
    const names: string[] = [];
    for (const [name, value] of this.#known.entries()) if (isConcerned(value)) names.push(name);
    for (const name of names) this.#known.delete(name);
    this.#absent.clear();
    this.#asked.clear();
  }

  /** Bytes of heap, by estimate. */
  get bytes(): number {
    return this.#known.calculatedSize + this.#absent.calculatedSize;
  }

  get size(): number {
    return this.#known.size;
  }
}
