import type { Charge } from '../../src/common/core/charges.js';
import type { Attempt } from '../../src/common/core/exchange.js';
import type { Usage } from '../../src/common/core/usage.js';
import type { Limit, PeriodBudget } from './permits.js';

/** What a request has taken of one limit. */
export interface Taken {
  readonly limit: Limit;
  readonly amount: number;
  readonly slot: number;
  /** The try that it was taken for; null: for the request as a whole. */
  readonly attempt: Attempt | null;
}

/** What a request has taken of one budget. */
export interface Held extends Taken {
  readonly limit: PeriodBudget;
}

export const isOfBudget = (taken: Taken): taken is Held => taken.limit.period !== null;

export const isConcurrency = ({ limit: { rule } }: Taken): boolean => rule.measure === 'concurrency';

const picosPerNano = 1000;

/** Picodollars in the unit of budgets, rounded up. */
export const nanosOf = (picodollars: number): number => Math.ceil(picodollars / picosPerNano);

export const wasSent = ({ endedAt, status }: Attempt): boolean => endedAt !== null || status !== 0;

/** It has failed, and nothing is owed for it. One that was cancelled before its answer is owed what is counted at the end. */
export const isForNothing = ({ error, endedAt, status, usage, received }: Attempt): boolean =>
  usage === null &&
  (error !== null || endedAt !== null) &&
  !(status >= 200 && status < 300) &&
  (received === null || status >= 300);

/** Is what was held back for a try that has failed free for the next one? One that was sent counts as a request. */
export const isGivenUp = ({ attempt, limit }: Held): boolean =>
  attempt !== null && isForNothing(attempt) && !(limit.rule.measure === 'requests' && wasSent(attempt));

/** Are its tokens known? Of a ranking that was billed by searches alone they are not. */
const hasTokens = (usage: Usage | null): usage is Usage =>
  usage !== null &&
  usage.source !== 'none' &&
  (usage.kinds?.searches === undefined || usage.input + usage.output > 0);

/**
 * Tokens of rate limits. An answered try of which they are not known used `amount`, which was taken for it; one that failed used
 * none.
 */
export function usedTokens(attempts: readonly Attempt[], amount: number): number {
  let sum = 0;
  for (const attempt of attempts) {
    if (!wasSent(attempt)) continue;
    const { usage, status } = attempt;
    if (hasTokens(usage)) sum += usage.input + usage.output;
    else if (status < 300 && !isForNothing(attempt)) sum += amount;
  }
  return sum;
}

/** What was used of a budget, once the request has ended and its tries are priced. */
export function usedOf({ limit, amount, attempt }: Held, attempts: readonly Attempt[]): number {
  const { measure } = limit.rule;
  if (attempt === null) return attempts.some(wasSent) ? amount : 0;
  if (!wasSent(attempt)) return 0;
  if (measure === 'requests') return amount;
  const { usage, cost } = attempt;
  if (measure === 'cost' && cost !== null) return nanosOf(cost);
  if (!hasTokens(usage)) return isForNothing(attempt) ? 0 : amount;
  return measure === 'tokens' ? usage.input + usage.output : 0;
}

/** What so much of each adds to its budget; null: there is none. */
export function chargesOf(taken: readonly Taken[], amountOf: (one: Held) => number): Charge[] | null {
  let charges: Charge[] | null = null;
  for (const one of taken) {
    if (!isOfBudget(one)) continue;
    const { rule, period } = one.limit;
    const { startsAt, endsAt } = period;
    const at = charges === null ? -1 : indexOf(charges, rule.budget, startsAt);
    const amount = amountOf(one) + (at < 0 ? 0 : charges![at]![5]);
    const charge: Charge = [rule.budget, startsAt, endsAt, rule.limit, rule.threshold, amount];
    if (charges === null) charges = [charge];
    else if (at < 0) charges.push(charge);
    else charges[at] = charge;
  }
  return charges;
}

const indexOf = (charges: readonly Charge[], budget: string, startsAt: number): number =>
  charges.findIndex(([name, start]) => name === budget && start === startsAt);
