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
  readonly nextUsageResetAt: number | null;
  readonly lastResetAt: number | null;
  /** Is it counted and reported only, and refuses nothing? */
  readonly shadow: boolean;
}

/** A counter of a policy: what requests with the same values of its groups have used since the last reset. */
export interface UsageLimitsEntity {
  readonly id: string;
  /** Parts `key:value`, joined by dashes. */
  readonly valueKey: string;
  readonly currentUsage: number;
  readonly status: 'active' | 'exhausted';
  readonly thresholdAlertsSent: boolean;
  readonly exhaustedAlertsSent: boolean;
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
    Partial<Pick<UsageLimitsPolicy, PolicySettings>> {}

export interface EntityFilter {
  readonly status?: UsageLimitsEntity['status'];
  /** A part of the value key. */
  readonly search?: string;
}

export interface UsageLimitsPolicyStore {
  get(organisationId: string, id: string): Promise<UsageLimitsPolicy | null>;
  /** What data workers need of a workspace's active ones. */
  inForce(workspaceId: string): Promise<BudgetPolicy[]>;
  /** Newest first. */
  list(place: Place, filter: PolicyFilter, page: Page): Promise<Listed<UsageLimitsPolicy>>;
  create(place: Place, input: NewUsageLimitsPolicy): Promise<UsageLimitsPolicy | 'missing'>;
  /** Another limit makes its counters exhausted or active; a raised one arms their alerts again. */
  update(
    organisationId: string,
    id: string,
    change: UsageLimitsPolicyChange,
  ): Promise<UsageLimitsPolicy | 'missing' | 'stale'>;
  /** Counters of a policy, oldest first. */
  entities(
    organisationId: string,
    policyId: string,
    filter: EntityFilter,
    page: Page,
  ): Promise<Listed<UsageLimitsEntity>>;
  /** Adds to a counter, which is made where there is none. */
  count(
    organisationId: string,
    policyId: string,
    valueKey: string,
    amount: number,
  ): Promise<UsageLimitsEntity | 'missing'>;
  /** Sets a counter, by its id or its value key, to 0 and makes it active. */
  reset(
    organisationId: string,
    policyId: string,
    idOrValueKey: string,
  ): Promise<UsageLimitsEntity | 'missing'>;
}
