import type { ProviderRateLimit, UsageLimits as UsageLimitsMessage } from '../../../../proto/messages.js';
import { unused } from '../../store/records/usage.js';
import type { RateLimit, UsageLimits } from '../../store/records/usage-limits.js';
import { rateLimitMessages, usageLimitsMessage } from './limits.js';

interface Limits {
  readonly usageLimits: UsageLimits | null;
  readonly rateLimits: readonly RateLimit[];
}

/** Limits as they were set. */
export function limitsMessage({ usageLimits, rateLimits }: Limits): {
  readonly usage_limits: readonly UsageLimitsMessage[];
  readonly rate_limits: readonly ProviderRateLimit[];
} {
  return {
    usage_limits: usageLimits === null ? [] : [usageLimitsMessage(usageLimits, unused)],
    rate_limits: rateLimitMessages(rateLimits) as readonly ProviderRateLimit[],
  };
}
