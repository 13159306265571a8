import { etagOf, type Revised } from '../records/etag.js';
import type { Transaction } from './connection/driver.js';
import { updateRows } from './connection/statements.js';

/** Does the caller know this state of the row? One who gives no etag changes whatever is there. */
export const isCurrent = (row: Revised, etag: string | undefined): boolean =>
  etag === undefined || etag === etagOf(row);

/** Writes `row` over the state it was made from, one revision on. `stale`: another change was first. */
export async function replaceRow<Row extends Revised>(
  sql: Transaction,
  table: string,
  row: Row,
): Promise<Row | 'stale'> {
  const next = { ...row, revision: row.revision + 1 };
  const count = await updateRows(sql, table, { id: row.id, revision: row.revision }, next);
  return count === 1 ? next : 'stale';
}
