import { daysLater, nextPeriod } from '../../../common/text/calendar.js';
import type { UsageLimits } from './usage-limits.js';

/** The state of a budget. */
export interface BudgetUsage {
  /** Since the last reset, in the unit of the limit. */
  readonly currentUsage: number;
  readonly isExhausted: boolean;
  readonly isThresholdAlertsSent: boolean;
  readonly isExhaustedAlertsSent: boolean;
  /** Unix milliseconds. */
  readonly lastResetAt: number | null;
}

export const unused: BudgetUsage = {
  currentUsage: 0,
  isExhausted: false,
  isThresholdAlertsSent: false,
  isExhaustedAlertsSent: false,
  lastResetAt: null,
};

/** When usage starts again by itself, Unix milliseconds; null: never. */
export function nextResetOf(
  { periodicReset, periodicResetDays }: Pick<UsageLimits, 'periodicReset' | 'periodicResetDays'>,
  now: number,
): number | null {
  if (periodicReset !== null) return nextPeriod(periodicReset, now);
  return periodicResetDays === null ? null : daysLater(periodicResetDays, now);
}

const isRaised = (before: number | null, next: number | null): boolean =>
  next === null || (before !== null && next > before);

/**
 * The state of a budget when its limits become `next`: what was used stays used; a limit or a threshold that is raised
 * or taken away brings back the alerts that were sent.
 */
export function usageUnder(
  usage: BudgetUsage,
  before: UsageLimits | null,
  next: UsageLimits | null,
): BudgetUsage {
  if (next === null) return { ...unused, currentUsage: usage.currentUsage, lastResetAt: usage.lastResetAt };
  const limitRaised = before === null || next.creditLimit > before.creditLimit;
  const thresholdRaised = before === null || isRaised(before.alertThreshold, next.alertThreshold);
  return {
    ...usage,
    isExhausted: usage.currentUsage >= next.creditLimit,
    isExhaustedAlertsSent: usage.isExhaustedAlertsSent && !limitRaised,
    isThresholdAlertsSent: usage.isThresholdAlertsSent && !limitRaised && !thresholdRaised,
  };
}
