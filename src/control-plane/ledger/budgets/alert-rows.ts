import type { AlertEvent, BudgetAlert, Delivery, SentAlert } from '../../../common/ledger/alerts.js';
import { uuidv7 } from '../../../common/text/id.js';
import type { CounterRow } from './counter-rows.js';
import { type Language, rowsParameter, type Step } from './language.js';
import { columnTypes } from './tables.js';

/** A row of `budget_alerts`. */
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
  readonly measure: BudgetAlert['measure'];
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

export const alertOf = (row: AlertRow): BudgetAlert => ({
  id: row.id,
  at: row.at,
  org: row.org,
  workspace: row.workspace,
  event: row.event,
  budget: row.budget,
  budgetId: row.budget_id,
  holder: row.holder,
  holderId: row.holder_id,
  valueKey: row.value_key,
  measure: row.measure,
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
  readonly event: AlertEvent;
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
  const rows = events.map(({ event, value, counter: c }, i) => [
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
  await step(
    `INSERT INTO budget_alerts (${columns}, delivery, tries)
      SELECT ${columns}, 'none', 0 FROM ${language.rowsOf('?1', given)} AS written WHERE true
      ORDER BY budget_id, starts_at, event
      ON CONFLICT (budget_id, starts_at, resets, event, value, "limit") DO NOTHING`,
    [rowsParameter(rows)],
  );
}
