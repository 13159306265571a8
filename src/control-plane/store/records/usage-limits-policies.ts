import type { BudgetPolicy } from '../../../common/core/budget-rules.js';
import type { Listed, Page, Place } from './place.js';
import type { Policy, PolicyChange, PolicyFilter } from './policies.js';

export interface UsageLimitsPolicy extends Policy {
  readonly type: 'cost' | 'tokens' | 'requests';
  /** US dollars, tokens or requests. */
  readonly creditLimit: number;
  readonly alertThreshold: number | null;
  /** At most one of the two is set; neither: usage never starts again. */
  readonly periodicReset: 'monthly' | 'weekly' | null;
  readonly periodicResetDays: number | null;
  /** End and beginning of the period that was in force when this was stored, as in `UsageLimits`. */
  readonly nextUsageResetAt: number | null;
  readonly lastResetAt: number | null;
  /** Is it counted and reported only, and refuses nothing? */
  readonly shadow: boolean;
}

type PolicySettings =
  | 'creditLimit'
  | 'alertThreshold'
  | 'periodicReset'
  | 'periodicResetDays'
  | 'nextUsageResetAt'
  | 'shadow';

export type NewUsageLimitsPolicy = Pick<
  UsageLimitsPolicy,
  'name' | 'description' | 'conditions' | 'groupBy' | 'type' | PolicySettings
>;

export interface UsageLimitsPolicyChange
  extends PolicyChange,
    Partial<Pick<UsageLimitsPolicy, PolicySettings | 'lastResetAt'>> {}

export interface UsageLimitsPolicyStore {
  get(organisationId: string, id: string): Promise<UsageLimitsPolicy | null>;
  /** What data workers need of a workspace's active ones. */
  inForce(workspaceId: string): Promise<BudgetPolicy[]>;
  /** Newest first. */
  list(place: Place, filter: PolicyFilter, page: Page): Promise<Listed<UsageLimitsPolicy>>;
  create(place: Place, input: NewUsageLimitsPolicy): Promise<UsageLimitsPolicy | 'missing'>;
  update(
    organisationId: string,
    id: string,
    change: UsageLimitsPolicyChange,
  ): Promise<UsageLimitsPolicy | 'missing' | 'stale'>;
}
