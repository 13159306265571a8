import type { RateLimit as RateLimitMessage, UsageLimitsState } from '../../../../../proto/messages.js';
import {
  broughtTo,
  nextResetOf,
  type SetBudget,
  startedAgain,
} from '../../../store/records/budget-periods.js';
import type { RateLimit, UsageLimits } from '../../../store/records/usage-limits.js';
import { AdminError } from '../../admin-error.js';
import { msOf, timeOrNull } from '../../grpc/wire.js';
import type { Budgeted, BudgetState, BudgetStates, CounterState } from '../../usage/budget-states.js';

/** Budgets and rate limits, as keys, workspaces and providers have them. */

interface LimitsRequest {
  readonly type?: UsageLimits['type'] | null;
  readonly credit_limit: number;
  readonly alert_threshold?: number | null;
  readonly periodic_reset?: 'monthly' | 'weekly' | null;
  readonly periodic_reset_days?: number | null;
  readonly next_usage_reset_at?: string | null;
  readonly shadow?: boolean | null;
}

/** Dollars: more of them are not counted exactly in nanodollars. */
const mostDollars = 9_000_000;

/** Throws AB01 for an amount that its counter could not be compared with to the last nanodollar or token. */
export function checkExact(type: UsageLimits['type'], amount: number, path: string): void {
  const most = type === 'cost' ? mostDollars : Number.MAX_SAFE_INTEGER;
  if (amount > most) throw AdminError.field(path, `must be at most ${most}: beyond, amounts are not exact.`);
}

function checkWhole(type: UsageLimits['type'], amount: number, path: string): void {
  if (!Number.isInteger(amount)) throw AdminError.field(path, 'must be a whole number.');
  checkExact(type, amount, path);
}

function checkAmounts(
  type: UsageLimits['type'],
  { credit_limit: limit, alert_threshold: threshold }: LimitsRequest,
  path: string,
): void {
  checkWhole(type, limit, `${path}.credit_limit`);
  if (threshold === undefined || threshold === null) return;
  checkWhole(type, threshold, `${path}.alert_threshold`);
  if (threshold >= limit) throw AdminError.field(`${path}.alert_threshold`, 'must be below credit_limit.');
}

/** The budget that a request asks for. `path`: its place in the request. `before`: the one that it replaces, as it is now. */
export function usageLimitsOf(
  asked: LimitsRequest,
  path: string,
  now: number,
  before: UsageLimits | null = null,
): UsageLimits {
  const type = asked.type || before?.type || 'cost';
  checkAmounts(type, asked, path);
  const periodicReset = asked.periodic_reset || null;
  const periodicResetDays = asked.periodic_reset_days ?? null;
  if (periodicReset !== null && periodicResetDays !== null)
    throw AdminError.field(`${path}.periodic_reset_days`, 'does not go together with periodic_reset.');
  const given = msOf(asked.next_usage_reset_at);
  if (given !== null && given <= now)
    throw AdminError.field(`${path}.next_usage_reset_at`, 'must be in the future.');
  const period = { periodicReset, periodicResetDays };
  const isSamePeriod =
    before?.periodicReset === periodicReset && before.periodicResetDays === periodicResetDays;
  const nextUsageResetAt = given ?? (isSamePeriod ? before.nextUsageResetAt : nextResetOf(period, now));
  return {
    type,
    creditLimit: asked.credit_limit,
    alertThreshold: asked.alert_threshold ?? null,
    ...period,
    nextUsageResetAt,
    ...(asked.shadow && { shadow: true }),
    lastResetAt: before?.lastResetAt ?? null,
  };
}

/**
 * The budget of something after an update. `asked`: what the request has for it (undefined: it stays, null: it is taken away);
 * `reset`: usage starts again. undefined: nothing changes. What was used in this period stays used, and counts in the same
 * measure; a budget where there was none counts from now on.
 */
export async function limitsAfter(
  states: BudgetStates,
  org: string,
  before: Budgeted,
  asked: LimitsRequest | null | undefined,
  reset: boolean,
  path: string,
  now: number,
): Promise<UsageLimits | null | undefined> {
  if (asked === null) return null;
  const { limits, createdAt } = before;
  if (asked === undefined) return reset && limits !== null ? startedAgain(limits, createdAt, now) : undefined;
  const current = limits && broughtTo(limits, createdAt, now);
  const next = usageLimitsOf(asked, path, now, current);
  if (reset || current === null) return startedAgain(next, createdAt, now);
  await checkType(states, org, [{ ...before, limits: current }], next, path, now);
  return next;
}

/** Throws AB01 where something was used of a budget in the measure that it had before. */
export async function checkType(
  states: BudgetStates,
  org: string,
  before: readonly SetBudget[],
  next: UsageLimits,
  path: string,
  now: number,
): Promise<void> {
  const others = before.filter(({ limits }) => limits.type !== next.type);
  if (others.length === 0 || !(await states.isUsed(org, others, now))) return;
  throw AdminError.field(
    `${path}.type`,
    `stays ${others[0]!.limits.type} once anything was used: reset the usage first.`,
  );
}

/** The rate limits that a request asks for: one of each type. */
export function rateLimitsOf(asked: readonly RateLimitMessage[], path: string): RateLimit[] {
  return asked.map(({ type, unit: given, value, shadow }, i) => {
    if (asked.findIndex((other) => other.type === type) < i)
      throw AdminError.field(`${path}[${i}].type`, `is ${type} a second time: give one limit of each type.`);
    const unit = given || null;
    if (type === 'concurrency' && unit !== null)
      throw AdminError.field(`${path}[${i}].unit`, 'does not go with concurrency: leave it out.');
    if (type !== 'concurrency' && unit === null)
      throw AdminError.field(`${path}[${i}].unit`, 'is required: rpm limits by the minute.');
    return { type, unit, value, ...(shadow && { shadow }) };
  });
}

/** The rate limits of a record. */
export const rateLimitMessages = (limits: readonly RateLimit[]): RateLimitMessage[] =>
  limits.map(({ type, unit, value, shadow }) => ({
    type,
    ...(unit !== null && { unit }),
    value,
    ...(shadow && { shadow }),
  }));

/** A budget as it was set. */
export const setLimitsMessage = (limits: UsageLimits) => ({
  type: limits.type,
  credit_limit: limits.creditLimit,
  alert_threshold: limits.alertThreshold,
  periodic_reset: limits.periodicReset,
  periodic_reset_days: limits.periodicResetDays,
  next_usage_reset_at: timeOrNull(limits.nextUsageResetAt),
  ...(limits.shadow && { shadow: true }),
});

/** A budget and its state. */
export const usageLimitsMessage = (limits: UsageLimits, state: BudgetState): UsageLimitsState => ({
  ...setLimitsMessage({ ...limits, nextUsageResetAt: state.nextResetAt }),
  last_reset_at: timeOrNull(state.lastResetAt),
  ...stateMessage(state),
});

/** What was used of a counter, and what is to be expected. */
export const stateMessage = (state: CounterState) => ({
  current_usage: state.currentUsage,
  status: state.isExhausted ? ('exhausted' as const) : ('active' as const),
  is_threshold_alerts_sent: state.isThresholdAlertsSent,
  is_exhausted_alerts_sent: state.isExhaustedAlertsSent,
  projected_usage: state.projectedUsage,
  projected_exhausted_at: timeOrNull(state.projectedExhaustedAt),
});
