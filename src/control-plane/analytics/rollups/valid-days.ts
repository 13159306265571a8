import { dayMs } from '../buckets.js';
import type { RolledKind } from '../statements/dialect.js';

/** Changes of feedback that were committed later than their time suggests. Milliseconds. */
const overlapMs = 10_000;

/** Condition on `rolled_days AS rolled`: does a row of the day come from a transaction that its cells do not have? */
const hasNewRows = `EXISTS (SELECT 1 FROM exchanges WHERE exchanges."at" >= rolled.day::bigint * ${dayMs}
  AND exchanges."at" < (rolled.day::bigint + 1) * ${dayMs} AND exchanges.tx >= pg_snapshot_xmin(rolled.snapshot)
  AND NOT pg_visible_in_snapshot(exchanges.tx, rolled.snapshot))`;
const hasNewFeedback = `EXISTS (SELECT 1 FROM feedbacks WHERE feedbacks.updated_at >= rolled.at - ${overlapMs}
  AND feedbacks.row_at >= rolled.day::bigint * ${dayMs} AND feedbacks.row_at < (rolled.day::bigint + 1) * ${dayMs})`;

/** A program that makes no cells of values leaves the snapshot of those that are there. */
const hasValues = 'rolled.values_snapshot::text = rolled.snapshot::text';

/** The days whose cells are as the rows are. `first`, `last`: of those asked for. */
export const validDays = (first: number, last: number, kind: RolledKind): string =>
  `SELECT day FROM rolled_days AS rolled WHERE day BETWEEN ${first} AND ${last}${kind === 'values' ? ` AND ${hasValues}` : ''}
    AND NOT ${hasNewRows} AND NOT ${hasNewFeedback} ORDER BY day`;
