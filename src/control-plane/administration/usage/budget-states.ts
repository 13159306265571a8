import { budgetName, fromUnits, toUnits } from '../../../common/core/budget-rules.js';
import type {
  BudgetCounter,
  BudgetUsageRow,
  CounterCourse,
  LedgerBudgets,
} from '../../../common/ledger/budgets.js';
import { currentPeriod, type SetBudget } from '../../store/records/budget-periods.js';
import type { UsageLimits } from '../../store/records/usage-limits.js';
import { forecastOf, recentSince } from './forecast.js';

/** A budget that may be there, and what it is set on. */
export type Budgeted = Omit<SetBudget, 'limits'> & { readonly limits: UsageLimits | null };

/** Is there one? */
export const isSet = (budget: Budgeted): budget is SetBudget => budget.limits !== null;

/** The state of a counter. Amounts as administrators set them, times in Unix milliseconds. */
export interface CounterState {
  readonly currentUsage: number;
  readonly isExhausted: boolean;
  readonly isThresholdAlertsSent: boolean;
  readonly isExhaustedAlertsSent: boolean;
  /** As in `Forecast`; null also where nothing was used. Of one that is used up: what was used, and since when. */
  readonly projectedUsage: number | null;
  readonly projectedExhaustedAt: number | null;
}

/** The state of a budget in the period of now. */
export interface BudgetState extends CounterState {
  /** When the period began; null: when what the budget is set on was created. */
  readonly lastResetAt: number | null;
  /** null: it never ends. */
  readonly nextResetAt: number | null;
}

/** A counter that is looked for. */
interface Looked extends BudgetCounter {
  readonly endsAt: number | null;
}

type Terms = Pick<UsageLimits, 'type' | 'creditLimit' | 'alertThreshold' | 'shadow'>;

const keyOf = ({ budget, startsAt }: BudgetCounter): string => `${startsAt} ${budget}`;

/** Of all the keys of an organisation, so many budgets are looked at in one turn of the event loop. */
const atOnce = 500;

/** What was used of budgets: the ledger's sums, in the light of the limits that hold now. */
export class BudgetStates {
  /** `answered`: as in the parts of the administration. */
  constructor(
    readonly ledger: LedgerBudgets,
    readonly answered?: () => Promise<void>,
  ) {}

  /** In the order of `budgets`: two questions to the ledger, however many these are. */
  async of(org: string, budgets: readonly SetBudget[], now: number): Promise<BudgetState[]> {
    const counters = budgets.map((budget) => counterOf(org, budget, now));
    const rows = await this.#rows(org, counters);
    const courses = await this.#courses(org, [...rows.values()], now);
    return budgets.map(({ limits, createdAt }, i) => {
      const counter = counters[i]!;
      const lastResetAt = counter.startsAt === createdAt ? null : counter.startsAt;
      const key = keyOf(counter);
      return {
        ...stateOf(limits, counter.endsAt, rows.get(key) ?? null, courses.get(key), now),
        lastResetAt,
        nextResetAt: counter.endsAt,
      };
    });
  }

  /** The same for things that may have a budget; null: there is none. */
  async ofAll(org: string, held: readonly Budgeted[], now: number): Promise<(BudgetState | null)[]> {
    const found = await this.of(org, held.filter(isSet), now);
    let next = 0;
    return held.map((one) => (isSet(one) ? found[next++]! : null));
  }

  /** A budget was set back by hand: its period that ended is reported. */
  async ended(org: string, { of, id, limits }: Budgeted, at: number): Promise<void> {
    if (limits !== null) await this.ledger.ended(org, budgetName(org, of, id, limits.type), at);
  }

  /** The budgets that are used up. */
  async exhausted(org: string, budgets: readonly SetBudget[], now: number): Promise<readonly SetBudget[]> {
    const found: SetBudget[] = [];
    for (let from = 0; from < budgets.length; from += atOnce) {
      const some = budgets.slice(from, from + atOnce);
      const counters = some.map((budget) => counterOf(org, budget, now));
      const rows = await this.#rows(org, counters);
      for (const [i, budget] of some.entries())
        if (isUsedUp(budget.limits, rows.get(keyOf(counters[i]!)) ?? null)) found.push(budget);
    }
    return found;
  }

