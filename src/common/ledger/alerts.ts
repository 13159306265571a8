import type { BudgetHolder, BudgetMeasure } from '../core/budget-rules.js';
import type { LogSight } from './logs/log-sight.js';

export const budgetEvents = ['threshold', 'exhausted', 'reset'] as const;
export type BudgetEvent = (typeof budgetEvents)[number];
export const alertEvents = [...budgetEvents, 'anomaly'] as const;
export type AlertEvent = (typeof alertEvents)[number];

/** What is compared with the same hours of past weeks. */
export const anomalyMetrics = ['cost', 'errors', 'latency', 'traffic'] as const;
export type AnomalyMetric = (typeof anomalyMetrics)[number];

/**
 * How far an alert is on its way to the webhook. `none`: no webhook was set when it was written; `failed`: not
 * accepted within a day.
 */
export const deliveries = ['none', 'pending', 'sent', 'failed'] as const;
export type Delivery = (typeof deliveries)[number];

/** What all alerts have. */
interface AnyAlert {
  /** Time-ordered UUID. */
  readonly id: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly org: string;
  /** Of the requests that it is about; null: their keys are of no workspace. */
  readonly workspace: string | null;
}

/** Something happened to a budget. Written in the transaction of the charge that caused it. */
export interface BudgetAlert extends AnyAlert {
  readonly event: BudgetEvent;
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

/** A figure of a workspace that differs from the same hours of past weeks. Times are Unix milliseconds. */
export interface FoundAnomaly {
  readonly org: string;
  readonly workspace: string;
  readonly metric: AnomalyMetric;
  /** Cents in five minutes, percent, milliseconds or requests in five minutes. */
  readonly value: number;
  /** The median of the same hours of past weeks. */
  readonly expected: number;
  /** The five minutes that differ. */
  readonly from: number;
  readonly to: number;
}

/** An anomaly that was found. It is written once, and `to` moves on for as long as the figure differs. */
export interface AnomalyAlert extends AnyAlert, FoundAnomaly {
  readonly event: 'anomaly';
  readonly workspace: string;
}

export type LedgerAlert = BudgetAlert | AnomalyAlert;

/** What the records have on the holder of a budget, or on the workspace of an anomaly, filled in after the alert was written. */
export interface AlertAddressees {
  /** Name of the holder; null: it has none, or is deleted. */
  readonly name: string | null;
  /** E-mail addresses. */
  readonly recipients: readonly string[];
}

/** How far an alert is on its way. */
interface AlertDelivery extends AlertAddressees {
  readonly delivery: Delivery;
  /** Calls of the webhook so far. */
  readonly tries: number;
  /** Unix milliseconds; null: not sent yet. */
  readonly sentAt: number | null;
}

export type SentAlert = LedgerAlert & AlertDelivery;

export interface AnomalyFilter {
  readonly metric?: AnomalyMetric | undefined;
  /** Unix milliseconds; anomalies that were found at that time and later. */
  readonly since?: number | undefined;
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

/** Alerts of budgets and of anomalies. Rejects as `LedgerBudgets` does. */
export interface LedgerAlerts {
  /** Newest first; only those whose addressees are filled in. `total`: on all pages. */
  list(
    org: string,
    filter: AlertFilter,
    page: { readonly offset: number; readonly limit: number },
  ): Promise<{ readonly alerts: readonly SentAlert[]; readonly total: number }>;
  /**
   * Writes an anomaly and its alert, unless it goes on from one that is there: of the same figure, which differed less than an hour
   * before. Is it new?
   */
  writeAnomaly(found: FoundAnomaly, now: number): Promise<boolean>;
  /** Newest first. Nothing where single keys are in sight: an anomaly is about all requests of a workspace. */
  listAnomalies(
    sight: LogSight,
    filter: AnomalyFilter,
    page: { readonly offset: number; readonly limit: number },
  ): Promise<{ readonly anomalies: readonly AnomalyAlert[]; readonly total: number }>;
  /** Writes the alerts `reset` of periods that have ended by `now`; returns how many periods they were. */
  closePeriods(now: number): Promise<number>;
  /** Deletes what is kept long enough: counters of periods and alerts after 400 days, courses after 92. */
  prune(now: number): Promise<void>;
  /** The oldest alerts of all organisations whose addressees are not filled in yet. */
  unaddressed(limit: number): Promise<readonly LedgerAlert[]>;
  /** `isSent`: is there a webhook to send it to? */
  address(id: string, addressees: AlertAddressees, isSent: boolean): Promise<void>;
  /** Alerts that are due at `now`; no other caller gets them before `until`. */
  claim(now: number, until: number, limit: number): Promise<readonly SentAlert[]>;
  /** Of a claimed alert. */
  settle(id: string, outcome: SendOutcome): Promise<void>;
}
