import type { UsageLimits as LimitsRequest } from '../../../../../proto/messages.js';
import {
  broughtTo,
  lentBudgetId,
  type SetBudget,
  startedAgain,
} from '../../../store/records/budget-periods.js';
import type { UsageLimits } from '../../../store/records/usage-limits.js';
import type { Integration, IntegrationReach } from '../../../store/store.js';
import { type Budgeted, type BudgetStates, isSet } from '../../usage/budget-states.js';
import { checkType, limitsAfter, usageLimitsOf } from '../limits/limits.js';

/** The budget of an integration in a workspace: its own, or the one of all workspaces. */
export const lentBudget = (
  { id, globalAccess, createdAt }: Integration,
  { workspaceId, own }: IntegrationReach,
): Budgeted => ({
  of: 'integration',
  id: lentBudgetId(id, workspaceId),
  limits: (own ?? globalAccess).usageLimits,
  createdAt,
});

/** When usage began again in a workspace that has its own entry. Unix milliseconds; null: it did not. */
export function lentReset(integration: Integration, reach: IntegrationReach, now: number): number | null {
  const { limits, createdAt } = lentBudget(integration, reach);
  return reach.own === null || limits === null ? null : broughtTo(limits, createdAt, now).lastResetAt;
}

/** The budget of all workspaces that have none of their own, after an update. */
export async function globalAfter(
  states: BudgetStates,
  integration: Integration,
  reaches: readonly IntegrationReach[],
  asked: LimitsRequest | undefined,
  path: string,
  now: number,
): Promise<UsageLimits | null> {
  if (asked === undefined) return null;
  const { organisationId, globalAccess, createdAt } = integration;
  const before = globalAccess.usageLimits && broughtTo(globalAccess.usageLimits, createdAt, now);
  const next = usageLimitsOf(asked, path, now, before);
  if (before === null) return startedAgain(next, createdAt, now);
  const lent: SetBudget[] = reaches
    .filter(({ own }) => own === null)
    .map((reach) => lentBudget(integration, reach))
    .filter(isSet);
  await checkType(states, organisationId, lent, next, path, now);
  return next;
}

/**
 * The budget of one workspace after an update. `usual`: the one of all workspaces, which holds where the request has none;
 * a reset alone keeps the workspace's own.
 */
export async function lentAfter(
  states: BudgetStates,
  integration: Integration,
  reach: IntegrationReach,
  asked: LimitsRequest | undefined,
  usual: UsageLimits | null,
  reset: boolean,
  path: string,
  now: number,
): Promise<UsageLimits | null> {
  const before = lentBudget(integration, reach);
  const { organisationId, createdAt } = integration;
  if (asked !== undefined)
    return (await limitsAfter(states, organisationId, before, asked, reset, path, now)) ?? null;
  if (reset && reach.own?.usageLimits) return startedAgain(reach.own.usageLimits, createdAt, now);
  if (usual === null) return null;
  if (reset || before.limits === null) return startedAgain(usual, createdAt, now);
  return { ...usual, lastResetAt: broughtTo(before.limits, createdAt, now).lastResetAt };
}
