import type { Principal } from '../../src/common/access/principal.js';
import type { Awaitable, Policies, StoredProvider } from '../../src/common/core/directory.js';
import type { Attempt, Exchange } from '../../src/common/core/exchange.js';
import type { RateRule } from '../../src/common/core/rate-rules.js';
import type { Target } from '../../src/common/core/target.js';
import { definePlugin, type NeedsOf } from '../../src/common/plugin-host/plugin.js';
import { LimitAdmission, TakenPermits, takenSlot } from './admission.js';
import type { LimitSettings } from './control.js';
import { isFor, lookedAt } from './look.js';
import type { Limit } from './permits.js';
import { PolicySet } from './policies/policy-set.js';
import stage from './stage.js';

/**
 * Rate limits. Those of the key, its workspace and the policies that name no target are met once, before anything is
 * sent; those of providers, integrations and policies that name targets at each try.
 */
export default definePlugin<LimitSettings, NeedsOf<typeof stage>>({
  ...stage,
  setup(_options, host) {
    const admission = new LimitAdmission(host);
    const ofPrincipals = new WeakMap<Principal, readonly Limit[]>();
    const ofProviders = new WeakMap<StoredProvider, readonly Limit[]>();
    const sets = new WeakMap<Policies, PolicySet>();

    const setOf = (policies: Policies): PolicySet => {
      let set = sets.get(policies);
      if (set === undefined) {
        set = new PolicySet(policies.rates, (rule) => admission.limit(rule));
        sets.set(policies, set);
      }
      return set;
    };

    const ofPrincipal = (principal: Principal): readonly Limit[] => {
      if (principal.limits === undefined) return none;
      let limits = ofPrincipals.get(principal);
      if (limits === undefined) {
        limits = principal.limits.map((rule) => admission.limit(rule));
        ofPrincipals.set(principal, limits);
      }
      return limits;
    };

    const ofProvider = (provider: StoredProvider | null): readonly Limit[] => {
      if (provider?.limits === undefined) return none;
      let limits = ofProviders.get(provider);
      if (limits === undefined) {
        limits = provider.limits.map((rule) => admission.limit(rule));
        ofProviders.set(provider, limits);
      }
      return limits;
    };

    const admitRequest = (x: Exchange, policies: Policies | null): Awaitable<void> => {
      const own = ofPrincipal(x.principal);
      const more = policies === null ? none : setOf(policies).ofRequest(x);
      const limits = more.length === 0 ? own : own.length === 0 ? more : [...own, ...more];
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
      const limits = more.length === 0 ? own : own.length === 0 ? more : [...own, ...more];
      if (limits.length > 0) return admission.admit(x, limits, attempt, target);
    };

    return {
      request(x) {
        x.set(takenSlot, new TakenPermits());
        const { workspaceId } = x.principal;
        const policies = workspaceId === null ? null : host.directory.policies(workspaceId);
        if (policies instanceof Promise) return policies.then((found) => admitRequest(x, found));
        if (x.principal.limits === undefined && (policies === null || policies.rates.length === 0)) return;
        return admitRequest(x, policies);
      },
      async explain(x, plan) {
        const { principal } = x;
        const { workspaceId } = principal;
        const policies = workspaceId === null ? null : await host.directory.policies(workspaceId);
        const set = policies === null ? null : setOf(policies);
        const rules = (limits: readonly Limit[]): RateRule[] => limits.map(({ rule }) => rule);
        const rates = [...ofPrincipal(principal), ...(set?.ofRequest(x) ?? none)];
        const budgets = (principal.budgets ?? []).filter((rule) => isFor(rule, x));
        plan.limits = await lookedAt(host, rules(rates), budgets);
        plan.limitsOf = async (target) => {
          const { slug } = target;
          const stored =
            slug === null || workspaceId === null ? null : await host.directory.provider(workspaceId, slug);
          const ofTarget = [...ofProvider(stored), ...(set?.ofTarget(x, target) ?? none)];
          return lookedAt(host, rules(ofTarget), stored?.budgets ?? []);
        };
      },
      attempt(x, call, attempt) {
        const { workspaceId } = x.principal;
        if (workspaceId === null) return;
        const provider = attempt.slug === null ? null : host.directory.provider(workspaceId, attempt.slug);
        const policies = host.directory.policies(workspaceId);
        if (provider instanceof Promise || policies instanceof Promise)
          return Promise.all([provider, policies]).then(([stored, found]) =>
            admitAttempt(x, attempt, call.target, stored, found),
          );
        if (provider?.limits === undefined && (policies === null || policies.rates.length === 0)) return;
        return admitAttempt(x, attempt, call.target, provider, policies);
      },
      log: (x) => {
        if (x.principal !== undefined) admission.settle(x);
      },
    };
  },
});

const none: readonly Limit[] = [];
