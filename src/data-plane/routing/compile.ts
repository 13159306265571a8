import { retainedBytes } from '../../common/bytes/retained-bytes.js';
import type {
  BalanceBy,
  Branch,
  CacheRule,
  Hedge,
  ResolvedConfig,
  RouteNode,
  Sticky,
} from '../../common/core/target.js';
import { isJsonObject, parseJson, stringifyJson } from '../../common/json/json.js';
import { defaultTarget, fingerprintOf } from '../../common/vocabulary/default-config.js';
import { QueryCompiler } from './conditions.js';
import { type ConfigLimits, readDraft } from './draft.js';
import { Findings } from './findings.js';
import { cacheRule, frozen, type Inherited, inherit, targetOf } from './inherited.js';
import { checkRoot } from './rules.js';
import type { Draft, StrategyFields } from './schema.js';
import { conversationOf, sessionReader } from './session.js';

export interface CompileOptions {
  /** Slug of a stored config; null for an inline one. */
  readonly slug: string | null;
  readonly version: string;
  isProvider(name: string): boolean;
  /** Lower-case prefixes of the gateway's own headers beside `x-gateway-`. */
  readonly headerPrefixes?: readonly string[];
  readonly limits?: Partial<ConfigLimits>;
}

const defaultLimits: ConfigLimits = { maxBytes: 256 * 1024, maxTargets: 64, maxDepth: 8 };

/**
 * Bytes of heap of what is derived from a target while it is used: its name, its edits of bodies, its places in the
 * cache's and the router's tables. Rounded up.
 */
const derivedBytes = 1024;

/** Checks and compiles the text of a routing config. Throws `AB01` with every finding as `path: …, message: …`. */
export function compileConfig(text: string, options: CompileOptions): ResolvedConfig {
  const limits = options.limits === undefined ? defaultLimits : { ...defaultLimits, ...options.limits };
  const findings = new Findings();
  const rules = {
    stored: options.slug !== null,
    isProvider: options.isProvider,
    headerPrefixes: ['x-gateway-', ...(options.headerPrefixes ?? [])],
  };
  const root = readDraft(parse(text, limits.maxBytes, findings), limits, rules, findings);
  if (root !== null && findings.none) checkRoot(root, rules, findings);
  if (root === null || !findings.none) throw findings.error();
  const compiler = new Compiler(findings, new QueryCompiler(findings, rules.headerPrefixes));
  // Every call has the root's metadata already; targets have only their additions.
  const node = compiler.node(root, inherit(defaultTarget, root, null));
  if (!findings.none) throw findings.error();
  return Object.freeze({
    slug: options.slug,
    version: options.version,
    fingerprint: fingerprintOf(`${options.slug ?? ''}\n${options.version}\n${text}`),
    root: node,
    layer: null,
    bytes: keptBytes(node, compiler.queries, text),
    cache: cacheRule(root.fields) ?? firstCache(node),
    metered: isMetered(node),
    ...(root.fields.plugins !== undefined && { plugins: root.fields.plugins }),
    ...(root.fields.fetch_integrated_models === true && { listsIntegrated: true as const }),
    ...(isGuarded(node) && { guarded: true as const }),
    metadata: Object.freeze({ ...root.fields.metadata }),
  });
}

/**
 * Objects derived from a config (texts of queries, edits of targets, a params header) take at most its length once
 * more.
 */
function keptBytes(root: RouteNode, queries: QueryCompiler, text: string): number {
  let derived = 2 * text.length;
  const visit = (node: RouteNode): void => {
    if (node.kind === 'target') derived += derivedBytes;
    else for (const child of node.children) visit(child);
  };
  visit(root);
  return retainedBytes(root) + queries.bytes + derived;
}

function isMetered(node: RouteNode): boolean {
  if (node.kind === 'target') return false;
  return (node.kind === 'loadbalance' && node.by !== 'weight') || node.children.some(isMetered);
}

function isGuarded(node: RouteNode): boolean {
  return node.kind === 'target' ? node.target.guardrails !== undefined : node.children.some(isGuarded);
}

function firstCache(node: RouteNode): CacheRule | null {
  if (node.kind === 'target') return node.target.cache;
  for (const child of node.children) {
    const found = firstCache(child);
    if (found !== null) return found;
  }
  return null;
}

function parse(text: string, maxBytes: number, findings: Findings): unknown {
  if (text.length > maxBytes || Buffer.byteLength(text) > maxBytes) {
    findings.add('config', `is too long: at most ${maxBytes} bytes`);
    throw findings.error();
  }
  try {
    return parseJson(text);
  } catch (thrown) {
    // The parser's own message quotes the text, keys and all: only its position may be reported.
    const position = /at position (\d+)/.exec((thrown as Error).message)?.[1];
    findings.add('config', `is not valid JSON${position === undefined ? '' : ` (at position ${position})`}`);
    throw findings.error();
  }
}

class Compiler {
  constructor(
    readonly findings: Findings,
    readonly queries: QueryCompiler,
  ) {}

