export type { BudgetLimit as UsageLimits } from '../../../common/core/budget-rules.js';
export type { RateLimit } from '../../../common/core/rate-rules.js';
