/** Milliseconds of the windows of rate limits. */
export const rateWindows = {
  rps: 1000,
  rpm: 60_000,
  rph: 3_600_000,
  rpd: 86_400_000,
  rpw: 604_800_000,
} as const;

export type RateUnit = keyof typeof rateWindows;

/** `concurrency`: requests under way at the same time. */
export type RateMeasure = 'requests' | 'tokens' | 'concurrency';

/** What a rate limit is set on. */
export type RateHolder = 'api_key' | 'workspace' | 'virtual_key' | 'integration' | 'rate_limits_policy';

/** A rate limit as data workers apply it. */
export interface RateRule {
  /** Name of its counter, the same on every node; begins with the organisation's id. */
  readonly counter: string;
  readonly of: RateHolder;
  /** How messages name what it is set on: a name, a slug, or the id of a policy without a name. */
  readonly name: string;
  readonly measure: RateMeasure;
  /** null: of `concurrency`, which has no window. */
  readonly unit: RateUnit | null;
  readonly value: number;
  /** Is it counted and reported only, and refuses nothing? */
  readonly shadow: boolean;
}

/** A limit as administrators set it. */
export interface RateLimit {
  readonly type: RateMeasure;
  readonly unit: RateUnit | null;
  readonly value: number;
  readonly shadow?: boolean;
}

/** Rules of the limits that are set on one thing. */
export const rateRulesOf = (
  organisationId: string,
  of: RateHolder,
  id: string,
  name: string,
  limits: readonly RateLimit[],
): RateRule[] =>
  limits.map(({ type, unit, value, shadow = false }) => ({
    counter: counterName(organisationId, of, id, type, unit),
    of,
    name,
    measure: type,
    unit,
    value,
    shadow,
  }));

/** Another window counts from the beginning: what was counted for one of another length does not fit it. */
export const counterName = (
  organisationId: string,
  of: RateHolder,
  id: string,
  measure: RateMeasure,
  unit: RateUnit | null,
): string => `${organisationId}/${of}/${id}/${measure}/${unit ?? ''}`;

/** What a policy's conditions and groups may name: these, and `metadata.<name>`. */
export type PolicyKey = string;

/** Which requests a policy is about: `value` names those that are, `excludes` those that are not. */
export interface PolicyCondition {
  readonly key: PolicyKey;
  readonly value?: string | readonly string[];
  readonly excludes?: string | readonly string[];
}

/** A rate-limit policy as data workers apply it: a limit for each combination of the values of its groups. */
export interface RatePolicy {
  readonly id: string;
  readonly organisationId: string;
  readonly name: string | null;
  /** All of them must hold. */
  readonly conditions: readonly PolicyCondition[];
  readonly groupBy: readonly PolicyKey[];
  readonly measure: 'requests' | 'tokens';
  readonly unit: RateUnit;
  readonly value: number;
  readonly shadow: boolean;
}
