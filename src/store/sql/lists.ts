import type { Knex } from 'knex';
import type { Listed, Page } from '../place.js';

interface Order {
  readonly column: string;
  readonly order?: 'asc' | 'desc';
}

/** Rows of one second have an order too, or a page could repeat what the page before it had. */
export const newestFirst: readonly Order[] = [{ column: 'created_at', order: 'desc' }, { column: 'id' }];

/** One page of what `wanted` selects, and how many rows that is in all. */
export async function listed<Row, T>(
  wanted: Knex.QueryBuilder,
  order: readonly Order[],
  page: Page,
  fromRow: (row: Row) => T,
): Promise<Listed<T>> {
  const count = await wanted.clone().count('* as total').first();
  const rows: Row[] = await wanted
    .orderBy([...order])
    .offset(page.offset)
    .limit(page.limit);
  return { total: Number(count?.['total']), rows: rows.map(fromRow) };
}

/** Narrows `wanted` to rows that have `text`, taken literally and in either case, in one of the columns. */
export function containing(wanted: Knex.QueryBuilder, columns: readonly string[], text: string): void {
  const pattern = `%${text.replace(/[\\%_]/g, '\\$&')}%`;
  wanted.where((any) => {
    for (const column of columns) any.orWhereRaw("lower(??) LIKE lower(?) ESCAPE '\\'", [column, pattern]);
  });
}
