import { defaultTarget, fingerprintOf } from '../core/default-config.js';
import { isJsonObject, parseJson, stringifyJson } from '../core/json.js';
import { fieldValue, providerFields } from '../core/provider-fields.js';
import { Secret } from '../core/secret.js';
import type {
  BalanceBy,
  Branch,
  Breaker,
  CacheRule,
  Concurrency,
  Hedge,
  Mirror,
  ParamPath,
  ResolvedConfig,
  Retry,
  RouteNode,
  Sticky,
  Target,
} from '../core/target.js';
import { QueryCompiler } from './conditions.js';
import { type ConfigLimits, readDraft } from './draft.js';
import { Findings } from './findings.js';
import { readParamPath } from './param-path.js';
import { checkRoot, readBaseUrl } from './rules.js';
import type { BreakerFields, Draft, NodeFields, StrategyFields } from './schema.js';
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

const defaultRetryCodes: readonly number[] = Object.freeze([429, 500, 502, 503, 504]);

/** What a config's level hands down to its targets. */
type Inherited = Omit<Target, 'path' | 'name'>;

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
  // The root's metadata goes with every call already; only what targets add is theirs.
  const node = compiler.node(root, inherit(defaultTarget, root, null));
  if (!findings.none) throw findings.error();
  return Object.freeze({
    slug: options.slug,
    version: options.version,
    fingerprint: fingerprintOf(`${options.slug ?? ''}\n${options.version}\n${text}`),
    root: node,
    cache: cacheRule(root.fields) ?? firstCache(node),
    metered: isMetered(node),
    metadata: Object.freeze({ ...root.fields.metadata }),
  });
}

function isMetered(node: RouteNode): boolean {
  if (node.kind === 'target') return false;
  return (node.kind === 'loadbalance' && node.by !== 'weight') || node.children.some(isMetered);
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
    // The parser's own message quotes the text, keys and all: only its position may be told.
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

  /** The targets of the lowest number first, by their weights; those of the next where they all fail. */
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
        // biome-ignore lint/suspicious/noThenProperty: an index, of a branch that nobody awaits.
        then: index(then),
      });
    });
    return Object.freeze({
      kind: 'conditional',
      path,
      branches: Object.freeze(branches),
      otherwise: index(strategy.default),
      // A breaker does not judge the targets of conditions: what a condition asked for is what it gets.
      children: this.#children(children, { ...own, breaker: null }, { ...strategy, cb_config: undefined }),
    });
  }
}

const balanceBy: Partial<Record<StrategyFields['mode'], BalanceBy>> = {
  least_latency: 'latency',
  least_cost: 'cost',
  least_busy: 'busy',
};

/** The same value with every object's keys in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}

/** Passed through as it came, a body knows no rules, also none that are handed down. */
function targetOf({ path, fields }: Draft, own: Inherited): Target {
  const params = own.passthrough ? { defaultParams: null, overrideParams: null, dropParams: null } : null;
  return Object.freeze({ ...own, ...params, path, name: fields.name ?? null });
}

/** What a level has: what it says itself, else what is handed down to it. A value is taken whole, never mixed. */
function inherit(parent: Inherited, draft: Draft, around: StrategyFields | null): Inherited {
  const { fields } = draft;
  return {
    ...parent,
    ...credentials(parent, fields),
    customHost: fields.custom_host === undefined ? parent.customHost : readBaseUrl(fields.custom_host),
    defaultParams: fields.default_params ?? parent.defaultParams,
    overrideParams: fields.override_params ?? parent.overrideParams,
    dropParams: fields.drop_params === undefined ? parent.dropParams : paramPaths(fields.drop_params),
    forwardHeaders: forwardHeaders(fields) ?? parent.forwardHeaders,
    requestTimeoutMs: fields.request_timeout ?? parent.requestTimeoutMs,
    deadlineMs: fields.deadline ?? parent.deadlineMs,
    retry: retryOf(fields) ?? parent.retry,
    onStatusCodes: frozen(fields.on_status_codes) ?? (sharesFallback(around) ? parent.onStatusCodes : null),
    breaker: breakerOf(fields.cb_config ?? around?.cb_config) ?? parent.breaker,
    cache: cacheRule(fields) ?? parent.cache,
    concurrency: concurrencyOf(fields) ?? parent.concurrency,
    mirror: mirrorOf(parent, draft) ?? parent.mirror,
    passthrough: fields.passthrough ?? parent.passthrough,
    strictOpenAiCompliance: fields.strict_open_ai_compliance ?? parent.strictOpenAiCompliance,
    fields: providerFieldsOf(fields, parent.fields),
  };
}

