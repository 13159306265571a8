import type { RotationPolicyState, RotationPolicy as RotationRequest } from '../../../../proto/messages.js';
import { dayMs, dayOf, daysLater, nextPeriod } from '../../../common/text/calendar.js';
import type { RotationPeriod, RotationPolicy } from '../../store/store.js';
import { AdminError } from '../admin-error.js';
import { msOf, timeOf } from '../grpc/wire.js';

/** For how long an old text stays good at least, and unless more is asked for. */
export const shortestTransitionMs = 30 * 60_000;

/** Shortest length of a period; null: it has none. */
function lengthOf({ period, periodDays }: Pick<RotationPolicy, 'period' | 'periodDays'>): number | null {
  if (period !== null) return (period === 'weekly' ? 7 : 28) * dayMs;
  return periodDays === null ? null : periodDays * dayMs;
}

/** Two texts at most are good at a time: the old one must end before the next rotation. */
export function checkTransition(
  transitionMs: number,
  policy: Pick<RotationPolicy, 'period' | 'periodDays'> | null,
  path: string,
): void {
  const length = policy && lengthOf(policy);
  if (length !== null && transitionMs >= length)
    throw AdminError.field(path, `must be shorter than the period of rotation, ${length} ms.`);
}

function firstOf(asked: RotationRequest, path: string, now: number): number | null {
  const given = msOf(asked.next_rotation_at);
  if (given === null) return null;
  const day = dayOf(given);
  if (day <= now) throw AdminError.field(`${path}.next_rotation_at`, 'must be a day after today.');
  return day;
}

/** The policy that a request asks for. `path`: its place in the request. */
export function rotationPolicyOf(asked: RotationRequest, path: string, now: number): RotationPolicy {
  const period = asked.rotation_period || null;
  const periodDays = asked.rotation_period_days ?? null;
  const first = firstOf(asked, path, now);
  if (period !== null && periodDays !== null)
    throw AdminError.field(`${path}.rotation_period_days`, 'does not go together with rotation_period.');
  const next = first ?? nextOf(period ?? periodDays, now);
  if (next === null)
    throw AdminError.field(path, 'needs rotation_period, rotation_period_days or next_rotation_at.');
  const transitionMs = asked.key_transition_period_ms ?? shortestTransitionMs;
  checkTransition(transitionMs, { period, periodDays }, `${path}.key_transition_period_ms`);
  return { period, periodDays, transitionMs, nextRotationAt: next };
}

function nextOf(period: RotationPeriod | null, now: number): number | null {
  if (period === null) return null;
  return typeof period === 'number' ? daysLater(period, now) : nextPeriod(period, now);
}

/** The policy that the settings of a workspace give the keys of its users. */
export function usualPolicy(period: RotationPeriod | null, now: number): RotationPolicy | null {
  const nextRotationAt = nextOf(period, now);
  if (period === null || nextRotationAt === null) return null;
  return {
    period: typeof period === 'number' ? null : period,
    periodDays: typeof period === 'number' ? period : null,
    transitionMs: shortestTransitionMs,
    nextRotationAt,
  };
}

export const rotationPolicyMessage = (policy: RotationPolicy): RotationPolicyState => ({
  rotation_period: policy.period,
  rotation_period_days: policy.periodDays,
  next_rotation_at: timeOf(policy.nextRotationAt),
  key_transition_period_ms: policy.transitionMs,
  status: 'ACTIVE',
});
