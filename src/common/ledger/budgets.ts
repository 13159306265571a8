import type { BudgetHolder, BudgetMeasure } from '../core/budget-rules.js';
import type { BudgetCounter, CounterSums } from '../core/charges.js';

export { type BudgetCounter, type ChargedBudget, type CounterSums, resetsNode } from '../core/charges.js';

/** Amounts below are in the unit of the budget: nanodollars, tokens or requests. What was used of a budget in one period. */
export interface BudgetUsageRow extends BudgetCounter {
  /** A UUID that the budget has in each of its periods. */
  readonly id: string;
  /** null: the period never ends. */
  readonly endsAt: number | null;
  readonly holder: BudgetHolder;
  readonly holderId: string;
  /** Of a policy, the values of its groups. */
  readonly valueKey: string | null;
  readonly measure: BudgetMeasure;
  /** As they were when the last charge was made. */
  readonly limit: number;
  readonly threshold: number | null;
  readonly used: number;
  /** When the last alert was written, and the threshold or limit that it was for; null: none since the last reset. */
  readonly thresholdAlertAt: number | null;
  readonly thresholdAlertOf: number | null;
  /** The limit when the threshold's alert was written: a higher one brings the alert back. */
  readonly thresholdAlertLimit: number | null;
  readonly exhaustedAlertAt: number | null;
  readonly exhaustedAlertOf: number | null;
  readonly firstChargeAt: number;
  readonly updatedAt: number;
  /** When `reset` was last called; null: never in this period. */
  readonly resetAt: number | null;
}

/** Which of a policy's budgets. */
export interface PolicyBudgetsFilter {
  /** Exhausted: `used` has reached `limit`. Both or neither. */
  readonly status?: { readonly is: 'active' | 'exhausted'; readonly limit: number };
  /** A part of the value key, in any case. */
  readonly search?: string;
}

export interface BudgetPage {
  readonly offset: number;
  readonly limit: number;
}

/** Usage up to a time within a period. */
export interface CoursePoint {
  /** Unix milliseconds: the end of an hour or of a day. */
  readonly at: number;
  /** All that was used from the start of the period up to then. */
  readonly used: number;
}

/** A counter and the time from which its course is asked for. */
export interface AskedCourse extends BudgetCounter {
  /** Unix milliseconds. */
  readonly since: number;
}

/** How a counter came to what was used of it. */
export interface CounterCourse extends BudgetCounter {
  /** What was used before the first of the points. */
  readonly before: number;
  /**
   * In the order of time: one for each hour (periods of at most 8 days) or day (UTC) in which something was used, from a day before
   * `since` on at the latest.
   */
  readonly points: readonly CoursePoint[];
}

/**
 * What requests used of budgets, as the ledger has it: true once their journal lines were ingested. Tenant first. Each
 * method rejects with the coded error `store_unavailable` where the database does not answer.
 */
export interface LedgerBudgets {
  /** Of counters that have no charge, none. */
  sums(org: string, counters: readonly BudgetCounter[]): Promise<readonly CounterSums[]>;
  /** Of counters that have no charge, none. */
  usage(org: string, counters: readonly BudgetCounter[]): Promise<readonly BudgetUsageRow[]>;
  /** Budgets of a policy that have a charge in this period, by value key; `total`: on all pages. */
  ofPolicy(
    org: string,
    policyId: string,
    startsAt: number,
    filter: PolicyBudgetsFilter,
    page: BudgetPage,
  ): Promise<{ readonly rows: readonly BudgetUsageRow[]; readonly total: number }>;
  /** The counter of a policy's budget with this id in this period; null: there is none. */
  find(org: string, policyId: string, startsAt: number, id: string): Promise<BudgetUsageRow | null>;
  /**
   * Sets a counter to 0, in its period: its alerts go out again, and an alert `reset` is written. `at`: Unix
   * milliseconds. 'missing': it has no charge.
   */
  reset(org: string, counter: BudgetCounter, at: number): Promise<'missing' | undefined>;
  /** Calls the listener after each reset of a counter by this object. */
  onReset(listener: (org: string, counter: BudgetCounter) => Promise<void>): void;
  /**
   * Its period has ended by hand at `at`, and a new one began: an alert `reset` is written for each of the budget's
   * periods that has a charge, began before, and had none yet. Usage stays as it is.
   */
  ended(org: string, budget: string, at: number): Promise<void>;
  /** Of counters that have no charge, none. */
  courses(org: string, asked: readonly AskedCourse[]): Promise<readonly CounterCourse[]>;
}
