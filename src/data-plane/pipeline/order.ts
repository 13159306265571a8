/**
 * The order of the chain, decided only here. Each name is a folder of `plugins/`, with the stage's declaration
 * (`stage.ts`), its hooks (`index.ts`) and, if there is one, its part in the control process (`control.ts`).
 *
 * auth        identifies the caller. First, so that unknown callers cost little.
 * body        reads the request's body. After auth, so that bodies of unknown callers are not parsed.
 * config      determines the call's routing, metadata and trace.
 * models      lists of models. After config, since a key's default config may name a provider that is asked instead.
 * guardrails  checks the request. Before the cache, so that a cached answer does not bypass a new rule.
 * cache       looks for a stored answer. Before limits, since a hit has no upstream cost.
 * limits      checks budgets and rates: the last check before a provider is called.
 * router      calls the provider, or several.
 * logger      records the request; its `log` runs last, in every case.
 */
export const order = [
  'auth',
  'body',
  'config',
  'models',
  'guardrails',
  'cache',
  'limits',
  'router',
  'logger',
] as const;

export type StageName = (typeof order)[number];

/** The position of a custom plugin: directly before or after a stage. */
export type Place = { readonly before: StageName } | { readonly after: StageName };
