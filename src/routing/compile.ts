import { parseJson, stringifyJson } from '../core/json.js';
import { fieldValue, providerFields } from '../core/provider-fields.js';
import { Secret } from '../core/secret.js';
import type { ResolvedConfig, Retry, RouteNode, Target } from '../core/target.js';
import { type ConfigLimits, readDraft } from './draft.js';
import { Findings } from './findings.js';
import { checkRoot, readBaseUrl } from './rules.js';
import type { Draft, NodeFields } from './schema.js';

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

const nothing: Inherited = {
  provider: null,
  virtualKey: null,
  apiKey: null,
  customHost: null,
  overrideParams: null,
  forwardHeaders: Object.freeze([]),
  requestTimeoutMs: null,
  retry: null,
  strictOpenAiCompliance: true,
  fields: Object.freeze(Object.create(null)),
};

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
  return Object.freeze({
    slug: options.slug,
    version: options.version,
    // The root's metadata goes with every call already; only what targets add is theirs.
    root: compileNode(root, inherit(nothing, root.fields)),
    metadata: Object.freeze({ ...root.fields.metadata }),
  });
}

/** What governs a call that names no config: one target that sets nothing. */
export const defaultConfig: ResolvedConfig = Object.freeze({
  slug: null,
  version: 'none',
  root: Object.freeze({ kind: 'target', target: Object.freeze({ path: 'config', name: null, ...nothing }) }),
  metadata: Object.freeze({}),
});

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

function compileNode(draft: Draft, own: Inherited): RouteNode {
  const { path, fields, children } = draft;
  const { strategy } = fields;
  if (strategy === undefined || children === null) {
    return Object.freeze({
      kind: 'target',
      target: Object.freeze({ path, name: fields.name ?? null, ...own }),
    });
  }
  if (strategy.mode === 'single') return compileChild(children[0]!, own);
  const nodes = Object.freeze(children.map((child) => compileChild(child, own)));
  if (strategy.mode === 'fallback') {
    const onStatusCodes =
      strategy.on_status_codes === undefined ? null : Object.freeze([...strategy.on_status_codes]);
    return Object.freeze({ kind: 'fallback', path, onStatusCodes, children: nodes });
  }
  let total = 0;
  const cumulativeWeights = Object.freeze(children.map((child) => (total += child.fields.weight ?? 1)));
  return Object.freeze({ kind: 'loadbalance', path, children: nodes, cumulativeWeights });
}

function compileChild(draft: Draft, parent: Inherited): RouteNode {
  const own = inherit(parent, draft.fields);
  const added = draft.fields.metadata;
  if (added === undefined) return compileNode(draft, own);
  return compileNode(draft, { ...own, metadata: Object.freeze({ ...parent.metadata, ...added }) });
}

/** What a level has: what it says itself, else what is handed down to it. A value is taken whole, never mixed. */
function inherit(parent: Inherited, fields: NodeFields): Inherited {
  return {
    ...parent,
    ...credentials(parent, fields),
    customHost: fields.custom_host === undefined ? parent.customHost : readBaseUrl(fields.custom_host),
    overrideParams: fields.override_params ?? parent.overrideParams,
    forwardHeaders: forwardHeaders(fields) ?? parent.forwardHeaders,
    requestTimeoutMs: fields.request_timeout ?? parent.requestTimeoutMs,
    retry: retryOf(fields) ?? parent.retry,
    strictOpenAiCompliance: fields.strict_open_ai_compliance ?? parent.strictOpenAiCompliance,
    fields: providerFieldsOf(fields, parent.fields),
  };
}

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
