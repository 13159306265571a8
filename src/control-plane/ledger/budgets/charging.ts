import { budgetParts } from '../../../common/core/budget-name.js';
import type { ChargedBudget } from '../../../common/ledger/budgets.js';
import type { LedgerBatch } from '../ledger.js';
import { type CounterEvent, writeAlerts } from './alert-rows.js';
import { budgetId, type CounterRow } from './counter-rows.js';
import { type Language, rowsParameter, type Step } from './language.js';

/** How the charges of a row begin, in JSON. They are the last of its `rest`. */
export const chargesMark = Buffer.from('"charges":[[');

/** Has any of its rows charges? Looks for their name in the bytes: most batches have none. */
export const hasCharges = ({ settled, unknown, isCharged }: LedgerBatch): boolean =>
  isCharged !== true &&
  (settled?.packed?.rest.includes(chargesMark) === true ||
    settled?.rows.some(({ charges }) => charges !== null) === true ||
    unknown.some(({ charges }) => charges !== null));

/** A charge, or several that have a budget, a period, a node and an hour in common. Nothing about them is sure. */
export interface ChargeSum {
  readonly org: string;
  /** Of the rows. */
  readonly workspace: string | null;
  readonly budget: unknown;
  readonly starts_at: unknown;
  /** Empty: an earlier version wrote the row. */
  readonly node: string;
  /** Of the rows, since 1970. */
  readonly hour: number;
  /** Below 0 where rows are taken back. */
  readonly amount: unknown;
  /** As the last of the rows has them. */
  readonly ends_at: unknown;
  readonly limit: unknown;
  readonly threshold: unknown;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** The course of shorter periods is kept by the hour, that of others by the day. */
const longestByHour = 8 * dayMs;

/** Where in the course of a period something belongs: the start of an hour or a day (UTC). */
export function courseAt(at: number, startsAt: number, endsAt: number | null): number {
  const width = courseWidth(startsAt, endsAt);
  return Math.floor(Math.max(at, startsAt) / width) * width;
}

export const courseWidth = (startsAt: number, endsAt: number | null): number =>
  endsAt !== null && endsAt - startsAt <= longestByHour ? hourMs : dayMs;

const counterColumns = {
  id: 'text',
  starts_at: 'integer',
  org: 'text',
  workspace: 'text',
  budget: 'text',
  holder: 'text',
  holder_id: 'text',
  value_key: 'text',
  measure: 'text',
  ends_at: 'integer',
  limit: 'integer',
  threshold: 'integer',
  used: 'integer',
} as const;
const counterNames = Object.keys(counterColumns) as (keyof typeof counterColumns)[];
const counterList = counterNames.map((name) => `"${name}"`).join(', ');

type Counter = Pick<CounterRow, keyof typeof counterColumns>;
type Changeable = { -readonly [Name in keyof Counter]: Counter[Name] };

/** What a counter is after its charge. */
type Charged = Pick<
  CounterRow,
  'id' | 'starts_at' | 'used' | 'resets' | 'threshold_alert_of' | 'exhausted_alert_of'
>;

const most = Number.MAX_SAFE_INTEGER;

/** The statements that add charges. Rows are changed in the order of their keys, so that nodes wait for each other without deadlock. */
export function chargeStatements(language: Language) {
  const { rowsOf, least } = language;
  const add = (table: string, last: string, type: 'text' | 'integer'): string =>
    `INSERT INTO ${table} (id, starts_at, ${last}, used)
      SELECT id, starts_at, ${last}, used FROM ${rowsOf('?1', { id: 'text', starts_at: 'integer', [last]: type, used: 'integer' })} AS added
      WHERE true ORDER BY id, starts_at, ${last}
      ON CONFLICT (id, starts_at, ${last}) DO UPDATE SET used = ${least}(${table}.used + excluded.used, ${most})`;
  return {
    counters: `INSERT INTO budget_counters (${counterList}, resets, first_charge_at, updated_at)
      SELECT ${counterList}, 0, CAST(?2 AS bigint), CAST(?2 AS bigint) FROM ${rowsOf('?1', counterColumns)} AS charged
      WHERE true ORDER BY id, starts_at
      ON CONFLICT (id, starts_at) DO UPDATE SET
        used = ${least}(budget_counters.used + excluded.used, ${most}), ends_at = excluded.ends_at,
        "limit" = excluded."limit", threshold = excluded.threshold, updated_at = excluded.updated_at
      RETURNING id, starts_at, used, resets, threshold_alert_of, exhausted_alert_of`,
    byNode: add('budget_node_usage', 'node', 'text'),
    course: add('budget_course', 'at', 'integer'),
    alerted: `UPDATE budget_counters SET
        threshold_alert_of = coalesce(alerted.threshold, threshold_alert_of),
        threshold_alert_at = CASE WHEN alerted.threshold IS NULL THEN threshold_alert_at ELSE CAST(?2 AS bigint) END,
        exhausted_alert_of = coalesce(alerted."limit", exhausted_alert_of),
        exhausted_alert_at = CASE WHEN alerted."limit" IS NULL THEN exhausted_alert_at ELSE CAST(?2 AS bigint) END
      FROM ${rowsOf('?1', { id: 'text', starts_at: 'integer', threshold: 'integer', limit: 'integer' })} AS alerted
      WHERE budget_counters.id = alerted.id AND budget_counters.starts_at = alerted.starts_at`,
  };
}

export type ChargeStatements = ReturnType<typeof chargeStatements>;

/**
 * Adds charges to their counters, and writes an alert where one reaches its threshold or its limit. To be called last in the
 * transaction that changes the rows: other nodes wait for its counters from then on. `now`: Unix milliseconds. What was added
 * to each counter is returned.
 */
export async function charge(
  language: Language,
  statements: ChargeStatements,
  step: Step,
  sums: readonly ChargeSum[],
  now: number,
): Promise<readonly ChargedBudget[]> {
  const added = addedUp(sums);
  if (added.counters.size === 0) return [];
  const parameter = rowsParameter(
    [...added.counters.values()].map((c) => counterNames.map((name) => c[name])),
  );
  const charged = await step<Charged>(statements.counters, [parameter, now]);
  await step(statements.byNode, [rowsParameter([...added.byNode.values()])]);
  await step(statements.course, [rowsParameter([...added.course.values()])]);
  await alert(language, statements, step, charged, added.counters, now);
  return [...added.counters.values()].map(({ budget, starts_at: startsAt, used: amount }) => ({
    budget,
    startsAt,
    amount,
  }));
}

type Addition = [id: string, startsAt: number, part: string | number, used: number];

interface Additions {
  /** By id and start of the period, as are the others with what they have besides. */
  readonly counters: Map<string, Changeable>;
  readonly byNode: Map<string, Addition>;
  readonly course: Map<string, Addition>;
}

function addedUp(sums: readonly ChargeSum[]): Additions {
  const added: Additions = { counters: new Map(), byNode: new Map(), course: new Map() };
  const budgets = new Map<unknown, NamedBudget | null>();
  for (const sum of sums) {
    let budget = budgets.get(sum.budget);
    if (budget === undefined) {
      budget = namedBudget(sum.budget);
      budgets.set(sum.budget, budget);
    }
    // What a disk made up is of no budget.
    if (budget === null || budget.org !== sum.org) continue;
    const { starts_at: startsAt, amount, limit } = sum;
    if (typeof startsAt !== 'number' || typeof amount !== 'number' || typeof limit !== 'number') continue;
    const endsAt = numberOf(sum.ends_at);
    const threshold = numberOf(sum.threshold);
    const { id } = budget;
    const key = `${id} ${startsAt}`;
    const counter = added.counters.get(key);
    if (counter === undefined) {
      added.counters.set(key, {
        ...budget,
        workspace: sum.workspace,
        ...{ starts_at: startsAt, ends_at: endsAt, limit, threshold, used: amount },
      });
    } else {
      counter.used = within(counter.used + amount);
      // They come in the order of their rows.
      Object.assign(counter, { ends_at: endsAt, limit, threshold });
    }
    const at = courseAt(sum.hour * hourMs, startsAt, endsAt);
    addTo(added.byNode, `${key} ${sum.node}`, [id, startsAt, sum.node, amount]);
    addTo(added.course, `${key} ${at}`, [id, startsAt, at, amount]);
  }
  return added;
}

/** What a column of 64 bits takes, and a number has exactly. */
const within = (amount: number): number => Math.max(-most, Math.min(most, amount));

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

type NamedBudget = Pick<
  CounterRow,
  'id' | 'org' | 'budget' | 'holder' | 'holder_id' | 'value_key' | 'measure'
>;

function namedBudget(budget: unknown): NamedBudget | null {
  const parts = typeof budget === 'string' ? budgetParts(budget) : null;
  if (typeof budget !== 'string' || parts === null) return null;
  const { organisationId: org, of: holder, id: holderId, valueKey, measure } = parts;
  return { id: budgetId(budget), org, budget, holder, holder_id: holderId, value_key: valueKey, measure };
}

function addTo(all: Map<string, Addition>, key: string, addition: Addition): void {
  const known = all.get(key);
  if (known === undefined) all.set(key, addition);
  else known[3] = within(known[3] + addition[3]);
}

async function alert(
  language: Language,
  statements: ChargeStatements,
  step: Step,
  charged: readonly Charged[],
  counters: ReadonlyMap<string, Counter>,
  now: number,
): Promise<void> {
  const events: CounterEvent[] = [];
  const alerted: unknown[][] = [];
  for (const after of charged) {
    const counter = counters.get(`${after.id} ${after.starts_at}`);
    if (counter === undefined) continue;
    const { limit, threshold } = counter;
    const isThreshold =
      threshold !== null && after.used >= threshold && after.threshold_alert_of !== threshold;
    const isExhausted = after.used >= limit && after.exhausted_alert_of !== limit;
    if (!isThreshold && !isExhausted) continue;
    const row = { ...counter, ...after } as CounterRow;
    if (isThreshold) events.push({ event: 'threshold', value: threshold, counter: row });
    if (isExhausted) events.push({ event: 'exhausted', value: limit, counter: row });
    alerted.push([after.id, after.starts_at, isThreshold ? threshold : null, isExhausted ? limit : null]);
  }
  if (events.length === 0) return;
  await writeAlerts(language, step, events, now);
  await step(statements.alerted, [rowsParameter(alerted), now]);
}
