type Value = number | string | null;

/** JSON without halves of surrogate pairs, which DuckDB refuses to read: one such row would refuse every question by metadata. */
function readable(text: Value): Value {
  if (typeof text !== 'string' || !text.includes('\\ud')) return text;
  const pairs = Object.entries(JSON.parse(text) as Record<string, string>);
  return JSON.stringify(Object.fromEntries(pairs.map((pair) => pair.map(wellFormed))));
}

const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd');

/** Rows of the ledger, as a list for each column. */
export class Changes {
  readonly #lists: Readonly<Record<string, readonly Value[]>>;
  readonly count: number;

  /** `found`: the row of `selectChanges`. */
  constructor(found: Readonly<Record<string, string>>) {
    const lists = Object.fromEntries(
      Object.entries(found).map(([name, text]) => [name, JSON.parse(text) as Value[]]),
    );
    lists['metadata'] = (lists['metadata'] ?? []).map(readable);
    this.#lists = lists;
    this.count = lists['seq']?.length ?? 0;
  }

  /** A column; of one that the ledger does not have, nulls. */
  list(name: string): readonly Value[] {
    return this.#lists[name] ?? new Array<null>(this.count).fill(null);
  }

  /** Number of the last row; null: there is none. */
  get last(): number | null {
    return (this.list('seq').at(-1) ?? null) as number | null;
  }

  get ids(): readonly string[] {
    return this.list('id') as readonly string[];
  }

  /** Those whose outcome was lost, with their numbers. */
  get unknown(): readonly { readonly seq: number; readonly id: string }[] {
    const [seqs, ids] = [this.list('seq'), this.ids];
    return this.list('state').flatMap((state, i) =>
      state === 0 ? [] : [{ seq: Number(seqs[i]), id: ids[i] ?? '' }],
    );
  }
}
