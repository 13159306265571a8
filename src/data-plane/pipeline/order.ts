/**
 * The order of the chain, and the only place that decides it. Each name is a folder of `plugins/`, with what the stage
 * brings (`stage.ts`), its hooks (`index.ts`) and, where it has one, its part in the control process (`control.ts`).
 *
 * auth        who calls? Nothing is spent on a stranger.
 * body        reads the request's body: a stranger's is not worth parsing, and every later stage finds it read.
 * config      what governs this call: routing, metadata, trace.
 * models      lists of models. After config, since a key's default config may name a provider that is asked instead.
 * guardrails  may this be asked? Before the cache: a cached answer must not slip past a new rule.
 * cache       is the answer known? Before limits: a hit costs no upstream money.
 * limits      may this key still spend? Last check before money flows.
 * router      asks the provider, or several.
 * logger      writes down what happened; its `log` runs last, whatever happened before.
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

/** Places of stages that are not part of this version: they have no folder yet. */
export const planned: ReadonlySet<StageName> = new Set(['guardrails']);

export type StageName = (typeof order)[number];

/** Where a deployment puts a custom plugin: directly before or after a stage. */
export type Place = { readonly before: StageName } | { readonly after: StageName };
