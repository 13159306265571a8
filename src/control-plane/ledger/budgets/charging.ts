import type { ChargedBudget } from '../../../common/ledger/budgets.js';
import type { LedgerBatch } from '../ledger.js';
import { type CounterEvent, writeAlerts } from './alert-rows.js';
import type { Charged, ChargedCounter, ChargeParameters, ChargeStatements } from './charge-statements.js';
import type { ChargeSums, SummedCounter } from './charge-sums.js';
import type { CounterRow } from './counter-rows.js';
import { markWritten } from './known-budgets.js';
import { type Language, rowsParameter, type Step } from './language.js';

/** How the charges of a row begin, in JSON. They are the last of its `rest`, but for its steps. */
export const chargesMark = Buffer.from('"charges":[[');

/** Has any of its rows charges? Looks for their name in the bytes: most batches have none. */
export const hasCharges = ({ settled, unknown, isCharged }: LedgerBatch): boolean =>
  isCharged !== true &&
  (settled?.packed?.rest.includes(chargesMark) === true ||
    settled?.rows.some(({ charges }) => charges !== null) === true ||
    unknown.some(({ charges }) => charges !== null));

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
  await step(statements.byNode, [byNodeOf(counters)]);
  await step(statements.course, [courseOf(counters)]);
  const ids = new Set(added.map(({ reached }) => reached));
  const reached = counters.filter(({ known }) => ids.has(known.name.id));
  if (reached.length > 0) {
    const charged = await presentOf(statements, step, reached);
    const byKey = new Map(reached.map((counter) => [counter.key, counter.row]));
    await alert(language, statements, step, charged, byKey, now);
  }
  for (const { known, startsAt, endsAt } of counters) markWritten(known, startsAt, endsAt);
  return counters.map(chargedBudget);
}

const chargedBudget = ({ known, startsAt, used: amount }: SummedCounter): ChargedBudget => ({
  budget: known.name.budget,
  startsAt,
  amount,
});

const partsOf = (
  counters: readonly SummedCounter[],
  of: (counter: SummedCounter) => ReadonlyMap<unknown, number>,
): string =>
  rowsParameter(
    counters.flatMap((counter) =>
      Array.from(of(counter), ([part, used]) => [counter.known.name.id, counter.startsAt, part, used]),
    ),
  );
const byNodeOf = (counters: readonly SummedCounter[]): string => partsOf(counters, ({ byNode }) => byNode);
const courseOf = (counters: readonly SummedCounter[]): string => partsOf(counters, ({ course }) => course);

/** What is added to each counter, and what `chargeSteps` takes for that; null: not the rows of all of them are likely to be there. */
export function writtenCharges(
  { counters }: ChargeSums,
  now: number,
): { readonly charged: readonly ChargedBudget[]; readonly parameters: ChargeParameters<unknown> } | null {
  if (counters.length === 0 || !counters.every(({ isWritten }) => isWritten)) return null;
  return {
    charged: counters.map(chargedBudget),
    parameters: {
      counters: rowsParameter(counters.map((counter) => counter.values(false))),
      count: counters.length,
      byNode: byNodeOf(counters),
      course: courseOf(counters),
      now,
    },
  };
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
  counters: ReadonlyMap<string, ChargedCounter>,
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
