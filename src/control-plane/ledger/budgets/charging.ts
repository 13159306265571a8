import type { ChargedBudget } from '../../../common/ledger/budgets.js';
import type { LedgerBatch } from '../ledger.js';
import { type CounterEvent, writeAlerts } from './alert-rows.js';
import type { CounterRow } from './counter-rows.js';
import { type KnownBudget, type KnownBudgets, markWritten } from './known-budgets.js';
import { type Language, rowsParameter, type Step } from './language.js';
import { columnTypes } from './tables.js';

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

/** What changes in a counter: a row that is there already is given no more than that. */
const changingColumns = columnTypes('budget_counters', ['id', 'starts_at', 'used', 'limit', 'threshold']);
const counterColumns = {
  ...changingColumns,
  ...columnTypes('budget_counters', ['ends_at', 'org', 'workspace', 'budget']),
  ...columnTypes('budget_counters', ['holder', 'holder_id', 'value_key', 'measure']),
};
const counterNames = Object.keys(counterColumns) as (keyof typeof counterColumns)[];
const changingCount = Object.keys(changingColumns).length;
const listOf = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');
const given = counterNames.slice(0, changingCount).map((name) => `given."${name}"`);
const kept = counterNames.slice(changingCount).map((name) => `coalesce(given."${name}", present."${name}")`);

/** Has the counter reached what there is no alert of yet? As `alert` finds out below. */
const isReached = `(threshold IS NOT NULL AND used >= threshold
    AND NOT (threshold_alert_of IS NOT NULL AND threshold_alert_of = threshold AND "limit" <= coalesce(threshold_alert_limit, 0)))
  OR (used >= "limit" AND (exhausted_alert_of IS NULL OR exhausted_alert_of <> "limit"))`;

type Counter = Pick<CounterRow, keyof typeof counterColumns>;

const chargedNames = [
  ...(['id', 'starts_at', 'used', 'resets'] as const),
  ...(['threshold_alert_of', 'threshold_alert_limit', 'exhausted_alert_of'] as const),
] as const;

/** What a counter is after its charge. */
type Charged = Pick<CounterRow, (typeof chargedNames)[number]>;

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
    // Of SQLite alone, where no other node waits for a row: its index by the end is left as it is.
    written: `UPDATE budget_counters SET used = ${least}(budget_counters.used + given.used, ${most}),
        "limit" = given."limit", threshold = given.threshold, updated_at = CAST(?2 AS bigint)
      FROM ${rowsOf('?1', changingColumns)} AS given
      WHERE budget_counters.id = given.id AND budget_counters.starts_at = given.starts_at
      RETURNING CASE WHEN ${isReached} THEN id END AS reached`,
    present: `SELECT ${listOf([...chargedNames])} FROM ${rowsOf('?1', { id: 'text', starts_at: 'integer' })} AS asked
      JOIN budget_counters USING (id, starts_at)`,
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

  constructor(readonly known: KnownBudgets) {}

  /** `charge`: as the journal has it, nothing about it is sure; `sign`: -1 where it is taken back. In the order of the rows. */
  add(place: ChargePlace, charge: unknown, sign: 1 | -1): void {
    if (!Array.isArray(charge) || typeof charge[0] !== 'string') return;
    const startsAt = whole(charge[1]);
    const limit = whole(charge[3]);
    const amount = whole(charge[5]);
    if (startsAt === null || limit === null || amount === null) return;
    let budget = this.#budgets.get(charge[0]);
    if (budget === undefined) {
      const known = this.known.get(charge[0]);
      budget = known === null ? null : { known, periods: new Map() };
      this.#budgets.set(charge[0], budget);
    }
    // What a disk made up is of no budget.
    if (budget === null || budget.known.name.org !== place.org) return;
    let counter = budget.periods.get(startsAt);
    if (counter === undefined) {
      counter = new SummedCounter(budget.known, startsAt, place.workspace);
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
  readonly known: KnownBudget;
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
    readonly known: KnownBudget,
    readonly startsAt: number,
    readonly workspace: string | null,
  ) {}

  get row(): Counter {
    const { known, workspace, startsAt, endsAt, limit, threshold, used } = this;
    return { ...known.name, workspace, starts_at: startsAt, ends_at: endsAt, limit, threshold, used };
  }

  get key(): string {
    return `${this.known.name.id} ${this.startsAt}`;
  }

  get isWritten(): boolean {
    return this.known.written.get(this.startsAt) === this.endsAt;
  }

  /** In the order of the columns. */
  values(isWhole: boolean): unknown[] {
    const { known, startsAt, used, limit, threshold } = this;
    const changing = [known.name.id, startsAt, used, limit, threshold];
    if (!isWhole) return changing;
    const { row } = this;
    return [...changing, ...counterNames.slice(changingCount).map((name) => row[name])];
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
  const add = async (
    statement: string,
    rows: readonly (readonly unknown[])[],
  ): Promise<{ reached: string | null }[]> =>
    rows.length === 0 ? [] : step(statement, [rowsParameter(rows), now]);
  const wholeOf = (some: readonly SummedCounter[]): unknown[][] =>
    some.map((counter) => counter.values(true));
  let added: { reached: string | null }[];
  if (language.isExclusive) {
    const written = counters.filter(({ isWritten }) => isWritten);
    added = await add(
      statements.written,
      written.map((counter) => counter.values(false)),
    );
    const others = counters.filter(({ isWritten }) => !isWritten);
    added.push(...(await add(statements.counters, wholeOf(others))));
  } else {
    added = await add(
      statements.counters,
      counters.map((counter) => counter.values(!counter.isWritten)),
    );
  }
  if (added.length < counters.length) {
    // Of rows that were taken back with their transaction, or forgotten long after their period.
    const present = new Set((await presentOf(statements, step, counters)).map(keyOf));
    added.push(...(await add(statements.counters, wholeOf(counters.filter(({ key }) => !present.has(key))))));
  }
  const parts = (of: (counter: SummedCounter) => ReadonlyMap<unknown, number>): string =>
    rowsParameter(
      counters.flatMap((counter) =>
        Array.from(of(counter), ([part, used]) => [counter.known.name.id, counter.startsAt, part, used]),
      ),
    );
  await step(statements.byNode, [parts(({ byNode }) => byNode)]);
  await step(statements.course, [parts(({ course }) => course)]);
  const ids = new Set(added.map(({ reached }) => reached));
  const reached = counters.filter(({ known }) => ids.has(known.name.id));
  if (reached.length > 0) {
    const charged = await presentOf(statements, step, reached);
    const byKey = new Map(reached.map((counter) => [counter.key, counter.row]));
    await alert(language, statements, step, charged, byKey, now);
  }
  return counters.map(({ known, startsAt, endsAt, used: amount }) => {
    markWritten(known, startsAt, endsAt);
    return { budget: known.name.budget, startsAt, amount };
  });
}

const keyOf = ({ id, starts_at }: Pick<CounterRow, 'id' | 'starts_at'>): string => `${id} ${starts_at}`;

const presentOf = (
  statements: ChargeStatements,
  step: Step,
  counters: readonly SummedCounter[],
): Promise<Charged[]> =>
  step(statements.present, [rowsParameter(counters.map(({ known, startsAt }) => [known.name.id, startsAt]))]);

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
    const counter = counters.get(keyOf(after));
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
