import type { ProviderRateLimit, UsageLimits as UsageLimitsMessage } from '../../../../../proto/messages.js';
import { broughtTo } from '../../../store/records/budget-periods.js';
import type { RateLimit, UsageLimits } from '../../../store/records/usage-limits.js';
import { rateLimitMessages, setLimitsMessage } from '../limits/limits.js';

/** Limits of an integration in one workspace, or in all that have none of their own. */
export interface LentLimits {
  readonly usageLimits: UsageLimits | null;
  readonly rateLimits: readonly RateLimit[];
}

/** Limits as they were set, with the end of the period of `now`. `createdAt`: of the integration. */
export function limitsMessage(
  { usageLimits, rateLimits }: LentLimits,
  createdAt: number,
  now: number,
): {
  readonly usage_limits: readonly UsageLimitsMessage[];
  readonly rate_limits: readonly ProviderRateLimit[];
} {
  return {
    usage_limits: usageLimits === null ? [] : [setLimitsMessage(broughtTo(usageLimits, createdAt, now))],
    rate_limits: rateLimitMessages(rateLimits) as readonly ProviderRateLimit[],
  };
}
