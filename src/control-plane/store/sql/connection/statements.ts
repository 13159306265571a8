import type { Database, Sql } from './driver.js';
import type { LeanDialect } from './lean.js';

/** Statements of every change: written out, since a builder would compile them each time. */

type Values = readonly unknown[];
type Row = object;

type Speaker = Pick<Sql, 'client'>;

const say = (sql: Speaker, method: string, text: string, bindings: Values): Promise<unknown> =>
  (sql.client as LeanDialect).run({ method, sql: text, bindings });

/** Runs a statement that is no SELECT; `?` is a placeholder for a value, in both databases. */
export const run = (sql: Sql, text: string, values: Values): Promise<unknown> =>
  say(sql, 'insert', text, values);

/** The rows of a SELECT. */
export const rowsOf = <T>(sql: Speaker, text: string, values: Values): Promise<T[]> =>
  say(sql, 'select', text, values) as Promise<T[]>;

/** The first row of a SELECT. */
export const firstRow = <T>(sql: Sql, text: string, values: Values): Promise<T | undefined> =>
  say(sql, 'first', text, values) as Promise<T | undefined>;

export const dialectOf = (sql: Speaker): Database['dialect'] =>
  (sql.client as LeanDialect).dialect === 'sqlite3' ? 'sqlite' : 'postgres';

/** Appended to a SELECT whose rows the transaction holds to its end. SQLite's hold everything. */
export const forUpdate = (sql: Sql): string => (dialectOf(sql) === 'sqlite' ? '' : ' FOR UPDATE');

/** One column of a SELECT: all rows of `from` (`FROM …`), as the text of a JSON array. */
export function rowsAsJson(dialect: Database['dialect'], columns: readonly string[], from: string): string {
  const members = columns.map((column) => `'${column}', ${column}`).join(', ');
  return dialect === 'sqlite'
    ? `(SELECT json_group_array(json_object(${members})) ${from})`
    : `(SELECT coalesce(json_agg(json_build_object(${members})), '[]')::text ${from})`;
}

/** By table and columns. */
const texts = new Map<string, string>();

function textFor(verb: string, table: string, columns: readonly string[], write: () => string): string {
  const name = `${verb} ${table} ${columns.join()}`;
  let text = texts.get(name);
  if (text === undefined) {
    text = write();
    texts.set(name, text);
  }
  return text;
}

const valuesOf = (row: Row): unknown[] => Object.values(row).map((value) => value ?? null);

export async function insertRow(sql: Sql, table: string, row: Row): Promise<void> {
  const columns = Object.keys(row);
  const text = textFor('insert', table, columns, () => {
    const names = columns.map((column) => `"${column}"`).join(', ');
    return `INSERT INTO "${table}" (${names}) VALUES (${columns.map(() => '?').join(', ')})`;
  });
  await run(sql, text, valuesOf(row));
}

/**
 * Inserts a row, unless what must be unique is taken: false, and nothing was changed. No error is caught, which in PostgreSQL
 * would need a savepoint around it.
 */
export async function insertNew(sql: Sql, table: string, row: Row): Promise<boolean> {
  const columns = Object.keys(row);
  const text = textFor('insert new', table, columns, () => {
    const names = columns.map((column) => `"${column}"`).join(', ');
    const places = columns.map(() => '?').join(', ');
    return `INSERT INTO "${table}" (${names}) VALUES (${places}) ON CONFLICT DO NOTHING RETURNING 1 AS made`;
  });
  const query = { method: 'select', sql: text, bindings: valuesOf(row), returning: ['made'] };
  const made = await (sql.client as LeanDialect).run(query);
  return (made as readonly unknown[]).length > 0;
}

/** Rows that are written by one statement: what a database takes of values has a limit. */
const rowsAtOnce = 200;

/** Inserts rows that all have the same columns. */
export async function insertRows(sql: Sql, table: string, rows: readonly Row[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  const names = columns.map((column) => `"${column}"`).join(', ');
  const one = `(${columns.map(() => '?').join(', ')})`;
  for (let at = 0; at < rows.length; at += rowsAtOnce) {
    const piece = rows.slice(at, at + rowsAtOnce);
    const text = `INSERT INTO "${table}" (${names}) VALUES ${piece.map(() => one).join(', ')}`;
    await run(sql, text, piece.flatMap(valuesOf));
  }
}

/** Writes `row` where all of `at` holds. How many rows that was. */
export async function updateRows(sql: Sql, table: string, at: Row, row: Row): Promise<number> {
  const text = textFor('update', table, [...Object.keys(row), ...Object.keys(at)], () => {
    const equal = (columns: Row): string[] => Object.keys(columns).map((column) => `"${column}" = ?`);
    return `UPDATE "${table}" SET ${equal(row).join(', ')} WHERE ${equal(at).join(' AND ')}`;
  });
  return (await say(sql, 'update', text, [...valuesOf(row), ...valuesOf(at)])) as number;
}
