const other = 'other';
/** Characters of a value: callers choose some of them, and each is in many lines. */
const longestLabel = 128;

/**
 * What is counted by combinations of label values, at most `max` of them: what comes later is counted together, as `other`.
 * So callers cannot make the metrics grow.
 */
export class LabelSets<Value> {
  readonly #sets = new Map<
    string,
    { readonly labels: Readonly<Record<string, string>>; readonly value: Value }
  >();

  constructor(
    readonly names: readonly string[],
    readonly max: number,
    readonly make: () => Value,
  ) {}

  /** `values`: one for each name. */
  of(...values: readonly string[]): Value {
    const key = values.join('\u0000');
    const known = this.#sets.get(key);
    if (known !== undefined) return known.value;
    if (this.#sets.size >= this.max && values.some((value) => value !== other))
      return this.of(...values.map(() => other));
    const labels = Object.fromEntries(this.names.map((name, i) => [name, values[i] ?? '']));
    const value = this.make();
    this.#sets.set(key, { labels, value });
    return value;
  }

  map<Out>(each: (labels: Readonly<Record<string, string>>, value: Value) => readonly Out[]): Out[] {
    return [...this.#sets.values()].flatMap(({ labels, value }) => each(labels, value));
  }
}

/** The first `max` values that come; those after them are `other`. */
export class KnownValues {
  readonly #values = new Set<string>();

  constructor(readonly max: number) {}

  of(given: string | null): string {
    if (given === null) return '';
    const value = given.length > longestLabel ? given.slice(0, longestLabel) : given;
    if (this.#values.has(value)) return value;
    if (this.#values.size >= this.max) return other;
    this.#values.add(value);
    return value;
  }
}
