import type { Principal } from '../../src/common/access/principal.js';
import type { Awaitable } from '../../src/common/core/directory.js';
import type { Exchange } from '../../src/common/core/exchange.js';
import type { GuardrailEntry, GuardrailReference, GuardrailRules } from '../../src/common/core/guardrail.js';
import type { ResolvedConfig, RouteNode, Target } from '../../src/common/core/target.js';
import type { Host } from '../../src/common/plugin-host/plugin.js';

/** Guardrails by the phase in which they run. */
export interface Phases {
  readonly before: readonly GuardrailRules[];
  readonly after: readonly GuardrailRules[];
}

type Named = Map<GuardrailEntry | string, GuardrailRules>;

const isReference = (entry: GuardrailEntry): entry is GuardrailReference => 'name' in entry;

/** The guardrails of one exchange: those of its organisation and workspace, and those that its config names. */
export class ExchangeGuardrails {
  /** Those that hold for every target. */
  readonly #defaults: Phases;
  readonly #ofTargets = new Map<object | null, Phases>();
  readonly #all: Phases;
  /** No target has any. */
  readonly isEmpty: boolean;
  /** Identifies them. */
  readonly versions: string;

  constructor(
    readonly targets: readonly Target[],
    defaults: Phases,
    readonly named: Named,
  ) {
    this.#defaults = { before: distinct(defaults.before), after: distinct(defaults.after) };
    this.#ofTargets.set(null, this.#defaults);
    const all = (phase: keyof Phases): readonly GuardrailRules[] =>
      distinct(targets.flatMap((target) => this.of(target)[phase]));
    this.#all = { before: all('before'), after: all('after') };
    const { before, after } = this.#all;
    this.isEmpty = before.length + after.length === 0;
    this.versions = JSON.stringify([before, after].map((each) => each.map(({ versionId }) => versionId)));
  }

