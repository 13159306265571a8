/** Rows may arrive long after their own time, such as imported ones: so often all of them are looked at. Milliseconds. */
const allEveryMs = 86_400_000;

interface Looked {
  /** Rows before this were looked at. */
  readonly until: number;
  /** The same when all of them were looked at last. */
  readonly allUntil: number;
}

/** Up to when rows were looked at for their expiry, so that not all of them are looked at each time. Times in Unix milliseconds. */
export class LookedAt {
  readonly #looked = new Map<string, Looked>();

  /** From when on rows of `name` may have expired by `before`. */
  from(name: string, before: number): number {
    const looked = this.#looked.get(name);
    return looked === undefined || before - looked.allUntil >= allEveryMs ? 0 : looked.until;
  }

  /** Those that `from` gave are deleted. */
  done(name: string, before: number): void {
    const { allUntil = before } = this.from(name, before) === 0 ? {} : this.#looked.get(name)!;
    this.#looked.set(name, { until: before, allUntil });
  }

  /** Forgets all others. */
  keep(names: ReadonlySet<string>): void {
    for (const name of this.#looked.keys()) if (!names.has(name)) this.#looked.delete(name);
  }
}
