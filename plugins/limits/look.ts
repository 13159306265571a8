import { type BudgetRule, periodAt } from '../../src/common/core/budget-rules.js';
import type { Exchange } from '../../src/common/core/exchange.js';
import { type RateRule, rateWindows } from '../../src/common/core/rate-rules.js';
import type { PlannedLimit } from '../../src/common/ipc/explained.js';
import type { HostWith } from '../../src/common/plugin-host/host.js';

/** Limits as an explanation shows them, with what is left of rate limits. Takes nothing of them. */
export async function lookedAt(
  host: HostWith<'channel'>,
  rates: readonly RateRule[],
  budgets: readonly BudgetRule[],
): Promise<PlannedLimit[]> {
  const left = rates.length === 0 ? [] : await leftOf(host, rates);
  const now = Date.now();
  return [
    ...rates.map(({ of, name, measure, unit, value, shadow }, i) => {
      return { on: of, name, type: measure, unit, value, shadow, left: left[i] ?? null, counter: null };
    }),
    ...budgets.map((rule) => {
      const { budget, of, name, measure, limit, shadow } = rule;
      const counter = { budget, ...periodAt(rule, now) };
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

/** Does a budget for requests with certain metadata count this one? */
export const isFor = ({ metadata = {} }: BudgetRule, x: Exchange): boolean =>
  Object.entries(metadata).every(([name, value]) => x.metadata[name] === value);
