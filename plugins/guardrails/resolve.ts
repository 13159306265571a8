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

  constructor(
    readonly targets: readonly Target[],
    defaults: Phases,
    readonly named: Named,
  ) {
    this.#defaults = { before: distinct(defaults.before), after: distinct(defaults.after) };
    this.#ofTargets.set(null, this.#defaults);
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
    return distinct(this.targets.flatMap((target) => this.of(target)[phase]));
  }
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

/**
 * Looks up the guardrails of an exchange. Throws `guardrail_not_found` for one that the config names. One of the
 * organisation's or the workspace's defaults that was archived has no effect any more.
 */
export function resolveGuardrails(host: Host, x: Exchange): Awaitable<ExchangeGuardrails> {
  const { workspaceId, organisationId, guardrails: defaults } = x.principal;
  const scope = workspaceId ?? organisationId;
  const leaf = targetsOf(x.config);
  const named: Named = new Map();
  const later: Promise<void>[] = [];
  const look = (
    key: GuardrailEntry | string,
    name: string,
    take: (found: GuardrailRules | null) => void,
  ): void => {
    if (named.has(key)) return;
    const found = host.directory.guardrail(scope, name);
    if (found instanceof Promise) later.push(found.then(take));
    else take(found);
  };
  for (const id of [...(defaults?.before ?? []), ...(defaults?.after ?? [])])
    look(id, id, (found) => void (found !== null && named.set(id, found)));
  const entries = new Set(
    leaf.flatMap(({ guardrails }) => [...(guardrails?.before ?? []), ...(guardrails?.after ?? [])]),
  );
  for (const entry of entries) {
    if (!isReference(entry)) named.set(entry, entry);
    else
      look(entry, entry.name, (found) => {
        if (found === null) throw notFound(host, entry.name);
        const isPlain = Object.keys(entry.actions).length === 0;
        named.set(entry, isPlain ? found : { ...found, ...entry.actions });
      });
  }
  const made = (): ExchangeGuardrails => {
    const rules = (ids: readonly string[] = []): GuardrailRules[] => ids.flatMap((id) => named.get(id) ?? []);
    return new ExchangeGuardrails(
      leaf,
      { before: rules(defaults?.before), after: rules(defaults?.after) },
      named,
    );
  };
  return later.length === 0 ? made() : Promise.all(later).then(made);
}

const notFound = (host: Host, name: string) =>
  host.error(
    'guardrail_not_found',
    `There is no guardrail ${JSON.stringify(name.slice(0, 64))} in this workspace or its organisation: name an active one.`,
    { param: `${host.headerPrefixes[0]}config` },
  );
