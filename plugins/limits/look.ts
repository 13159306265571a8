import { type RateRule, rateWindows } from '../../src/common/core/rate-rules.js';
import type { PlannedLimit } from '../../src/common/ipc/explained.js';
import type { HostWith } from '../../src/common/plugin-host/host.js';
import type { PeriodBudget } from './permits.js';

/** Limits as an explanation shows them, with what is left of rate limits. Takes nothing of them. */
export async function lookedAt(
  host: HostWith<'channel'>,
  rates: readonly RateRule[],
  budgets: readonly PeriodBudget[],
): Promise<PlannedLimit[]> {
  const left = rates.length === 0 ? [] : await leftOf(host, rates);
  return [
    ...rates.map(({ of, name, measure, unit, value, shadow }, i) => {
      return { on: of, name, type: measure, unit, value, shadow, left: left[i] ?? null, counter: null };
    }),
    ...budgets.map(({ rule, period }) => {
      const { budget, of, name, measure, limit, shadow } = rule;
      const counter = { budget, ...period };
      return { on: of, name, type: measure, unit: null, value: limit, shadow, left: null, counter };
    }),
  ];
}

async function leftOf(
  host: HostWith<'channel'>,
  rates: readonly RateRule[],
): Promise<readonly (number | null)[]> {
  const limits = rates.map(({ counter, unit, value }) => ({
    counter,
    windowMs: unit === null ? null : rateWindows[unit],
    value,
  }));
  try {
    return await host.shared.ask('limits-look', { limits });
  } catch {
    return [];
  }
}
