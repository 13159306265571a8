import type { Exchange } from '../../../src/common/core/exchange.js';
import type { PolicyCondition, PolicyKey } from '../../../src/common/core/rate-rules.js';
import type { PlannedTarget } from '../../../src/common/ipc/explained.js';
import { keysOfTargets, keyValue } from './key-values.js';

/** Texts of a condition: those that are meant exactly, and `@slug/*`, which is every model of that provider. */
class Patterns {
  readonly exact: ReadonlySet<string>;
  readonly #beginnings: readonly string[];
  readonly #isAny: boolean;

  constructor(texts: readonly string[]) {
    this.#isAny = texts.includes('*');
    this.#beginnings = texts.filter((text) => text.endsWith('/*')).map((text) => text.slice(0, -1));
    this.exact = new Set(texts.filter((text) => text !== '*' && !text.endsWith('/*')));
  }

  get isExact(): boolean {
    return !this.#isAny && this.#beginnings.length === 0;
  }

  match(value: string): boolean {
    if (this.#isAny || this.exact.has(value)) return true;
    for (const beginning of this.#beginnings) if (value.startsWith(beginning)) return true;
    return false;
  }
}

/** Keys whose values are slugs of stored providers, which calls name with an @ before them. */
const slugKeys: ReadonlySet<string> = new Set(['provider', 'virtual_key']);

function patternsOf(key: string, given: string | readonly string[] | undefined): Patterns | null {
  if (given === undefined) return null;
  const texts = typeof given === 'string' ? [given] : given;
  return new Patterns(slugKeys.has(key) ? texts.map((text) => text.replace(/^@/, '')) : texts);
}

class Condition {
  readonly key: string;
  readonly values: Patterns | null;
  readonly #excludes: Patterns | null;

  constructor({ key, value, excludes }: PolicyCondition) {
    this.key = key;
    this.values = patternsOf(key, value);
    this.#excludes = patternsOf(key, excludes);
  }

  /** A key that the request does not have fails its condition. */
  holds(x: Exchange, attempt: PlannedTarget | null): boolean {
    const found = keyValue(this.key, x, attempt);
    if (found === null) return false;
    if (this.values !== null && !this.values.match(found)) return false;
    return this.#excludes === null || !this.#excludes.match(found);
  }
}

/** Which requests a policy is about, and what it counts apart. */
export interface PolicyTerms {
  readonly conditions: readonly PolicyCondition[];
  readonly groupBy: readonly PolicyKey[];
}

/** A policy, ready to be applied. */
class CompiledPolicy<Limit> {
  readonly conditions: readonly Condition[];
  readonly #groupBy: readonly PolicyKey[];
  readonly #limitOf: (group: string) => Limit;
  /** What the parts of a group begin with, after the first. */
  readonly #beginnings: readonly string[];
  /** The group that was met last, and its limit: most policies have few groups, and bursts come from one. */
  #group = '';
  #limit: Limit | null = null;

  constructor({ conditions, groupBy }: PolicyTerms, limitOf: (group: string) => Limit) {
    this.#groupBy = groupBy;
    this.#beginnings = groupBy.map((key) => `-${key}:`);
    this.#limitOf = limitOf;
    this.conditions = conditions.map((condition) => new Condition(condition));
  }

  /** null: the policy is not about this request. */
  limit(x: Exchange, attempt: PlannedTarget | null): Limit | null {
    for (const condition of this.conditions) if (!condition.holds(x, attempt)) return null;
    const groupBy = this.#groupBy;
    if (groupBy.length === 1) {
      const value = keyValue(groupBy[0]!, x, attempt);
      return value === null ? null : this.#of(value, () => `${groupBy[0]}:${value}`);
    }
    const parts: string[] = [];
    for (const key of groupBy) {
      const value = keyValue(key, x, attempt);
      // The policy counts by these values: without one it is not about this request.
      if (value === null) return null;
      parts.push(`${key}:${this.#plain(value)}`);
    }
    const joined = parts.join('-');
    return this.#of(joined, () => joined);
  }

  /** A value that could be read as two, in a form of URLs: a caller's metadata may have anything in them. */
  #plain(value: string): string {
    const isPlain = !value.includes('%') && !this.#beginnings.some((beginning) => value.includes(beginning));
    return isPlain ? value : value.replaceAll('%', '%25').replaceAll('-', '%2D');
  }

  #of(group: string, text: () => string): Limit {
    if (this.#limit !== null && this.#group === group) return this.#limit;
    const limit = this.#limitOf(text());
    if (group.length <= longestGroup) {
      this.#group = group;
      this.#limit = limit;
    }
    return limit;
  }
}

/** Of a group that is remembered, in characters. */
const longestGroup = 256;

/** The policies of one phase of a request, each found by the values of one of its conditions. */
class PolicyIndex<Limit> {
  readonly #byKey = new Map<string, Map<string, CompiledPolicy<Limit>[]>>();
  /** Those without a condition that names values. */
  readonly #others: CompiledPolicy<Limit>[] = [];

