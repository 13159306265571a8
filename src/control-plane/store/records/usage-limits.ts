import type { BudgetLimit } from '../../../common/core/budget-rules.js';

/** A budget, as it was set. `nextUsageResetAt` is the end of the period that was in force when this was stored. */
export interface UsageLimits extends BudgetLimit {
  /** When that period began. Unix milliseconds; null: when what the budget is set on was created. */
  readonly lastResetAt: number | null;
}

export type { RateLimit } from '../../../common/core/rate-rules.js';