  /** Was anything used of one of these in the period of now? By requests that were answered just now, too. */
  async isUsed(org: string, budgets: readonly SetBudget[], now: number): Promise<boolean> {
    await this.answered?.();
    const rows = await this.#rows(
      org,
      budgets.map((budget) => counterOf(org, budget, now)),
    );
    return [...rows.values()].some(({ used }) => used > 0);
  }

  async #rows(org: string, counters: readonly BudgetCounter[]): Promise<Map<string, BudgetUsageRow>> {
    if (counters.length === 0) return new Map();
    const rows = await this.ledger.usage(org, counters);
    return new Map(rows.map((row) => [keyOf(row), row]));
  }

  /** The courses of those of which something was used, as far as forecasts need them. */
  async #courses(
    org: string,
    rows: readonly BudgetUsageRow[],
    now: number,
  ): Promise<Map<string, CounterCourse>> {
    const asked = rows
      .filter(({ used }) => used > 0)
      .map((row) => ({ budget: row.budget, startsAt: row.startsAt, since: recentSince(row, now) }));
    const courses = asked.length === 0 ? [] : await this.ledger.courses(org, asked);
    return new Map(courses.map((course) => [keyOf(course), course]));
  }

  /** The states of counters that the ledger has listed, under the limits that hold now. */
  async ofRows(
    org: string,
    limits: Terms,
    rows: readonly BudgetUsageRow[],
    now: number,
  ): Promise<(CounterState & { readonly row: BudgetUsageRow })[]> {
    const courses = await this.#courses(org, rows, now);
    return rows.map((row) => ({ row, ...stateOf(limits, row.endsAt, row, courses.get(keyOf(row)), now) }));
  }
}

function counterOf(org: string, { of, id, limits, createdAt }: SetBudget, now: number): Looked {
  const { startsAt, endsAt } = currentPeriod(limits, createdAt, now);
  return { budget: budgetName(org, of, id, limits.type), startsAt, endsAt };
}

const isUsedUp = ({ type, creditLimit }: Terms, row: BudgetUsageRow | null): boolean =>
  row !== null && row.used >= toUnits(type, creditLimit);

/** `endsAt`: of the period, as it is set now. `row` null: nothing was used. */
function stateOf(
  limits: Terms,
  endsAt: number | null,
  row: BudgetUsageRow | null,
  course: CounterCourse | undefined,
  now: number,
): CounterState {
  if (row === null) return { ...untouched, projectedUsage: endsAt === null ? null : 0 };
  const { type, creditLimit, alertThreshold } = limits;
  const limit = toUnits(type, creditLimit);
  const isExhausted = isUsedUp(limits, row);
  // What is used up lets nothing more through, unless it only counts.
  const isOver = isExhausted && limits.shadow !== true;
  const forecast =
    isOver || course === undefined ? null : forecastOf({ ...row, ...course, limit, endsAt }, now);
  const usage = isOver ? row.used : (forecast?.usage ?? null);
  return {
    currentUsage: fromUnits(type, row.used),
    isExhausted,
    // Each alert is for one threshold or limit: that of another threshold or a higher limit is still to come.
    isThresholdAlertsSent:
      alertThreshold !== null &&
      row.thresholdAlertOf === toUnits(type, alertThreshold) &&
      limit <= (row.thresholdAlertLimit ?? 0),
    isExhaustedAlertsSent: row.exhaustedAlertOf === limit,
    projectedUsage: usage === null ? null : fromUnits(type, usage),
    projectedExhaustedAt: isExhausted
      ? (row.exhaustedAlertAt ?? row.updatedAt)
      : (forecast?.exhaustedAt ?? null),
  };
}

const untouched: CounterState = {
  currentUsage: 0,
  isExhausted: false,
  isThresholdAlertsSent: false,
  isExhaustedAlertsSent: false,
  projectedUsage: null,
  projectedExhaustedAt: null,
};
