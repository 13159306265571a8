/** A budget, as it was set. Money in US dollars. */
export interface UsageLimits {
  readonly type: 'cost' | 'tokens';
  readonly creditLimit: number;
  readonly alertThreshold: number | null;
  /** At most one of the two is set; neither: usage never starts again. */
  readonly periodicReset: 'monthly' | 'weekly' | null;
  readonly periodicResetDays: number | null;
  /** Unix milliseconds. */
  readonly nextUsageResetAt: number | null;
}

export type { RateLimit } from '../../../common/core/rate-rules.js';
