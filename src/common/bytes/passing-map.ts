interface Cell<V> {
  value: V | undefined;
}

/**
 * A Map for short-lived entries. A Map's outgrown table refers to its successor, so that in V8 a
 * table in the old generation keeps the next ones, and their entries, until the next major collection. Entries here are
 * not referenced after they are deleted: tables refer to cells, which are emptied.
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

  /** Empties it, and returns its values. */
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
