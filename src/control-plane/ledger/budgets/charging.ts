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

/** What the row of a charge has. */
export interface ChargePlace {
  readonly org: string;
  readonly workspace: string | null;
  /** Empty: an earlier version wrote the row. */
  readonly node: string;
  /** Since 1970. */
  readonly hour: number;
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

/** What a counter is after its charge. */
type Charged = Pick<
  CounterRow,
  | 'id'
  | 'starts_at'
  | 'used'
  | 'resets'
  | 'threshold_alert_of'
  | 'threshold_alert_limit'
  | 'exhausted_alert_of'
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
      RETURNING id, starts_at, used, resets, threshold_alert_of, threshold_alert_limit, exhausted_alert_of`,
    byNode: add('budget_node_usage', 'node', 'text'),
    course: add('budget_course', 'at', 'integer'),
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

export type ChargeStatements = ReturnType<typeof chargeStatements>;

/** The charges of a batch, added up by counter. */
export class ChargeSums {
  readonly #budgets = new Map<string, SummedBudget | null>();
  readonly counters: SummedCounter[] = [];

  /** `charge`: as the journal has it, nothing about it is sure; `sign`: -1 where it is taken back. In the order of the rows. */
  add(place: ChargePlace, charge: unknown, sign: 1 | -1): void {
    if (!Array.isArray(charge) || typeof charge[0] !== 'string') return;
    const startsAt = whole(charge[1]);
    const limit = whole(charge[3]);
    const amount = whole(charge[5]);
    if (startsAt === null || limit === null || amount === null) return;
    let budget = this.#budgets.get(charge[0]);
    if (budget === undefined) {
      budget = namedBudget(charge[0]);
      this.#budgets.set(charge[0], budget);
    }
    // What a disk made up is of no budget.
    if (budget === null || budget.name.org !== place.org) return;
    let counter = budget.periods.get(startsAt);
    if (counter === undefined) {
      counter = new SummedCounter(budget.name, startsAt, place.workspace);
      budget.periods.set(startsAt, counter);
      this.counters.push(counter);
    }
    counter.endsAt = whole(charge[2]);
    counter.limit = limit;
    counter.threshold = whole(charge[4]);
    counter.used = within(counter.used + sign * amount);
    addTo(counter.byNode, place.node, sign * amount);
    addTo(counter.byHour, place.hour, sign * amount);
  }
}

interface SummedBudget {
  readonly name: NamedBudget;
  readonly periods: Map<number, SummedCounter>;
}

class SummedCounter {
  used = 0;
  endsAt: number | null = null;
  limit = 0;
  threshold: number | null = null;
  readonly byNode = new Map<string, number>();
  readonly byHour = new Map<number, number>();

  constructor(
    readonly name: NamedBudget,
    readonly startsAt: number,
    readonly workspace: string | null,
  ) {}

  get row(): Counter {
    const { name, workspace, startsAt, endsAt, limit, threshold, used } = this;
    return { ...name, workspace, starts_at: startsAt, ends_at: endsAt, limit, threshold, used };
  }

  get course(): Map<number, number> {
    const course = new Map<number, number>();
    for (const [hour, used] of this.byHour)
      addTo(course, courseAt(hour * hourMs, this.startsAt, this.endsAt), used);
    return course;
  }
}

function addTo<Key>(sums: Map<Key, number>, key: Key, amount: number): void {
  sums.set(key, within((sums.get(key) ?? 0) + amount));
}

/** What a column of 64 bits takes, and a number has exactly. */
const within = (amount: number): number => Math.max(-most, Math.min(most, amount));

/** null: this is no number. */
const whole = (value: unknown): number | null =>
  typeof value === 'number' ? within(Number.isInteger(value) ? value : Math.round(value)) : null;

type NamedBudget = Pick<
  CounterRow,
  'id' | 'org' | 'budget' | 'holder' | 'holder_id' | 'value_key' | 'measure'
>;

/** null: this is no name of a budget. */
function namedBudget(budget: string): SummedBudget | null {
  const parts = budgetParts(budget);
  if (parts === null) return null;
  const { organisationId: org, of: holder, id: holderId, valueKey, measure } = parts;
  const name = {
    id: budgetId(budget),
    org,
    budget,
    holder,
    holder_id: holderId,
    value_key: valueKey,
    measure,
  };
  return { name, periods: new Map() };
}

/**
 * Adds charges to their counters, and writes an alert where one reaches its threshold or its limit. To be called last in the
 * transaction that changes the rows: other nodes wait for its counters from then on. `now`: Unix milliseconds. What was added
 * to each counter is returned.
 */
export async function charge(
  language: Language,
  statements: ChargeStatements,
  step: Step,
  { counters }: ChargeSums,
  now: number,
): Promise<readonly ChargedBudget[]> {
  if (counters.length === 0) return [];
  const rows = counters.map(({ row }) => row);
  const parameter = rowsParameter(rows.map((row) => counterNames.map((name) => row[name])));
  const charged = await step<Charged>(statements.counters, [parameter, now]);
  const parts = (of: (counter: SummedCounter) => ReadonlyMap<unknown, number>): string =>
    rowsParameter(
      counters.flatMap((counter) =>
        Array.from(of(counter), ([part, used]) => [counter.name.id, counter.startsAt, part, used]),
      ),
    );
  await step(statements.byNode, [parts(({ byNode }) => byNode)]);
  await step(statements.course, [parts(({ course }) => course)]);
  const byKey = new Map(rows.map((row) => [`${row.id} ${row.starts_at}`, row]));
  await alert(language, statements, step, charged, byKey, now);
  return rows.map(({ budget, starts_at: startsAt, used: amount }) => ({ budget, startsAt, amount }));
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
    const isAlerted = after.threshold_alert_of === threshold && limit <= (after.threshold_alert_limit ?? 0);
    const isThreshold = threshold !== null && after.used >= threshold && !isAlerted;
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
