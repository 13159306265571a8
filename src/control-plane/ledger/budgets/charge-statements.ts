import type { CounterRow } from './counter-rows.js';
import type { Language } from './language.js';
import { columnTypes } from './tables.js';

const most = Number.MAX_SAFE_INTEGER;

/** What changes in a counter: a row that is there already is given no more than that. */
const changingColumns = columnTypes('budget_counters', ['id', 'starts_at', 'used', 'limit', 'threshold']);
const counterColumns = {
  ...changingColumns,
  ...columnTypes('budget_counters', ['ends_at', 'org', 'workspace', 'budget']),
  ...columnTypes('budget_counters', ['holder', 'holder_id', 'value_key', 'measure']),
};
export const counterNames = Object.keys(counterColumns) as (keyof typeof counterColumns)[];
export const changingCount = Object.keys(changingColumns).length;
const listOf = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');
const given = counterNames.slice(0, changingCount).map((name) => `given."${name}"`);
const kept = counterNames.slice(changingCount).map((name) => `coalesce(given."${name}", present."${name}")`);

/** Has the counter reached what there is no alert of yet? As `alert` of charging.ts finds out. */
const isReached = `(threshold IS NOT NULL AND used >= threshold
    AND NOT (threshold_alert_of IS NOT NULL AND threshold_alert_of = threshold AND "limit" <= coalesce(threshold_alert_limit, 0)))
  OR (used >= "limit" AND (exhausted_alert_of IS NULL OR exhausted_alert_of <> "limit"))`;

export type ChargedCounter = Pick<CounterRow, keyof typeof counterColumns>;

const chargedNames = [
  ...(['id', 'starts_at', 'used', 'resets'] as const),
  ...(['threshold_alert_of', 'threshold_alert_limit', 'exhausted_alert_of'] as const),
] as const;

/** What a counter is after its charge. */
export type Charged = Pick<CounterRow, (typeof chargedNames)[number]>;

const addedColumns = (last: string, type: 'text' | 'integer') =>
  ({ id: 'text', starts_at: 'integer', [last]: type, used: 'integer' }) as const;

const addTo = (
  { rowsOf, least }: Language,
  table: string,
  last: string,
  type: 'text' | 'integer',
  rows: string,
): string => `INSERT INTO ${table} (id, starts_at, ${last}, used)
    SELECT id, starts_at, ${last}, used FROM ${rowsOf(rows, addedColumns(last, type))} AS added
    WHERE true ORDER BY id, starts_at, ${last}
    ON CONFLICT (id, starts_at, ${last}) DO UPDATE SET used = ${least}(${table}.used + excluded.used, ${most})`;

const addByNode = (language: Language, rows: string): string =>
  addTo(language, 'budget_node_usage', 'node', 'text', rows);
const addToCourse = (language: Language, rows: string): string =>
  addTo(language, 'budget_course', 'at', 'integer', rows);

/** Adds to counters whose rows are there. Of SQLite alone, where no other node waits for a row: its index by the end is left as it is. */
const addToWritten = (
  { rowsOf, least }: Language,
  rows: string,
  now: string,
): string => `UPDATE budget_counters SET used = ${least}(budget_counters.used + given.used, ${most}),
    "limit" = given."limit", threshold = given.threshold, updated_at = CAST(${now} AS bigint)
  FROM ${rowsOf(rows, changingColumns)} AS given
  WHERE budget_counters.id = given.id AND budget_counters.starts_at = given.starts_at`;

/** The statements that add charges. Rows are changed in the order of their keys, so that nodes wait for each other without deadlock. */
export function chargeStatements(language: Language) {
  const { rowsOf, least } = language;
  return {
    counters: `INSERT INTO budget_counters (${listOf(counterNames)}, resets, first_charge_at, updated_at)
      SELECT ${[...given, ...kept].join(', ')}, 0, CAST(?2 AS bigint), CAST(?2 AS bigint)
      FROM ${rowsOf('?1', counterColumns)} AS given
      LEFT JOIN budget_counters AS present
        ON given.org IS NULL AND present.id = given.id AND present.starts_at = given.starts_at
      WHERE given.org IS NOT NULL OR present.id IS NOT NULL ORDER BY given.id, given.starts_at
      ON CONFLICT (id, starts_at) DO UPDATE SET
        used = ${least}(budget_counters.used + excluded.used, ${most}), ends_at = excluded.ends_at,
        "limit" = excluded."limit", threshold = excluded.threshold, updated_at = excluded.updated_at
      RETURNING CASE WHEN ${isReached} THEN id END AS reached`,
    written: `${addToWritten(language, '?1', '?2')} RETURNING CASE WHEN ${isReached} THEN id END AS reached`,
    present: `SELECT ${listOf([...chargedNames])} FROM ${rowsOf('?1', { id: 'text', starts_at: 'integer' })} AS asked
      JOIN budget_counters USING (id, starts_at)`,
    byNode: addByNode(language, '?1'),
    course: addToCourse(language, '?1'),
    alerted: `UPDATE budget_counters SET
        threshold_alert_of = coalesce(alerted.threshold, threshold_alert_of),
        threshold_alert_at = CASE WHEN alerted.threshold IS NULL THEN threshold_alert_at ELSE CAST(?2 AS bigint) END,
        threshold_alert_limit = CASE WHEN alerted.threshold IS NULL THEN threshold_alert_limit
          ELSE budget_counters."limit" END,
        exhausted_alert_of = coalesce(alerted."limit", exhausted_alert_of),
        exhausted_alert_at = CASE WHEN alerted."limit" IS NULL THEN exhausted_alert_at ELSE CAST(?2 AS bigint) END
      FROM ${rowsOf('?1', { id: 'text', starts_at: 'integer', threshold: 'integer', limit: 'integer' })} AS alerted
      WHERE budget_counters.id = alerted.id AND budget_counters.starts_at = alerted.starts_at`,
  };
}

/**
 * The same for a trigger: adds to counters whose rows are there, `counters` of them, and refuses by `refuse` a batch that
 * finds fewer of them, or has one reach what there is no alert of yet.
 */
export function chargeSteps(language: Language, given: ChargeParameters, refuse: string): string {
  const { rowsOf } = language;
  const { counters, count, byNode, course, now } = given;
  return `${addToWritten(language, counters, now)};
    SELECT ${refuse} WHERE changes() <> ${count};
    SELECT ${refuse} FROM ${rowsOf(counters, { id: 'text', starts_at: 'integer' })} AS given
      CROSS JOIN budget_counters USING (id, starts_at) WHERE ${isReached};
    ${addByNode(language, byNode)};
    ${addToCourse(language, course)};`;
}

/** What `chargeSteps` takes: rows of counters as JSON, and their count. */
export interface ChargeParameters<Value = string> {
  readonly counters: Value;
  readonly count: Value;
  readonly byNode: Value;
  readonly course: Value;
  readonly now: Value;
}

export type ChargeStatements = ReturnType<typeof chargeStatements>;
