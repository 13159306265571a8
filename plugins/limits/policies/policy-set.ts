import type { Attempt, Exchange } from '../../../src/common/core/exchange.js';
import {
  counterName,
  type PolicyCondition,
  type RatePolicy,
  type RateRule,
} from '../../../src/common/core/rate-rules.js';
import { keysOfTargets, keyValue } from './key-values.js';

const listOf = (texts: string | readonly string[] | undefined): readonly string[] =>
  texts === undefined ? [] : typeof texts === 'string' ? [texts] : texts;

/** `@slug/*` is every model of that provider. */
const matches = (pattern: string, value: string): boolean =>
  pattern === '*' || pattern === value || (pattern.endsWith('/*') && value.startsWith(pattern.slice(0, -1)));

/** A key that the request does not have fails its condition. */
function holds({ key, value, excludes }: PolicyCondition, x: Exchange, attempt: Attempt | null): boolean {
  const found = keyValue(key, x, attempt);
  if (found === null) return false;
  if (value !== undefined && !listOf(value).some((pattern) => matches(pattern, found))) return false;
  return !listOf(excludes).some((pattern) => matches(pattern, found));
}

/** The values by which a condition can be looked up; null: it can only be tried. */
function exactValues({ value }: PolicyCondition): readonly string[] | null {
  const values = listOf(value);
  return values.length === 0 || values.some((pattern) => pattern.endsWith('*')) ? null : values;
}

/** The policies of one phase of a request, found by the values of one of their conditions each. */
class PolicyIndex {
  readonly #byKey = new Map<string, Map<string, RatePolicy[]>>();
  /** Those without a condition that names values. */
  readonly #others: RatePolicy[] = [];

  add(policy: RatePolicy): void {
    let best: { readonly key: string; readonly values: readonly string[] } | null = null;
    for (const condition of policy.conditions) {
      const values = exactValues(condition);
      if (values === null || rank(condition.key) >= (best === null ? worst : rank(best.key))) continue;
      best = { key: condition.key, values };
    }
    if (best === null) {
      this.#others.push(policy);
      return;
    }
    const byValue = this.#byKey.get(best.key) ?? new Map<string, RatePolicy[]>();
    this.#byKey.set(best.key, byValue);
    for (const value of new Set(best.values)) {
      const policies = byValue.get(value);
      if (policies === undefined) byValue.set(value, [policy]);
      else policies.push(policy);
    }
  }

  /** Rules of the policies that are about this request, each for its own group. */
  rules(x: Exchange, attempt: Attempt | null, found: RateRule[]): void {
    for (const policy of this.#others) addRule(policy, x, attempt, found);
    for (const [key, byValue] of this.#byKey) {
      const value = keyValue(key, x, attempt);
      const policies = value === null ? undefined : byValue.get(value);
      if (policies !== undefined) for (const policy of policies) addRule(policy, x, attempt, found);
    }
  }

  get isEmpty(): boolean {
    return this.#others.length === 0 && this.#byKey.size === 0;
  }
}

/** The more values a key has among the requests of a workspace, the fewer policies are left to be tried. */
const ranks: readonly string[] = [
  'api_key',
  'metadata',
  'model',
  'config',
  'virtual_key',
  'provider',
  'endpoint_type',
];
const worst = ranks.length + 1;
const rank = (key: string): number => {
  const at = ranks.indexOf(key.startsWith('metadata.') ? 'metadata' : key);
  return at < 0 ? ranks.length : at;
};

function addRule(policy: RatePolicy, x: Exchange, attempt: Attempt | null, found: RateRule[]): void {
  for (const condition of policy.conditions) if (!holds(condition, x, attempt)) return;
  const parts: string[] = [];
  for (const key of policy.groupBy) {
    const value = keyValue(key, x, attempt);
    // The values of a policy's groups are what it counts by: without one it is not about this request.
    if (value === null) return;
    parts.push(`${key}:${value}`);
  }
  const { id, organisationId, name, measure, unit, value, shadow } = policy;
  const counter = counterName(
    organisationId,
    'rate_limits_policy',
    `${id}/${parts.join('-')}`,
    measure,
    unit,
  );
  found.push({ counter, of: 'rate_limits_policy', name: name ?? id, measure, unit, value, shadow });
}

/** The rate-limit policies of a workspace. */
export class PolicySet {
  /** Those that are decided before any target is asked, and those that name targets. */
  readonly #ofRequests = new PolicyIndex();
  readonly #ofTargets = new PolicyIndex();

  constructor(policies: readonly RatePolicy[]) {
    for (const policy of policies) {
      const keys = [...policy.conditions.map(({ key }) => key), ...policy.groupBy];
      (keys.some((key) => keysOfTargets.has(key)) ? this.#ofTargets : this.#ofRequests).add(policy);
    }
  }

  ofRequest(x: Exchange): RateRule[] {
    const found: RateRule[] = [];
    this.#ofRequests.rules(x, null, found);
    return found;
  }

  ofTarget(x: Exchange, attempt: Attempt): RateRule[] {
    const found: RateRule[] = [];
    if (!this.#ofTargets.isEmpty) this.#ofTargets.rules(x, attempt, found);
    return found;
  }
}