/** A level's own statuses are for the fallback around it: a strategy that is one itself hands them down to nobody. */
function sharesFallback(around: StrategyFields | null): boolean {
  return around !== null && ['single', 'loadbalance', 'conditional'].includes(around.mode);
}

const frozen = (codes: readonly number[] | undefined): readonly number[] | null =>
  codes === undefined ? null : Object.freeze([...codes]);

function breakerOf(given: BreakerFields | undefined): Breaker | null {
  if (given === undefined) return null;
  return Object.freeze({
    failureThreshold: given.failure_threshold ?? null,
    failureThresholdPercentage: given.failure_threshold_percentage ?? null,
    minimumRequests: given.minimum_requests ?? 5,
    cooldownMs: given.cooldown_interval,
    failureStatusCodes: frozen(given.failure_status_codes),
  });
}

const defaultMaxAge = 604_800;
const defaultSimilarity = 0.95;

function cacheRule({ cache }: NodeFields): CacheRule | null {
  if (cache === undefined) return null;
  const { embedding } = cache;
  return Object.freeze({
    mode: cache.mode,
    maxAge: cache.max_age ?? defaultMaxAge,
    similarity: cache.similarity ?? defaultSimilarity,
    embedding: embedding === undefined ? null : Object.freeze({ ...embedding }),
  });
}

function concurrencyOf({ concurrency }: NodeFields): Concurrency | null {
  if (concurrency === undefined) return null;
  const {
    min = 1,
    max = 1000,
    queue = 1000,
    max_wait: maxWaitMs = 10_000,
    priority = 'normal',
  } = concurrency;
  return Object.freeze({ min, max, queue, maxWaitMs, priority });
}

/**
 * What is sent aside is neither retried nor mirrored again, waits for no turn, and nobody is spared it; it may take as
 * long as what it is a copy of.
 */
function mirrorOf(parent: Inherited, { fields, mirror }: Draft): Mirror | null {
  if (fields.mirror === undefined || mirror === null) return null;
  const around = {
    ...parent,
    requestTimeoutMs: fields.request_timeout ?? parent.requestTimeoutMs,
    deadlineMs: fields.deadline ?? parent.deadlineMs,
    mirror: null,
  };
  const target = {
    ...inherit(around, mirror, null),
    retry: null,
    breaker: null,
    cache: null,
    concurrency: null,
  };
  return Object.freeze({ share: fields.mirror.share, target: targetOf(mirror, target) });
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

const paramPaths = (texts: readonly string[]): readonly ParamPath[] =>
  Object.freeze(texts.map((text) => readParamPath(text)!));

/**
 * A level that names a provider takes none of its parent's, and not its parent's key where that was meant for
 * another: one provider's key must not be sent to the next.
 */
function credentials(
  parent: Inherited,
  fields: NodeFields,
): Pick<Inherited, 'provider' | 'virtualKey' | 'apiKey'> {
  const apiKey = fields.api_key === undefined ? parent.apiKey : new Secret(fields.api_key);
  if (fields.provider === undefined && fields.virtual_key === undefined) {
    return { provider: parent.provider, virtualKey: parent.virtualKey, apiKey };
  }
  const provider = fields.provider ?? null;
  const virtualKey = fields.virtual_key ?? null;
  const unbound = parent.provider === null && parent.virtualKey === null;
  const same = provider === parent.provider && virtualKey === parent.virtualKey;
  return { provider, virtualKey, apiKey: fields.api_key !== undefined || unbound || same ? apiKey : null };
}

function forwardHeaders(fields: NodeFields): readonly string[] | null {
  if (fields.forward_headers === undefined) return null;
  return Object.freeze([...new Set(fields.forward_headers.map((name) => name.toLowerCase()))]);
}

function retryOf({ retry }: NodeFields): Retry | null {
  if (retry === undefined) return null;
  const named = retry.on_status_codes;
  return Object.freeze({
    attempts: retry.attempts,
    onStatusCodes: named === undefined ? defaultRetryCodes : Object.freeze([...named]),
    useRetryAfterHeader: retry.use_retry_after_header ?? false,
    resend: named !== undefined,
  });
}

function providerFieldsOf(fields: NodeFields, parent: Inherited['fields']): Inherited['fields'] {
  let own: Record<string, string | Secret> | null = null;
  for (const name of providerFields) {
    const value = fields[name];
    if (value === undefined) continue;
    own ??= Object.assign(Object.create(null) as Record<string, string | Secret>, parent);
    own[name] = fieldValue(name, typeof value === 'string' ? value : stringifyJson(value));
  }
  return own === null ? parent : Object.freeze(own);
}
