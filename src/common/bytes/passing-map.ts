interface Cell<V> {
  value: V | undefined;
}

/**
 * A Map for what stays only a moment. A Map's outgrown table refers to the one that takes its place, so that in V8 a
 * table that has become old keeps the next ones, and what was in them, until the next major collection. What was here is
 * not referenced once it is deleted: tables refer to cells, which are emptied.
 */
export class PassingMap<K, V> {
  readonly #cells = new Map<K, Cell<V>>();

  get size(): number {
    return this.#cells.size;
  }

  get(key: K): V | undefined {
    return this.#cells.get(key)?.value;
  }

  set(key: K, value: V): void {
    const cell = this.#cells.get(key);
    if (cell === undefined) this.#cells.set(key, { value });
    else cell.value = value;
  }

  delete(key: K): void {
    const cell = this.#cells.get(key);
    if (cell === undefined) return;
    cell.value = undefined;
    this.#cells.delete(key);
  }

  /** Empties it, and gives what was in it. */
  drain(): V[] {
    const values: V[] = [];
    for (const cell of this.#cells.values()) {
      values.push(cell.value as V);
      cell.value = undefined;
    }
    this.#cells.clear();
    return values;
  }
}
