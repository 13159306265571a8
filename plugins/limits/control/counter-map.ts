/** Characters that an entry counts for besides those of its name. */
const leastLength = 256;
/** So many of its oldest counters are looked at for one that may go. */
const mostTried = 1000;

interface Counters<T> {
  /** Those used least recently first. */
  readonly byName: Map<string, T>;
  length: number;
}

export interface CounterMapOptions<T> {
  /** Counters of all organisations together. */
  readonly most: number;
  /** Characters of their names, all together. */
  readonly mostLength: number;
  /** May it make room for another? Absent: any may. */
  readonly isIdle?: (counter: T) => boolean;
  /** Is called with what has made room. */
  readonly dispose?: (counter: T) => void;
}

/**
 * Counters by their names, which begin with the organisation's id and a slash. Where there are too many, those make room that the
 * organisation with most of them has used least recently: no tenant's counters go because another has many.
 */
export class CounterMap<T> {
  readonly #organisations = new Map<string, Counters<T>>();
  #size = 0;
  #length = 0;

  constructor(readonly options: CounterMapOptions<T>) {}

  get size(): number {
    return this.#size;
  }

  /** It counts as used now. */
  get(name: string): T | undefined {
    const byName = this.#organisations.get(organisationOf(name))?.byName;
    const counter = byName?.get(name);
    if (byName !== undefined && counter !== undefined) {
      byName.delete(name);
      byName.set(name, counter);
    }
    return counter;
  }

  peek(name: string): T | undefined {
    return this.#organisations.get(organisationOf(name))?.byName.get(name);
  }

  /** false: there is no room for it, since none may make room. */
  set(name: string, counter: T): boolean {
    this.delete(name);
    const { most, mostLength } = this.options;
    const length = leastLength + name.length;
    while (this.#size + 1 > most || this.#length + length > mostLength) if (!this.#makeRoom()) return false;
    const organisation = organisationOf(name);
    let counters = this.#organisations.get(organisation);
    if (counters === undefined) {
      counters = { byName: new Map(), length: 0 };
      this.#organisations.set(organisation, counters);
    }
    counters.byName.set(name, counter);
    counters.length += length;
    this.#size++;
    this.#length += length;
    return true;
  }

  delete(name: string): void {
    const organisation = organisationOf(name);
    const counters = this.#organisations.get(organisation);
    if (counters === undefined || !counters.byName.delete(name)) return;
    const length = leastLength + name.length;
    counters.length -= length;
    this.#size--;
    this.#length -= length;
    if (counters.byName.size === 0) this.#organisations.delete(organisation);
  }

  *values(): IterableIterator<T> {
    for (const { byName } of this.#organisations.values()) yield* byName.values();
  }

  /** A sixteenth of the largest organisation's goes at once: looking for the largest is not needed for each. */
  #makeRoom(): boolean {
    let largest: Counters<T> | null = null;
    for (const counters of this.#organisations.values())
      if (largest === null || counters.length > largest.length) largest = counters;
    if (largest === null) return false;
    const { isIdle, dispose } = this.options;
    const wanted = Math.ceil(largest.byName.size / 16);
    let made = 0;
    let tried = 0;
    for (const [name, counter] of largest.byName) {
      if (made === wanted || tried++ === mostTried) break;
      if (isIdle !== undefined && !isIdle(counter)) continue;
      this.delete(name);
      dispose?.(counter);
      made++;
    }
    return made > 0;
  }
}

const organisationOf = (name: string): string => {
  const slash = name.indexOf('/');
  return slash < 0 ? name : name.slice(0, slash);
};
