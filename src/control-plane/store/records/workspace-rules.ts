import { type BudgetRule, budgetRuleOf } from '../../../common/core/budget-rules.js';
import { type RateRule, rateRulesOf } from '../../../common/core/rate-rules.js';
import type { Workspace } from './workspaces.js';

type Limited = Pick<Workspace, 'id' | 'organisationId' | 'slug' | 'rateLimits' | 'usageLimits' | 'createdAt'>;

/** Limits of a key or a workspace as data workers apply them; absent: none. */
export interface LimitRules {
  limits?: RateRule[];
  budgets?: BudgetRule[];
}

export const rulesOf = (limits: RateRule[], budgets: BudgetRule[]): LimitRules => ({
  ...(limits.length > 0 && { limits }),
  ...(budgets.length > 0 && { budgets }),
});

/** The limits of a workspace. */
export function workspaceRules({ id, organisationId, slug, createdAt, ...set }: Limited): LimitRules {
  const budgets = set.usageLimits.map(({ metadata = {}, ...limits }) => {
    const since = limits.lastResetAt ?? createdAt;
    const rule = budgetRuleOf(organisationId, 'workspace', id, slug, limits, since);
    return Object.keys(metadata).length === 0 ? rule : { ...rule, metadata };
  });
  return rulesOf(rateRulesOf(organisationId, 'workspace', id, slug, set.rateLimits), budgets);
}
