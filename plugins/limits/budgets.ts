import type { Principal } from '../../src/common/access/principal.js';
import {
  type BudgetPolicy,
  type BudgetRule,
  budgetName,
  periodAt,
} from '../../src/common/core/budget-rules.js';
import type { Policies, StoredProvider } from '../../src/common/core/directory.js';
import type { Exchange } from '../../src/common/core/exchange.js';
import type { PlannedTarget } from '../../src/common/ipc/explained.js';
import type { PeriodBudget, PermitTable } from './permits.js';
import { PolicySet } from './policies/policy-set.js';

type TableOf = () => Pick<PermitTable, 'ofBudget'>;

/** A budget, as the requests of a worker meet it: each in the period that it began in. */
class Budget {
  #latest: PeriodBudget | null = null;

  constructor(
    readonly rule: BudgetRule,
    readonly table: TableOf,
  ) {}

  isOf({ metadata: given }: Exchange): boolean {
    const { metadata } = this.rule;
    if (metadata === undefined) return true;
    for (const name in metadata) if (given[name] !== metadata[name]) return false;
    return true;
  }

  at(time: number): PeriodBudget {
    const latest = this.#latest;
    if (latest !== null) {
      const { startsAt, endsAt } = latest.period;
      if (time >= startsAt && (endsAt === null || time < endsAt)) return latest;
    }
    const found = this.table().ofBudget(this.rule, periodAt(this.rule, time));
    this.#latest = found;
    return found;
  }
}

/** The policies of a workspace: those that count requests, and the others. */
interface PolicySets {
  readonly once: PolicySet<Budget>;
  readonly held: PolicySet<Budget>;
}

/** Reading what was made before costs nothing, and goes on without a budget. */
const free = /^\/v1\/(batches|files|fine_tuning)(\/|$)/;

export const isFree = ({ endpoint, request }: Exchange): boolean =>
  endpoint.name === 'passthrough' && request.method === 'GET' && free.test(request.path);

/** Which budgets a request meets, and when. */
export class RequestBudgets {
  readonly #ofPrincipals = new WeakMap<Principal, readonly Budget[]>();
  readonly #ofProviders = new WeakMap<StoredProvider, readonly Budget[]>();
  readonly #sets = new WeakMap<Policies, PolicySets>();

  constructor(readonly table: TableOf) {}

  /** RequestBudgets of requests that count once, whatever is sent: those of the key, its workspace, and policies that name no target. */
  once(x: Exchange, policies: Policies | null): PeriodBudget[] {
    return this.#ofRequest(x, policies, true);
  }

  /** The same that count cost and tokens: so much is held back for each try. */
  held(x: Exchange, policies: Policies | null): PeriodBudget[] {
    return this.#ofRequest(x, policies, false);
  }

  /** Those of the provider, its integration, and policies that name targets. */
  ofTarget(
    x: Exchange,
    attempt: PlannedTarget,
    provider: StoredProvider | null,
    policies: Policies | null,
  ): PeriodBudget[] {
    const found: PeriodBudget[] = [];
    for (const budget of this.#ofProvider(provider)) found.push(budget.at(x.startedAt));
    if (policies === null || policies.budgets.length === 0) return found;
    const { once, held } = this.#setsOf(policies);
    for (const budget of once.ofTarget(x, attempt)) found.push(budget.at(x.startedAt));
    for (const budget of held.ofTarget(x, attempt)) found.push(budget.at(x.startedAt));
    return found;
  }

  #ofRequest(x: Exchange, policies: Policies | null, isOnce: boolean): PeriodBudget[] {
    const found: PeriodBudget[] = [];
    for (const budget of this.#ofPrincipal(x.principal))
      if ((budget.rule.measure === 'requests') === isOnce && budget.isOf(x))
        found.push(budget.at(x.startedAt));
    if (policies === null || policies.budgets.length === 0) return found;
    const { once, held } = this.#setsOf(policies);
    for (const budget of (isOnce ? once : held).ofRequest(x)) found.push(budget.at(x.startedAt));
    return found;
  }

  #ofPrincipal(principal: Principal): readonly Budget[] {
    if (principal.budgets === undefined) return none;
    let budgets = this.#ofPrincipals.get(principal);
    if (budgets === undefined) {
      budgets = principal.budgets.map((rule) => new Budget(rule, this.table));
      this.#ofPrincipals.set(principal, budgets);
    }
    return budgets;
  }

  #ofProvider(provider: StoredProvider | null): readonly Budget[] {
    if (provider?.budgets === undefined) return none;
    let budgets = this.#ofProviders.get(provider);
    if (budgets === undefined) {
      budgets = provider.budgets.map((rule) => new Budget(rule, this.table));
      this.#ofProviders.set(provider, budgets);
    }
    return budgets;
  }

  #setsOf(policies: Policies): PolicySets {
    let sets = this.#sets.get(policies);
    if (sets === undefined) {
      const setOf = (wanted: readonly BudgetPolicy[]) =>
        PolicySet.of(wanted, (policy, group) => new Budget(ruleOf(policy, group), this.table));
      const { budgets } = policies;
      sets = {
        once: setOf(budgets.filter(({ measure }) => measure === 'requests')),
        held: setOf(budgets.filter(({ measure }) => measure !== 'requests')),
      };
      this.#sets.set(policies, sets);
    }
    return sets;
  }
}

const none: readonly Budget[] = [];

/** The budget of a policy for these values of its groups. */
function ruleOf(
  { id, organisationId, name, conditions: _, groupBy: __, ...terms }: BudgetPolicy,
  group: string,
): BudgetRule {
  const of = 'usage_limits_policy';
  const budget = budgetName(organisationId, of, id, terms.measure, group);
  return { ...terms, budget, of, name: name ?? id };
}