  of({ guardrails }: Pick<Target, 'guardrails'>): Phases {
    if (guardrails === undefined) return this.#defaults;
    let phases = this.#ofTargets.get(guardrails);
    if (phases === undefined) {
      const rules = (entries: readonly GuardrailEntry[]): GuardrailRules[] =>
        entries.flatMap((entry) => this.named.get(entry) ?? []);
      phases = {
        before: distinct([...this.#defaults.before, ...rules(guardrails.before)]),
        after: distinct([...this.#defaults.after, ...rules(guardrails.after)]),
      };
      this.#ofTargets.set(guardrails, phases);
    }
    return phases;
  }

  /** Those of any target. */
  all(phase: keyof Phases): readonly GuardrailRules[] {
    return this.#all[phase];
  }
}

/** Guardrails with effect on the request, and those that run in the background. */
interface SplitGuardrails {
  readonly sync: readonly GuardrailRules[];
  readonly beside: readonly GuardrailRules[];
}

const splitOf = new WeakMap<readonly GuardrailRules[], SplitGuardrails>();

/** `guardrails`: a list that is never modified. The parts are the same lists each time. */
export function split(guardrails: readonly GuardrailRules[]): SplitGuardrails {
  let found = splitOf.get(guardrails);
  if (found === undefined) {
    found = {
      sync: guardrails.filter(({ async }) => !async),
      beside: guardrails.filter(({ async }) => async),
    };
    splitOf.set(guardrails, found);
  }
  return found;
}

/** One guardrail may be named in several places: it runs once, with the actions of the first of them. */
function distinct(guardrails: readonly GuardrailRules[]): readonly GuardrailRules[] {
  const versions = new Set<string>();
  return guardrails.filter(({ versionId }) => !versions.has(versionId) && versions.add(versionId));
}

const leavesOf = new WeakMap<RouteNode, readonly Target[]>();

/** Every target of a config. */
export function targetsOf({ root }: ResolvedConfig): readonly Target[] {
  let found = leavesOf.get(root);
  if (found === undefined) {
    found = leaves(root);
    leavesOf.set(root, found);
  }
  return found;
}

const leaves = (node: RouteNode): Target[] =>
  node.kind === 'target' ? [node.target] : node.children.flatMap(leaves);

/** What was looked up for a config, and what was made of it. */
interface Made {
  readonly defaults: Principal['guardrails'];
  readonly found: readonly (GuardrailRules | null)[];
  readonly guardrails: ExchangeGuardrails;
}

/** The last ones of each config: they are made again only when one of its guardrails has changed. */
const madeOf = new WeakMap<RouteNode, Made>();

/**
 * Looks up the guardrails of an exchange. Throws `guardrail_not_found` for one that the config names. One of the
 * organisation's or the workspace's defaults that was archived has no effect any more.
 */
export function resolveGuardrails(host: Host, x: Exchange): Awaitable<ExchangeGuardrails> {
  const { workspaceId, organisationId, guardrails: defaults } = x.principal;
  const scope = workspaceId ?? organisationId;
  const { ids, entries } = namesOf(x.config, defaults);
  let isLater = false;
  const look = (name: string): Awaitable<GuardrailRules | null> => {
    const found = host.directory.guardrail(scope, name);
    isLater ||= found instanceof Promise;
    return found;
  };
  const found = [...ids.map(look), ...entries.map(({ name }) => look(name))];
  const take = (all: readonly (GuardrailRules | null)[]): ExchangeGuardrails => {
    const missing = entries.find((_, i) => all[ids.length + i] === null);
    if (missing !== undefined) throw notFound(host, missing.name);
    const { root } = x.config;
    let made = madeOf.get(root);
    if (made === undefined || made.defaults !== defaults || !isSame(made.found, all)) {
      made = { defaults, found: all, guardrails: guardrailsOf(x.config, defaults, all) };
      madeOf.set(root, made);
    }
    return made.guardrails;
  };
  return isLater ? Promise.all(found).then(take) : take(found as (GuardrailRules | null)[]);
}

const isSame = (some: readonly unknown[], others: readonly unknown[]): boolean =>
  some.length === others.length && some.every((one, i) => one === others[i]);

const none: readonly never[] = [];

/** Entries of a config that name stored guardrails, each once. */
const referencesOf = new WeakMap<RouteNode, readonly GuardrailReference[]>();

function namesOf(
  config: ResolvedConfig,
  defaults: Principal['guardrails'],
): { readonly ids: readonly string[]; readonly entries: readonly GuardrailReference[] } {
  let entries = referencesOf.get(config.root);
  if (entries === undefined) {
    entries = [...entriesOf(config)].filter(isReference);
    referencesOf.set(config.root, entries);
  }
  return { ids: defaults === undefined ? none : [...defaults.before, ...defaults.after], entries };
}

const entriesOf = (config: ResolvedConfig): Set<GuardrailEntry> =>
  new Set(
    targetsOf(config).flatMap(({ guardrails }) => [
      ...(guardrails?.before ?? []),
      ...(guardrails?.after ?? []),
    ]),
  );

/** `found`: what the ids of the defaults and then the references of the config name. */
function guardrailsOf(
  config: ResolvedConfig,
  defaults: Principal['guardrails'],
  found: readonly (GuardrailRules | null)[],
): ExchangeGuardrails {
  const { ids, entries } = namesOf(config, defaults);
  const named: Named = new Map();
  for (const entry of entriesOf(config)) if (!isReference(entry)) named.set(entry, entry);
  for (const [i, key] of [...ids, ...entries].entries()) {
    const one = found[i];
    if (one == null) continue;
    const isPlain = typeof key === 'string' || Object.keys(key.actions).length === 0;
    named.set(key, isPlain ? one : { ...one, ...key.actions });
  }
  const rules = (names: readonly string[] = none): GuardrailRules[] =>
    names.flatMap((id) => named.get(id) ?? []);
  const phases = { before: rules(defaults?.before), after: rules(defaults?.after) };
  return new ExchangeGuardrails(targetsOf(config), phases, named);
}

const notFound = (host: Host, name: string) =>
  host.error(
    'guardrail_not_found',
    `There is no guardrail ${JSON.stringify(name.slice(0, 64))} in this workspace or its organisation: name an active one.`,
    { param: `${host.headerPrefixes[0]}config` },
  );
