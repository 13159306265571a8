import type { Principal } from '../../src/common/access/principal.js';
import type { Awaitable, Policies, StoredProvider } from '../../src/common/core/directory.js';
import type { Attempt, Exchange } from '../../src/common/core/exchange.js';
import { counterName, type RatePolicy, type RateRule } from '../../src/common/core/rate-rules.js';
import type { Target } from '../../src/common/core/target.js';
import { definePlugin, type NeedsOf } from '../../src/common/plugin-host/plugin.js';
import { LimitAdmission, TakenPermits, takenSlot } from './admission.js';
import { isFree, RequestBudgets } from './budgets.js';
import type { LimitSettings } from './control.js';
import { ExemptKeys } from './exempt.js';
import { lookedAt } from './look.js';
import type { Limit, WorkerRate } from './permits.js';
import { PolicySet } from './policies/policy-set.js';
import stage from './stage.js';

/**
 * Rate limits and budgets. Rate limits of the key, its workspace and the policies that name no target are met once, before
 * anything is sent; those of providers, integrations and policies that name targets at each try. Budgets of cost and tokens
 * hold back at each try what it may use.
 */
export default definePlugin<LimitSettings, NeedsOf<typeof stage>>({
  ...stage,
  setup(_options, host) {
    const admission = new LimitAdmission(host);
    const exempt = new ExemptKeys(host.directory);
    const budgets = new RequestBudgets(() => admission.table);
    const ofPrincipals = new WeakMap<Principal, readonly WorkerRate[]>();
    const ofProviders = new WeakMap<StoredProvider, readonly WorkerRate[]>();
    const sets = new WeakMap<Policies, PolicySet<WorkerRate>>();

    const limitOf = (policy: RatePolicy, group: string): WorkerRate => {
      const { id, organisationId, name, measure, unit, value, shadow } = policy;
      const of = 'rate_limits_policy';
      const counter = counterName(organisationId, of, `${id}/${group}`, measure, unit);
      return admission.limit({ counter, of, name: name ?? id, measure, unit, value, shadow });
    };

    const setOf = (policies: Policies): PolicySet<WorkerRate> => {
      let set = sets.get(policies);
      if (set === undefined) {
        set = PolicySet.of(policies.rates, limitOf);
        sets.set(policies, set);
      }
      return set;
    };

    const ofPrincipal = (principal: Principal): readonly WorkerRate[] => {
      if (principal.limits === undefined) return none;
      let limits = ofPrincipals.get(principal);
      if (limits === undefined) {
        limits = principal.limits.map((rule) => admission.limit(rule));
        ofPrincipals.set(principal, limits);
      }
      return limits;
    };

    const ofProvider = (provider: StoredProvider | null): readonly WorkerRate[] => {
      if (provider?.limits === undefined) return none;
      let limits = ofProviders.get(provider);
      if (limits === undefined) {
        limits = provider.limits.map((rule) => admission.limit(rule));
        ofProviders.set(provider, limits);
      }
      return limits;
    };

    /** Has the request a budget, besides those of its target? */
    const hasBudgets = (x: Exchange, policies: Policies | null): boolean =>
      (x.principal.budgets !== undefined || (policies !== null && policies.budgets.length > 0)) && !isFree(x);

    const admitRequest = (x: Exchange, policies: Policies | null): Awaitable<void> => {
      const own = ofPrincipal(x.principal);
      const more = policies === null ? none : setOf(policies).ofRequest(x);
      let limits: readonly Limit[] = more.length === 0 ? own : own.length === 0 ? more : [...own, ...more];
      if (hasBudgets(x, policies)) {
        const held = budgets.held(x, policies);
        x.get(takenSlot).budgets = held;
        // Of the others each try finds out: most of them have something left.
        const others = budgets.once(x, policies);
        for (const one of held) if (one.permits.isUsedUp) others.push(one);
        if (others.length > 0) limits = [...limits, ...others];
      }
      if (limits.length > 0) return admission.admit(x, limits, null, null);
    };

    const admitAttempt = (
      x: Exchange,
      attempt: Attempt,
      target: Target,
      provider: StoredProvider | null,
      policies: Policies | null,
    ): Awaitable<void> => {
      const own = ofProvider(provider);
      const more = policies === null ? none : setOf(policies).ofTarget(x, attempt);
      let limits: readonly Limit[] = more.length === 0 ? own : own.length === 0 ? more : [...own, ...more];
      if ((hasBudgets(x, policies) || provider?.budgets !== undefined) && !isFree(x)) {
        const held = x.get(takenSlot);
        // A mirrored request begins here.
        held.budgets ??= budgets.held(x, policies);
        const ofTarget = budgets.ofTarget(x, attempt, provider, policies);
        limits =
          limits.length + ofTarget.length === 0 ? held.budgets : [...limits, ...held.budgets, ...ofTarget];
      }
      if (limits.length > 0) return admission.admit(x, limits, attempt, target);
    };

    return {
      request(x) {
        x.set(takenSlot, new TakenPermits());
        if (exempt.has(x.principal, null)) return;
        const { workspaceId, limits, budgets: ofKey } = x.principal;
        const policies = workspaceId === null ? null : host.directory.policies(workspaceId);
        if (policies instanceof Promise) return policies.then((found) => admitRequest(x, found));
        const isNone = policies === null || (policies.rates.length === 0 && policies.budgets.length === 0);
        if (limits === undefined && ofKey === undefined && isNone) return exempt.add(x.principal, null);
        return admitRequest(x, policies);
      },
      async explain(x, plan) {
        const { principal } = x;
        const { workspaceId } = principal;
        const policies = workspaceId === null ? null : await host.directory.policies(workspaceId);
        const set = policies === null ? null : setOf(policies);
        const rules = (limits: readonly WorkerRate[]): RateRule[] => limits.map(({ rule }) => rule);
        const rates = [...ofPrincipal(principal), ...(set?.ofRequest(x) ?? none)];
        const ofRequest = [...budgets.once(x, policies), ...budgets.held(x, policies)];
        plan.limits = await lookedAt(host, rules(rates), ofRequest);
        plan.limitsOf = async (target) => {
          const { slug } = target;
          const stored =
            slug === null || workspaceId === null ? null : await host.directory.provider(workspaceId, slug);
          const ofTarget = [...ofProvider(stored), ...(set?.ofTarget(x, target) ?? none)];
          return lookedAt(host, rules(ofTarget), budgets.ofTarget(x, target, stored, policies));
        };
      },
      attempt(x, call, attempt) {
        if (exempt.has(x.principal, attempt.slug)) return;
        const { workspaceId, budgets: ofKey } = x.principal;
        if (workspaceId === null) {
          if (ofKey !== undefined) return admitAttempt(x, attempt, call.target, null, null);
          return;
        }
        const provider = attempt.slug === null ? null : host.directory.provider(workspaceId, attempt.slug);
        const policies = host.directory.policies(workspaceId);
        if (provider instanceof Promise || policies instanceof Promise)
          return Promise.all([provider, policies]).then(([stored, found]) =>
            admitAttempt(x, attempt, call.target, stored, found),
          );
        const isNone = policies === null || (policies.rates.length === 0 && policies.budgets.length === 0);
        if (
          provider?.limits === undefined &&
          provider?.budgets === undefined &&
          ofKey === undefined &&
          isNone
        ) {
          // The key may have its own limits, which `request` checks.
          if (exempt.has(x.principal, null)) exempt.add(x.principal, attempt.slug);
          return;
        }
        return admitAttempt(x, attempt, call.target, provider, policies);
      },
      log: (x) => {
        if (x.principal !== undefined) admission.settle(x);
      },
    };
  },
});

const none: readonly WorkerRate[] = [];
