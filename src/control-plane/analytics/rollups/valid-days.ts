import { dayMs } from '../buckets.js';
import type { RolledKind } from '../statements/dialect.js';
import { copiedDays } from './copied-requests.js';
import { partitionedDays, type WorkConnection } from './postgres-work.js';

/**
 * Condition on `rolled_days AS rolled`: does no row of the day come from a transaction that its cells do not have? A subquery with an
 * order and a limit is looked up for each day, in its partition's index of transactions; as `NOT EXISTS` it is joined with all rows.
 */
const hasNoNewRows = `(SELECT true FROM exchanges WHERE exchanges."at" >= rolled.day::bigint * ${dayMs}
  AND exchanges."at" < (rolled.day::bigint + 1) * ${dayMs} AND exchanges.tx >= pg_snapshot_xmin(rolled.snapshot)
  AND NOT pg_visible_in_snapshot(exchanges.tx, rolled.snapshot) ORDER BY exchanges.tx, exchanges.n LIMIT 1) IS NULL`;
const hasNoNewFeedback = `(SELECT true FROM feedbacks WHERE feedbacks.row_at >= rolled.day::bigint * ${dayMs}
  AND feedbacks.row_at < (rolled.day::bigint + 1) * ${dayMs} AND feedbacks.tx >= pg_snapshot_xmin(rolled.snapshot)
  AND NOT pg_visible_in_snapshot(feedbacks.tx, rolled.snapshot) LIMIT 1) IS NULL`;
/** Days that feedback has left for an earlier one, as ingestion records them: the feedback itself has the other day alone. */
export const feedbackMoves = 'feedback_moves';
const hasNoLeftFeedback = `(SELECT true FROM ${feedbackMoves} AS moved WHERE moved.day = rolled.day
  AND moved.tx >= pg_snapshot_xmin(rolled.snapshot) AND NOT pg_visible_in_snapshot(moved.tx, rolled.snapshot) LIMIT 1) IS NULL`;
/** A day without requests is as it was: its partition was dropped, and nothing of it can be counted again. */
const isDropped = `to_regclass('exchanges_' || to_char(date '1970-01-01' + rolled.day, 'YYYYMMDD')) IS NULL`;
/** The index by which changed feedback is found. Without it no day is up to date. */
export const feedbackIndex = 'feedbacks_row_tx';
const usualMinutes = 60;
/**
 * Makes it. Feedback that was changed a short time before is noted as changed now: earlier versions compared times, which the cells of
 * its days may not have been made after. The lock is taken first: with rows changed already, it and a writer of one of them would wait
 * for each other.
 */
const createFeedbackIndex = `
  LOCK TABLE feedbacks IN SHARE ROW EXCLUSIVE MODE;
  UPDATE feedbacks SET updated_at = updated_at WHERE tx IS NULL
    AND updated_at >= (extract(epoch FROM now()) * 1000)::bigint - ${usualMinutes * 60_000};
  CREATE INDEX ${feedbackIndex} ON feedbacks (row_at, tx);`;

/** In a transaction with `rollupsLock`. Even if the index existed, the statement would wait for transactions that write feedback. */
export async function prepareFeedbackIndex(connection: WorkConnection): Promise<void> {
  const { rows } = await connection.query<{ found: boolean }>(
    `SELECT to_regclass('${feedbackIndex}') IS NOT NULL AS found FROM pg_class LIMIT 1`,
  );
  if (rows[0]?.found !== true) await connection.query(createFeedbackIndex);
}

const earlierIndex = 'feedbacks_row_day';

/**
 * Drops the index of earlier versions, outside a transaction: within one, later questions would wait until those before it were answered.
 * A node of such a version may make it again.
 */
export async function dropEarlierIndex(connection: WorkConnection): Promise<void> {
  const { rows } = await connection.query<{ found: boolean }>(
    `SELECT to_regclass('${earlierIndex}') IS NOT NULL AS found FROM pg_class LIMIT 1`,
  );
  if (rows[0]?.found === true) await connection.query(`DROP INDEX CONCURRENTLY IF EXISTS ${earlierIndex}`);
}

/** An earlier version, which creates no cells of values, does not update `values_snapshot`. */
const hasValues = 'rolled.values_snapshot::text = rolled.snapshot::text';

/** Those of `day_counts`. */
export const countedDays = 'counted_days';

/** What is made of days that have ended. */
type MadeOfDays = RolledKind | 'requests' | 'counts';

const isUpToDate = `(${hasNoNewRows} AND ${hasNoNewFeedback} AND ${hasNoLeftFeedback} OR ${isDropped})`;
const conditions: Readonly<Record<MadeOfDays, string>> = {
  groups: isUpToDate,
  values: `${hasValues} AND ${isUpToDate}`,
  requests: isUpToDate,
  // Requests that are gone are not counted.
  counts: `${hasNoNewRows} AND NOT ${isDropped}`,
};
const madeDays: Readonly<Record<MadeOfDays, string>> = {
  groups: 'rolled_days',
  values: 'rolled_days',
  requests: copiedDays,
  counts: countedDays,
};

/** The days whose cells, copies of requests, or counts are up to date. `first`, `last`: the requested days. */
export const validDays = (first: number, last: number, kind: MadeOfDays): string =>
  `SELECT day FROM ${madeDays[kind]} AS rolled
    WHERE day BETWEEN ${first} AND ${last} AND ${conditions[kind]} ORDER BY day`;

/** Days that have ended of which this was not made, or has changed since; newest first. */
export async function daysToMake(
  connection: WorkConnection,
  today: number,
  kind: MadeOfDays,
): Promise<readonly number[]> {
  const { rows } = await connection.query<{ day: number }>(validDays(0, today, kind));
  const made = new Set(rows.map(({ day }) => day));
  return (await partitionedDays(connection, 'exchanges'))
    .filter((day) => day < today && !made.has(day))
    .sort((a, b) => b - a);
}

/** Deletes notes of moved feedback that both the cells and the copy of the day were made after. */
export const forgetMoves = `DELETE FROM ${feedbackMoves} AS moved USING rolled_days AS rolled, ${copiedDays} AS copied
  WHERE rolled.day = moved.day AND copied.day = moved.day
    AND pg_visible_in_snapshot(moved.tx, rolled.snapshot) AND pg_visible_in_snapshot(moved.tx, copied.snapshot)`;

/** A note that is of no day: the days of earlier versions, which took no notes, were looked at. */
const lookedAt = -1;
export const haveMovesBeenLookedFor = `EXISTS (SELECT 1 FROM ${feedbackMoves} WHERE day = ${lookedAt})`;
/** Notes the days whose cells count more feedback than there is. */
export const lookForMoves = `INSERT INTO ${feedbackMoves} (day)
  SELECT ${lookedAt} UNION ALL
  SELECT cells.day FROM (SELECT day, sum(feedback_count) AS feedback FROM day_sums WHERE rolled_by = 'none' GROUP BY 1) AS cells
    LEFT JOIN (SELECT row_at / ${dayMs} AS day, count(*) AS feedback FROM feedbacks WHERE row_at IS NOT NULL GROUP BY 1) AS given
      ON given.day = cells.day
    WHERE cells.feedback > coalesce(given.feedback, 0)`;
