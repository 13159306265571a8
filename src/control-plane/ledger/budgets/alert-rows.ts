import type {
  AlertEvent,
  AnomalyAlert,
  AnomalyMetric,
  BudgetAlert,
  BudgetEvent,
  Delivery,
  FoundAnomaly,
  LedgerAlert,
  SentAlert,
} from '../../../common/ledger/alerts.js';
import { uuidv7 } from '../../../common/text/id.js';
import type { CounterRow } from './counter-rows.js';
import { type Language, rowsParameter, type Step } from './language.js';
import { columnTypes } from './tables.js';

/**
 * A row of `budget_alerts`. Of an anomaly, `budget_id` names its figure, `measure` is the metric, `used` the value and `threshold` what
 * was expected, both in millionths; `starts_at` and `ends_at` are when the figure differed.
 */
export interface AlertRow {
  readonly id: string;
  readonly at: number;
  readonly org: string;
  readonly event: AlertEvent;
  readonly budget_id: string;
  readonly starts_at: number;
  readonly budget: string;
  readonly holder: BudgetAlert['holder'];
  readonly holder_id: string;
  readonly value_key: string | null;
  readonly measure: BudgetAlert['measure'] | AnomalyMetric;
  readonly ends_at: number | null;
  readonly limit: number;
  readonly threshold: number | null;
  readonly used: number;
  readonly workspace: string | null;
  readonly name: string | null;
  /** A JSON array. null: the addressees are not filled in yet. */
  readonly recipients: string | null;
  readonly delivery: Delivery;
  readonly tries: number;
  readonly sent_at: number | null;
}

const millionths = 1_000_000;

export const anomalyOf = (row: AlertRow): AnomalyAlert => ({
  id: row.id,
  at: row.at,
  org: row.org,
  workspace: row.workspace ?? '',
  event: 'anomaly',
  metric: row.measure as AnomalyMetric,
  value: row.used / millionths,
  expected: (row.threshold ?? 0) / millionths,
  from: row.starts_at,
  to: row.ends_at ?? row.starts_at,
});

export const alertOf = (row: AlertRow): LedgerAlert =>
  row.event === 'anomaly' ? anomalyOf(row) : budgetAlertOf(row, row.event);

const budgetAlertOf = (row: AlertRow, event: BudgetEvent): BudgetAlert => ({
  id: row.id,
  at: row.at,
  org: row.org,
  workspace: row.workspace,
  event,
  budget: row.budget,
  budgetId: row.budget_id,
  holder: row.holder,
  holderId: row.holder_id,
  valueKey: row.value_key,
  measure: row.measure as BudgetAlert['measure'],
  used: row.used,
  limit: row.limit,
  threshold: row.threshold,
  startsAt: row.starts_at,
  endsAt: row.ends_at,
});

export const sentAlertOf = (row: AlertRow): SentAlert => ({
  ...alertOf(row),
  name: row.name,
  recipients: JSON.parse(row.recipients ?? '[]'),
  delivery: row.delivery,
  tries: row.tries,
  sentAt: row.sent_at,
});

const given = columnTypes('budget_alerts', [
  ...(['id', 'at', 'org', 'workspace', 'event', 'value', 'budget_id', 'starts_at', 'resets'] as const),
  ...(['budget', 'holder', 'holder_id', 'value_key', 'measure', 'ends_at'] as const),
  ...(['limit', 'threshold', 'used'] as const),
]);

const columns = Object.keys(given)
  .map((name) => `"${name}"`)
  .join(', ');

/** What happened to a counter. */
export interface CounterEvent {
  readonly event: BudgetEvent;
  /** The limit or the threshold that was reached; of a reset 0. */
  readonly value: number;
  readonly counter: CounterRow;
}

/** Writes alerts, except those that are there already. */
export async function writeAlerts(
  language: Language,
  step: Step,
  events: readonly CounterEvent[],
  now: number,
): Promise<void> {
  if (events.length === 0) return;
  // Ids of one millisecond are random: sorted, they keep the order of the events.
  const ids = events.map(() => uuidv7(now)).sort();
  const rows: AlertValues[] = events.map(({ event, value, counter: c }, i) => [
    ids[i]!,
    now,
    c.org,
    c.workspace,
    event,
    value,
    c.id,
    c.starts_at,
    c.resets,
    c.budget,
    c.holder,
    c.holder_id,
    c.value_key,
    c.measure,
    c.ends_at,
    c.limit,
    c.threshold,
    c.used,
  ]);
  await insertAlerts(language, step, rows);
}

/** In the order of `given`. */
type AlertValues = readonly (string | number | null)[];

async function insertAlerts(
  language: Language,
  step: Step,
  rows: readonly AlertValues[],
): Promise<readonly { readonly id: string }[]> {
  return step<{ id: string }>(
    `INSERT INTO budget_alerts (${columns}, delivery, tries)
      SELECT ${columns}, 'none', 0 FROM ${language.rowsOf('?1', given)} AS written WHERE true
      ORDER BY budget_id, starts_at, event
      ON CONFLICT (budget_id, starts_at, resets, event, value, "limit") DO NOTHING RETURNING id`,
    [rowsParameter(rows)],
  );
}

/** A figure that differed less than this ago differs still: milliseconds. */
const goesOnMs = 3_600_000;
const minuteMs = 60_000;

/** Writes an anomaly, or moves the end of the one that it goes on from. Is it new? */
export async function writeAnomaly(
  language: Language,
  step: Step,
  { org, workspace, metric, value, expected, from, to }: FoundAnomaly,
  now: number,
): Promise<boolean> {
  const name = `${org}:${workspace}:${metric}`;
  const before = await step<{ id: string }>(
    `UPDATE budget_alerts SET ends_at = ?2 WHERE budget_id = ?1 AND event = 'anomaly' AND ends_at >= ?3 RETURNING id`,
    [name, to, from - goesOnMs],
  );
  if (before.length > 0) return false;
  // Two nodes that look at the same time find it in the same minute, and write one row.
  const startsAt = Math.floor(from / minuteMs) * minuteMs;
  const written = await insertAlerts(language, step, [
    [
      ...[uuidv7(now), now, org, workspace, 'anomaly', 0, name, startsAt, 0],
      ...['', 'workspace', workspace, null, metric, to, 0],
      ...[Math.round(expected * millionths), Math.round(value * millionths)],
    ],
  ]);
  return written.length > 0;
}
