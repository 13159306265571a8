import type { BudgetHolder, BudgetMeasure } from '../core/budget-rules.js';

export const alertEvents = ['threshold', 'exhausted', 'reset'] as const;
export type AlertEvent = (typeof alertEvents)[number];

/**
 * How far an alert is on its way to the webhook. `none`: no webhook was set when it was written; `failed`: not
 * accepted within a day.
 */
export const deliveries = ['none', 'pending', 'sent', 'failed'] as const;
export type Delivery = (typeof deliveries)[number];

/** Something happened to a budget. Written in the transaction of the charge that caused it. */
export interface BudgetAlert {
  /** Time-ordered UUID. */
  readonly id: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly org: string;
  /** Of the requests that were charged; null: their keys are of no workspace. */
  readonly workspace: string | null;
  readonly event: AlertEvent;
  readonly budget: string;
  /** `BudgetUsageRow.id`. */
  readonly budgetId: string;
  readonly holder: BudgetHolder;
  readonly holderId: string;
  readonly valueKey: string | null;
  readonly measure: BudgetMeasure;
  /** Amounts are in the unit of the budget: nanodollars, tokens or requests. Of a reset: used before it. */
  readonly used: number;
  readonly limit: number;
  readonly threshold: number | null;
  /** Of the period. */
  readonly startsAt: number;
  readonly endsAt: number | null;
}

/** What the records have on the holder of a budget, filled in after the alert was written. */
export interface AlertAddressees {
  /** Name of the holder; null: it has none, or is deleted. */
  readonly name: string | null;
  /** E-mail addresses. */
  readonly recipients: readonly string[];
}

export interface SentAlert extends BudgetAlert, AlertAddressees {
  readonly delivery: Delivery;
  /** Calls of the webhook so far. */
  readonly tries: number;
  /** Unix milliseconds; null: not sent yet. */
  readonly sentAt: number | null;
}

export interface AlertFilter {
  readonly event?: AlertEvent;
  readonly holder?: BudgetHolder;
  readonly holderId?: string;
  readonly workspace?: string;
  /** Alerts of these gateway keys alone. */
  readonly keys?: readonly string[];
  /** Unix milliseconds; alerts at that time and later. */
  readonly since?: number;
}

/** The outcome of a call of the webhook. */
export type SendOutcome =
  | { readonly is: 'sent'; readonly at: number }
  | { readonly is: 'retry'; readonly notBefore: number }
  | { readonly is: 'failed' };

/** Alerts of budgets. Rejects as `LedgerBudgets` does. */
export interface LedgerAlerts {
  /** Newest first; only those whose addressees are filled in. `total`: on all pages. */
  list(
    org: string,
    filter: AlertFilter,
    page: { readonly offset: number; readonly limit: number },
  ): Promise<{ readonly alerts: readonly SentAlert[]; readonly total: number }>;
  /** Writes the alerts `reset` of periods that have ended by `now`; returns how many periods they were. */
  closePeriods(now: number): Promise<number>;
  /** Deletes what is kept long enough: counters of periods and alerts after 400 days, courses after 92. */
  prune(now: number): Promise<void>;
  /** The oldest alerts of all organisations whose addressees are not filled in yet. */
  unaddressed(limit: number): Promise<readonly BudgetAlert[]>;
  /** `isSent`: is there a webhook to send it to? */
  address(id: string, addressees: AlertAddressees, isSent: boolean): Promise<void>;
  /** Alerts that are due at `now`; no other caller gets them before `until`. */
  claim(now: number, until: number, limit: number): Promise<readonly SentAlert[]>;
  /** Of a claimed alert. */
  settle(id: string, outcome: SendOutcome): Promise<void>;
}