  node(draft: Draft, own: Inherited): RouteNode {
    const { path, fields, children } = draft;
    const { strategy } = fields;
    if (strategy === undefined || children === null) {
      return Object.freeze({
        kind: 'target',
        path,
        target: targetOf(draft, own),
      });
    }
    switch (strategy.mode) {
      case 'single':
        return this.#child(children[0]!, own, strategy);
      case 'conditional':
        return this.#conditional(path, strategy, children, own);
      case 'fallback':
        return this.#fallback(path, strategy, this.#children(children, own, strategy));
      case 'priority':
        return this.#tiers(path, strategy, children, own);
      default:
        return this.#balance(path, strategy, children, this.#children(children, own, strategy));
    }
  }

  #children(children: readonly Draft[], own: Inherited, strategy: StrategyFields): readonly RouteNode[] {
    return Object.freeze(children.map((child) => this.#child(child, own, strategy)));
  }

  #child(draft: Draft, parent: Inherited, strategy: StrategyFields): RouteNode {
    const own = inherit(parent, draft, strategy);
    const added = draft.fields.metadata;
    if (added === undefined) return this.node(draft, own);
    return this.node(draft, { ...own, metadata: Object.freeze({ ...parent.metadata, ...added }) });
  }

  #fallback(path: string, strategy: StrategyFields, children: readonly RouteNode[]): RouteNode {
    return Object.freeze({
      kind: 'fallback',
      path,
      onStatusCodes: frozen(strategy.on_status_codes),
      hedge: hedgeOf(strategy),
      children,
    });
  }

  #balance(
    path: string,
    strategy: StrategyFields,
    drafts: readonly Draft[],
    children: readonly RouteNode[],
  ): RouteNode {
    let total = 0;
    const { mode } = strategy;
    const node: RouteNode = Object.freeze({
      kind: 'loadbalance',
      path,
      by: balanceBy[mode] ?? 'weight',
      children,
      cumulativeWeights: Object.freeze(drafts.map(({ fields }) => (total += fields.weight ?? 1))),
      sticky: stickyOf(strategy),
      hedge: mode === 'priority' ? null : hedgeOf(strategy),
      failover:
        mode === 'loadbalance' ? null : Object.freeze({ onStatusCodes: frozen(strategy.on_status_codes) }),
    });
    return node;
  }

  /** The targets of the lowest number first, by their weights; those of the next number if all of them fail. */
  #tiers(path: string, strategy: StrategyFields, children: readonly Draft[], own: Inherited): RouteNode {
    const tiers = new Map<number, Draft[]>();
    for (const child of children) {
      const priority = child.fields.priority ?? 0;
      const tier = tiers.get(priority);
      if (tier === undefined) tiers.set(priority, [child]);
      else tier.push(child);
    }
    const nodes = [...tiers.entries()]
      .sort(([a], [b]) => a - b)
      .map(([, tier]) => this.#balance(path, strategy, tier, this.#children(tier, own, strategy)));
    return this.#fallback(path, strategy, Object.freeze(nodes));
  }

  #conditional(
    path: string,
    strategy: StrategyFields,
    children: readonly Draft[],
    own: Inherited,
  ): RouteNode {
    const index = (name: string | undefined): number =>
      children.findIndex(({ fields }) => fields.name === name);
    const seen = new Set<string>();
    const branches = (strategy.conditions ?? []).map(({ query, then }, i): Branch => {
      const at = `${path}.strategy.conditions[${i}].query`;
      const test = this.queries.compile(query, at);
      // Only what was found valid is known to be no deeper than can be written out.
      const text = this.findings.none ? stringifyJson(sorted(query)) : `${i}`;
      if (seen.has(text)) this.findings.add(at, 'never decides: an earlier condition has the same query');
      seen.add(text);
      return Object.freeze({
        test,
        query: this.findings.none ? stringifyJson(query) : '',
        // biome-ignore lint/suspicious/noThenProperty: an index, of a branch that is never awaited.
        then: index(then),
      });
    });
    return Object.freeze({
      kind: 'conditional',
      path,
      branches: Object.freeze(branches),
      otherwise: index(strategy.default),
      // Targets of conditions have no breakers: a condition always gets the target that it names.
      children: this.#children(children, { ...own, breaker: null }, { ...strategy, cb_config: undefined }),
    });
  }
}

const balanceBy: Partial<Record<StrategyFields['mode'], BalanceBy>> = {
  least_latency: 'latency',
  least_cost: 'cost',
  least_busy: 'busy',
};

/** The same value with the keys of every object sorted. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}

function hedgeOf({ hedge }: StrategyFields): Hedge | null {
  if (hedge === undefined) return null;
  const { percentile = 95, min_delay: minDelayMs = 0, max_extra: maxExtra = 0.03 } = hedge;
  return Object.freeze({ percentile, minDelayMs, maxExtra });
}

const defaultTtlSeconds = 300;

function stickyOf({ sticky, affinity }: StrategyFields): Sticky | null {
  const fields = sticky?.enabled === true ? (sticky.hash_fields ?? []) : null;
  if (fields === null && affinity?.enabled !== true) return null;
  const ttl = (fields === null ? affinity?.ttl : sticky?.ttl) ?? defaultTtlSeconds;
  return Object.freeze({
    fields: fields === null ? null : Object.freeze([...fields]),
    session: fields === null ? conversationOf : sessionReader(fields),
    ttlMs: ttl * 1000,
  });
}
