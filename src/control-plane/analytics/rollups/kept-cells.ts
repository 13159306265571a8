import { dayMs } from '../buckets.js';
import type { WorkConnection } from './postgres-work.js';

/**
 * Cells of a workspace and day whose expired requests were deleted: they cannot be computed again, so they stay.
 * Requests that have arrived since the cells were made are added to them.
 */
export interface KeptCells {
  /** Condition: cells, or requests, of this table are of a workspace whose cells stay. */
  readonly isKept: (table: string) => string;
  /** Condition on `requests`: those to be added; null: there are none. */
  readonly isLate: string | null;
}

/** Condition on `rolled`: expired requests of the day may have been deleted. */
const isDeletedFrom = (day: number): string => `EXISTS (SELECT 1 FROM kept_from WHERE kept_from.day > ${day}
  AND (kept_from.org = '' OR kept_from.org = rolled.org AND kept_from.workspace = rolled.workspace))`;

/**
 * In the transaction that rolls up the day, before it is noted as rolled up. `isRebuilt`: cells may be wrong, and may count more
 * requests than there ever were.
 */
export async function keptCells(
  connection: WorkConnection,
  day: number,
  isRebuilt: boolean,
): Promise<KeptCells> {
  const inDay = `"at" >= ${day * dayMs} AND "at" < ${(day + 1) * dayMs}`;
  // Locked, so that of two nodes one fails here, before any work.
  const { rows } = await connection.query<{ snapshot: string }>(
    `SELECT snapshot::text AS snapshot FROM rolled_days WHERE day = ${day} FOR UPDATE`,
  );
  // Earlier versions did not note what they deleted: fewer requests than the cells count show it. In a rebuild, where counts of cells
  // may be wrong, the first request has to be missing too: the oldest are deleted first.
  const isUnnoted = `coalesce(found.requests, 0) < rolled.requests
    ${isRebuilt ? 'AND coalesce(found.first_seen > rolled.first_seen, true)' : ''}`;
  await connection.query(`CREATE TEMP TABLE kept_cells ON COMMIT DROP AS
    SELECT rolled.org, rolled.workspace FROM (
        SELECT org, workspace, sum(requests) AS requests, min(first_seen) AS first_seen FROM day_sums
        WHERE day = ${day} AND rolled_by = 'none' GROUP BY 1, 2) AS rolled
      LEFT JOIN (SELECT org, workspace, count(*) AS requests, min("at") AS first_seen FROM exchanges
        WHERE ${inDay} GROUP BY 1, 2) AS found
      ON found.org = rolled.org AND found.workspace IS NOT DISTINCT FROM rolled.workspace
    WHERE (${isUnnoted}) OR ${isDeletedFrom(day)}`);
  const isKept = (
    table: string,
  ): string => `EXISTS (SELECT 1 FROM kept_cells WHERE kept_cells.org = ${table}.org
    AND kept_cells.workspace IS NOT DISTINCT FROM ${table}.workspace)`;
  const [rolled] = rows;
  const late = rolled === undefined ? 'false' : isAfter(rolled.snapshot);
  await connection.query(`CREATE TEMP TABLE late_requests ON COMMIT DROP AS
    SELECT id FROM exchanges WHERE ${inDay} AND ${late} AND ${isKept('exchanges')}`);
  const { rows: some } = await connection.query('SELECT 1 FROM late_requests LIMIT 1');
  return { isKept, isLate: some.length === 0 ? null : 'request_id IN (SELECT id FROM late_requests)' };
}

/**
 * Condition on `exchanges`: the row is of a transaction that the snapshot does not show. In a database that was restored on
 * another server, rows have numbers of that one: such rows are not late.
 */
const isAfter = (snapshot: string): string => `exchanges.tx >= pg_snapshot_xmin('${snapshot}')
  AND NOT pg_visible_in_snapshot(exchanges.tx, '${snapshot}') AND exchanges.tx < pg_snapshot_xmax(pg_current_snapshot())`;
