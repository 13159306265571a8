import type { Changes } from './changes.js';

/**
 * Values of metadata in columns of their own: reading the JSON of millions of requests takes a second, reading a column takes no longer
 * than that of models. A name gets the next free column of its organisation when it first appears, so that no earlier request has it.
 * For other names the JSON is read.
 */
export const valueColumnCount = 16;
export const valueColumn = (number: number): string => `metadata_${number}`;
/** Its values are in the column of users. */
export const userName = '_user';

/** The column of a name in an organisation. */
export interface NameColumn {
  readonly org: string;
  readonly name: string;
  readonly number: number;
}

/** What a batch of rows has in these columns, and the columns that were assigned for it. */
export interface ValuesOfRows {
  /** By the number of the column. */
  readonly lists: readonly (readonly (string | null)[])[];
  readonly added: readonly NameColumn[];
}

/** `known`: the columns of the organisations of the rows. */
export function valuesOf(rows: Changes, known: readonly NameColumn[]): ValuesOfRows {
  const orgs = rows.list('org') as readonly string[];
  const metadata = rows
    .list('metadata')
    .map((text) => (text === null ? [] : Object.entries((JSON.parse(String(text)) ?? {}) as object)));
  const columns = new Map<string, Map<string, number>>();
  for (const { org, name, number } of known) mapOf(columns, org).set(name, number);
  const added = [...newNames(orgs, metadata, columns)];
  const lists = Array.from({ length: valueColumnCount }, () =>
    new Array<string | null>(rows.count).fill(null),
  );
  for (const [i, pairs] of metadata.entries()) {
    const own = columns.get(orgs[i] ?? '');
    for (const [name, value] of pairs) {
      const number = own?.get(name);
      if (number !== undefined) lists[number]![i] = textOf(value);
    }
  }
  return { lists, added };
}

/** Assigns free columns, the most frequent name of the batch first. */
function* newNames(
  orgs: readonly string[],
  metadata: readonly (readonly [string, unknown][])[],
  columns: Map<string, Map<string, number>>,
): Iterable<NameColumn> {
  const counts = new Map<string, Map<string, number>>();
  for (const [i, pairs] of metadata.entries()) {
    const org = orgs[i] ?? '';
    const own = mapOf(columns, org);
    if (own.size >= valueColumnCount) continue;
    for (const [name] of pairs) {
      if (name === userName || own.has(name)) continue;
      const names = mapOf(counts, org);
      names.set(name, (names.get(name) ?? 0) + 1);
    }
  }
  for (const [org, names] of counts) {
    const own = mapOf(columns, org);
    const commonest = [...names].sort(([, one], [, other]) => other - one);
    for (const [name] of commonest.slice(0, valueColumnCount - own.size)) {
      const number = own.size;
      own.set(name, number);
      yield { org, name, number };
    }
  }
}

function mapOf<T>(maps: Map<string, Map<string, T>>, key: string): Map<string, T> {
  const found = maps.get(key) ?? new Map<string, T>();
  maps.set(key, found);
  return found;
}

/** As DuckDB gives values of JSON. */
function textOf(value: unknown): string | null {
  if (value === null || typeof value === 'string') return value;
  return JSON.stringify(value);
}
