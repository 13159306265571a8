import {
  type BudgetHolder,
  type BudgetPeriod,
  type BudgetPeriods,
  periodAt,
} from '../../../common/core/budget-rules.js';
import { daysLater, nextPeriod } from '../../../common/text/calendar.js';
import type { UsageLimits } from './usage-limits.js';

type Periods = Pick<UsageLimits, 'periodicReset' | 'periodicResetDays' | 'nextUsageResetAt' | 'lastResetAt'>;

/** A budget and what it is set on. */
export interface SetBudget {
  readonly of: BudgetHolder;
  /** As `budgetName` takes it. */
  readonly id: string;
  readonly limits: UsageLimits;
  /** When what it is set on was created. Unix milliseconds. */
  readonly createdAt: number;
}

/** Of an integration in a workspace. Ids in names of budgets have no slash. */
export const lentBudgetId = (integrationId: string, workspaceId: string): string =>
  `${integrationId}:${workspaceId}`;

/** When usage starts again by itself, Unix milliseconds; null: never. */
export function nextResetOf(
  { periodicReset, periodicResetDays }: Pick<Periods, 'periodicReset' | 'periodicResetDays'>,
  now: number,
): number | null {
  if (periodicReset !== null) return nextPeriod(periodicReset, now);
  return periodicResetDays === null ? null : daysLater(periodicResetDays, now);
}

/** What the periods of a budget are computed from. `createdAt`: of what it is set on. */
export const periodsOf = (limits: Periods, createdAt: number): BudgetPeriods => ({
  since: limits.lastResetAt ?? createdAt,
  nextResetAt: limits.nextUsageResetAt,
  periodicReset: limits.periodicReset,
  periodicResetDays: limits.periodicResetDays,
});

/** The period of a budget at `now`. */
export const currentPeriod = (limits: Periods, createdAt: number, now: number): BudgetPeriod =>
  periodAt(periodsOf(limits, createdAt), now);

/**
 * The budget with the period of `now` as the one from which others are computed: whatever is changed of it then, what was
 * used in this period stays used.
 */
export function broughtTo<L extends Periods>(limits: L, createdAt: number, now: number): L {
  const { startsAt, endsAt } = currentPeriod(limits, createdAt, now);
  if (startsAt === (limits.lastResetAt ?? createdAt)) return limits;
  return { ...limits, lastResetAt: startsAt, nextUsageResetAt: endsAt };
}

/** The budget with a new period from `now` to the end of the one of now: nothing was used in it. */
export function startedAgain<L extends Periods>(limits: L, createdAt: number, now: number): L {
  const current = broughtTo(limits, createdAt, now);
  // A counter is known by the start of its period: no two periods may have the same.
  return { ...current, lastResetAt: Math.max(now, (current.lastResetAt ?? createdAt) + 1) };
}
