import { dayMs } from '../buckets.js';
import type { RolledKind } from '../statements/dialect.js';
import { copiedDays } from './copied-requests.js';

/** Changes of feedback that were committed later than their time suggests. Milliseconds. */
const overlapMs = 10_000;

/**
 * Condition on `rolled_days AS rolled`: does no row of the day come from a transaction that its cells do not have? A subquery with an
 * order and a limit is looked up for each day, in its partition's index of transactions; as `NOT EXISTS` it is joined with all rows.
 */
const hasNoNewRows = `(SELECT true FROM exchanges WHERE exchanges."at" >= rolled.day::bigint * ${dayMs}
  AND exchanges."at" < (rolled.day::bigint + 1) * ${dayMs} AND exchanges.tx >= pg_snapshot_xmin(rolled.snapshot)
  AND NOT pg_visible_in_snapshot(exchanges.tx, rolled.snapshot) ORDER BY exchanges.tx, exchanges.n LIMIT 1) IS NULL`;
const hasNoNewFeedback = `(SELECT true FROM feedbacks WHERE feedbacks.row_at >= rolled.day::bigint * ${dayMs}
  AND feedbacks.row_at < (rolled.day::bigint + 1) * ${dayMs} AND feedbacks.updated_at >= rolled.at - ${overlapMs} LIMIT 1) IS NULL`;
/** The index by which feedback is found. */
export const feedbackIndex = 'CREATE INDEX IF NOT EXISTS feedbacks_row_day ON feedbacks (row_at, updated_at)';

/** An earlier version, which creates no cells of values, does not update `values_snapshot`. */
const hasValues = 'rolled.values_snapshot::text = rolled.snapshot::text';

/** The days whose cells, or copies of requests, are up to date. `first`, `last`: the requested days. */
export const validDays = (first: number, last: number, kind: RolledKind | 'requests'): string =>
  `SELECT day FROM ${kind === 'requests' ? copiedDays : 'rolled_days'} AS rolled
    WHERE day BETWEEN ${first} AND ${last}${kind === 'values' ? ` AND ${hasValues}` : ''}
    AND ${hasNoNewRows} AND ${hasNoNewFeedback} ORDER BY day`;
