import { setImmediate } from 'node:timers/promises';
import type { Knex } from 'knex';
import type { Listed, Page } from '../records/place.js';
import type { LeanDialect } from './connection/lean.js';
import { rowsOf } from './connection/statements.js';

interface ListOrder {
  readonly column: string;
  readonly order?: 'asc' | 'desc';
}

/** Rows of one second have an order too, or a page could repeat what the page before it had. */
export const newestFirst: readonly ListOrder[] = [{ column: 'created_at', order: 'desc' }, { column: 'id' }];

/** Rows that are made in one turn of the event loop: requests of the data plane wait no longer. */
const rowsATurn = 100;
/** From here on rows are asked for as JSON where that is cheaper. */
const manyRows = 100;

/**
 * One page of what `wanted` selects, and how many rows that is in all. `columns`: what rows are made of, where none of
 * it is bytes; a long page is then cheaper to read.
 */
export async function listed<Row, T>(
  wanted: Knex.QueryBuilder,
  order: readonly ListOrder[],
  page: Page,
  fromRow: (row: Row) => T,
  columns?: readonly (keyof Row & string)[],
): Promise<Listed<T>> {
  const count = await wanted.clone().count('* as total').first();
  const part = wanted
    .orderBy([...order])
    .offset(page.offset)
    .limit(page.limit);
  const total = Number(count?.['total']);
  const isPacked =
    columns !== undefined &&
    Math.min(page.limit, total - page.offset) > manyRows &&
    dialectOf(part).dialect === 'sqlite3';
  if (!isPacked) return { total, rows: await mapped<Row, T>(await part, fromRow) };
  return { total, rows: await mapped(await packed(part, columns), (row) => fromRow(JSON.parse(row))) };
}

/** A builder has its client, which knex's types do not declare. */
const dialectOf = (part: Knex.QueryBuilder): LeanDialect => (part as unknown as Knex).client;

/**
 * The rows as JSON, one text each. What SQLite's driver spends on a row is mostly its names and values, one by one:
 * more than twice of what this costs.
 */
async function packed(part: Knex.QueryBuilder, columns: readonly string[]): Promise<readonly string[]> {
  const { sql, bindings } = part.toSQL();
  const members = columns.map((column) => `'${column}', "${column}"`).join(', ');
  const text = `SELECT json_object(${members}) AS row FROM (${sql})`;
  const rows = await rowsOf<{ row: string }>({ client: dialectOf(part) }, text, bindings);
  return rows.map(({ row }) => row);
}

/** What `make` makes of each, a hundred in a turn of the event loop. */
export async function mapped<A, B>(items: readonly A[], make: (item: A) => B): Promise<B[]> {
  const made: B[] = [];
  for (const item of items) {
    if (made.length > 0 && made.length % rowsATurn === 0) await setImmediate();
    made.push(make(item));
  }
  return made;
}

/** Narrows `wanted` to rows that have `text`, taken literally and in either case, in one of the columns. */
export function containing(wanted: Knex.QueryBuilder, columns: readonly string[], text: string): void {
  const pattern = `%${text.replace(/[\\%_]/g, '\\$&')}%`;
  wanted.where((any) => {
    for (const column of columns) any.orWhereRaw("lower(??) LIKE lower(?) ESCAPE '\\'", [column, pattern]);
  });
}
