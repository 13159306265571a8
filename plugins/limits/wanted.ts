import type { Exchange } from '../../src/common/core/exchange.js';
import { type RateRule, rateWindows } from '../../src/common/core/rate-rules.js';
import type { ExpectedTokens } from '../../src/common/plugin-host/host.js';
import type { Back, Wanted, WantedBudget } from './channel.js';
import type { Limit, PeriodBudget, RefusedAmount } from './permits.js';

export const ceilingOf = (limit: Limit): number =>
  limit.period === null ? limit.rule.value : limit.rule.limit;

/** Where `max_tokens` is missing, one is enough, and so it is where nothing is taken. */
export function neededOf({ rule }: Limit, amount: number, expected: ExpectedTokens | null): number {
  const isKnown = (rule.measure !== 'tokens' && rule.measure !== 'cost') || expected!.isBounded;
  return isKnown ? Math.max(1, amount) : 1;
}

export const isRefusedToo = (refused: RefusedAmount, limit: Limit, needed: number): boolean =>
  !limit.rule.shadow && needed >= refused.needed && ceilingOf(limit) <= refused.value;

export const wantedOf = (rule: RateRule, amount: number, expected: ExpectedTokens | null): Wanted => ({
  counter: rule.counter,
  windowMs: rule.unit === null ? null : rateWindows[rule.unit],
  value: rule.value,
  amount,
  isBounded: rule.measure !== 'tokens' || (amount > 0 && expected!.isBounded),
  shadow: rule.shadow,
});

export const wantedBudgetOf = (
  limit: PeriodBudget,
  amount: number,
  expected: ExpectedTokens | null,
): WantedBudget => {
  const { rule, period, permits } = limit;
  return {
    counter: permits.counter,
    budget: rule.budget,
    startsAt: period.startsAt,
    endsAt: period.endsAt,
    limit: rule.limit,
    amount,
    needed: neededOf(limit, amount, expected),
    shadow: rule.shadow,
  };
};

export const nothingOf = (counter: string): Back => ({
  counter,
  windowMs: null,
  slot: 0,
  amount: 0,
});

/** What a call uses whose body is not read is known at its end alone; counting tokens uses none. */
export const isUnmetered = ({ endpoint }: Exchange): boolean =>
  endpoint.format === 'none' || endpoint.counts === true;