  add(policy: CompiledPolicy<Limit>): void {
    let best: Condition | null = null;
    for (const condition of policy.conditions) {
      if (condition.values?.isExact !== true) continue;
      if (best === null || rank(condition.key) < rank(best.key)) best = condition;
    }
    if (best === null) {
      this.#others.push(policy);
      return;
    }
    const byValue = this.#byKey.get(best.key) ?? new Map<string, CompiledPolicy<Limit>[]>();
    this.#byKey.set(best.key, byValue);
    for (const value of best.values!.exact) {
      const policies = byValue.get(value);
      if (policies === undefined) byValue.set(value, [policy]);
      else policies.push(policy);
    }
  }

  /** Limits of the policies that are about this request, each for its own group. */
  limits(x: Exchange, attempt: PlannedTarget | null): Limit[] {
    const found: Limit[] = [];
    addLimits(this.#others, x, attempt, found);
    for (const [key, byValue] of this.#byKey) {
      const value = keyValue(key, x, attempt);
      const policies = value === null ? undefined : byValue.get(value);
      if (policies !== undefined) addLimits(policies, x, attempt, found);
    }
    return found;
  }

  get isEmpty(): boolean {
    return this.#others.length === 0 && this.#byKey.size === 0;
  }
}

function addLimits<Limit>(
  policies: readonly CompiledPolicy<Limit>[],
  x: Exchange,
  attempt: PlannedTarget | null,
  found: Limit[],
): void {
  for (const policy of policies) {
    const limit = policy.limit(x, attempt);
    if (limit !== null) found.push(limit);
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
const rank = (key: string): number => {
  const at = ranks.indexOf(key.startsWith('metadata.') ? 'metadata' : key);
  return at < 0 ? ranks.length : at;
};

const none: readonly never[] = [];

/** The policies of one kind of a workspace; `Limit` is what a request meets of one. */
export class PolicySet<Limit> {
  /** Those that are decided before any target is asked, and those that name targets. */
  readonly #ofRequests = new PolicyIndex<Limit>();
  readonly #ofTargets = new PolicyIndex<Limit>();

  static of<Policy extends PolicyTerms, Limit>(
    policies: readonly Policy[],
    /** The limit of a policy for these values of its groups: `key:value`, joined by dashes. */
    limitOf: (policy: Policy, group: string) => Limit,
  ): PolicySet<Limit> {
    const set = new PolicySet<Limit>();
    for (const policy of policies) {
      const keys = [...policy.conditions.map(({ key }) => key), ...policy.groupBy];
      const index = keys.some((key) => keysOfTargets.has(key)) ? set.#ofTargets : set.#ofRequests;
      index.add(new CompiledPolicy(policy, (group) => limitOf(policy, group)));
    }
    return set;
  }

  ofRequest(x: Exchange): readonly Limit[] {
    return this.#ofRequests.isEmpty ? none : this.#ofRequests.limits(x, null);
  }

  ofTarget(x: Exchange, attempt: PlannedTarget): readonly Limit[] {
    return this.#ofTargets.isEmpty ? none : this.#ofTargets.limits(x, attempt);
  }
}
