/**
 * The order of the chain, and the only place that decides it.
 *
 * auth        who calls? Nothing is spent on a stranger.
 * config      what governs this call: routing, metadata, trace.
 * guardrails  may this be asked? Before the cache: a cached answer must not slip past a new rule.
 * cache       do we know the answer? Before limits: a hit costs no upstream money.
 * limits      may this key still spend? Last check before money flows.
 * router      ask the provider, or several.
 * logger      write down what happened; its `log` runs last, whatever happened before.
 *
 * A stage whose plugin is not part of this build is absent from the chain.
 */
export const order = ['auth', 'config', 'guardrails', 'cache', 'limits', 'router', 'logger'] as const;

export type StageName = (typeof order)[number];

/** Where a deployment puts a custom plugin: directly before or after a stage. */
export type Place = { readonly before: StageName } | { readonly after: StageName };
