import { createHash } from 'node:crypto';
import type { BudgetHolder, BudgetMeasure } from '../../../common/core/budget-rules.js';
import type { BudgetUsageRow } from '../../../common/ledger/budgets.js';

/** A row of `budget_counters`. */
export interface CounterRow {
  readonly id: string;
  readonly starts_at: number;
  readonly org: string;
  readonly workspace: string | null;
  readonly budget: string;
  readonly holder: BudgetHolder;
  readonly holder_id: string;
  readonly value_key: string | null;
  readonly measure: BudgetMeasure;
  readonly ends_at: number | null;
  readonly limit: number;
  readonly threshold: number | null;
  readonly used: number;
  readonly resets: number;
  readonly reset_at: number | null;
  readonly threshold_alert_at: number | null;
  readonly threshold_alert_of: number | null;
  readonly threshold_alert_limit: number | null;
  readonly exhausted_alert_at: number | null;
  readonly exhausted_alert_of: number | null;
  readonly first_charge_at: number;
  readonly updated_at: number;
}

export const usageOf = (row: CounterRow): BudgetUsageRow => ({
  budget: row.budget,
  startsAt: row.starts_at,
  id: row.id,
  endsAt: row.ends_at,
  holder: row.holder,
  holderId: row.holder_id,
  valueKey: row.value_key,
  measure: row.measure,
  limit: row.limit,
  threshold: row.threshold,
  used: row.used,
  thresholdAlertAt: row.threshold_alert_at,
  thresholdAlertOf: row.threshold_alert_of,
  thresholdAlertLimit: row.threshold_alert_limit,
  exhaustedAlertAt: row.exhausted_alert_at,
  exhaustedAlertOf: row.exhausted_alert_of,
  firstChargeAt: row.first_charge_at,
  updatedAt: row.updated_at,
  resetAt: row.reset_at,
});

/** A UUID (version 8) of a budget's name. */
export function budgetId(budget: string): string {
  const digest = createHash('sha256').update(budget).digest();
  digest[6] = 0x80 | (digest[6]! & 0x0f);
  digest[8] = 0x80 | (digest[8]! & 0x3f);
  const hex = digest.toString('hex', 0, 16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
