import type { RatePolicy } from '../../../common/core/rate-rules.js';
import type { Listed, Page, Place } from './place.js';
import type { Policy, PolicyChange, PolicyFilter } from './policies.js';

export interface RateLimitsPolicy extends Policy {
  readonly type: 'requests' | 'tokens';
  /** Per minute, hour, day or week. */
  readonly unit: 'rpm' | 'rph' | 'rpd' | 'rpw';
  readonly value: number;
  /** What is limited: calls of models, or of tools. */
  readonly target: 'llm' | 'mcp_tools';
  /** Is it counted and reported only, and refuses nothing? */
  readonly shadow: boolean;
}

export type NewRateLimitsPolicy = Pick<
  RateLimitsPolicy,
  'name' | 'description' | 'conditions' | 'groupBy' | 'type' | 'unit' | 'value' | 'target' | 'shadow'
>;

export interface RateLimitsPolicyChange extends PolicyChange {
  readonly unit?: RateLimitsPolicy['unit'];
  readonly value?: number;
  readonly shadow?: boolean;
}

export interface RateLimitsPolicyStore {
  get(organisationId: string, id: string): Promise<RateLimitsPolicy | null>;
  /** What data workers need of a workspace's: the active ones for calls of models. */
  inForce(workspaceId: string): Promise<RatePolicy[]>;
  /** Newest first. */
  list(place: Place, filter: PolicyFilter, page: Page): Promise<Listed<RateLimitsPolicy>>;
  create(place: Place, input: NewRateLimitsPolicy): Promise<RateLimitsPolicy | 'missing'>;
  update(
    organisationId: string,
    id: string,
    change: RateLimitsPolicyChange,
  ): Promise<RateLimitsPolicy | 'missing' | 'stale'>;
}
