import { isHeaderName } from '../core/headers.js';
import { childPath, type Findings, quoted } from './findings.js';
import { nearestProvider } from './provider-name.js';
import type { Draft, Mode, StrategyFields } from './schema.js';

export interface RuleContext {
  /** Is it kept under a slug? Then it may name a provider and nothing else. */
  readonly stored: boolean;
  isProvider(name: string): boolean;
  /** Lower-case prefixes of the gateway's own headers. */
  readonly headerPrefixes: readonly string[];
}

/** Providers that are called without a credential. */
const keyless = new Set(['ollama', 'triton', 'vllm', 'lm-studio', 'openai-compatible']);
/** Fields by which a provider is called without a key. */
const inPlaceOfKey = [
  'azure_ad_token',
  'azure_entra_client_secret',
  'aws_access_key_id',
  'vertex_service_account_json',
] as const;

/** Headers that belong to the connection or to how a message is framed and coded: sent on, they would not be true. */
const reservedHeaders = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'content-encoding',
  'accept-encoding',
]);

/** Rules that the schema cannot say: what keys mean together, and which names must exist. */
export function checkNode(draft: Draft, context: RuleContext, findings: Findings): void {
  const { path, fields } = draft;
  if (fields.provider !== undefined)
    checkProvider(fields.provider, childPath(path, 'provider'), context, findings);
  if (fields.custom_host !== undefined && readBaseUrl(fields.custom_host) === null) {
    findings.add(
      childPath(path, 'custom_host'),
      'must be a whole http or https URL without user, password, query and fragment',
    );
  }
  fields.forward_headers?.forEach((name, i) => {
    const complaint = forwardComplaint(name.toLowerCase(), context.headerPrefixes);
    if (complaint !== null) findings.add(`${childPath(path, 'forward_headers')}[${i}]`, complaint);
  });
  checkStrategy(draft, findings);
}

function checkStrategy({ path, fields, children }: Draft, findings: Findings): void {
  const { strategy } = fields;
  if (children === null) {
    if (strategy !== undefined)
      findings.add(childPath(path, 'targets'), 'is required where there is a strategy');
    return;
  }
  if (strategy === undefined) {
    findings.add(childPath(path, 'strategy'), 'is required where there are targets');
    return;
  }
  const at = childPath(path, 'strategy');
  for (const [key, modes] of keysOfModes) {
    if (strategy[key] !== undefined && !modes.includes(strategy.mode)) {
      findings.add(childPath(at, key), `only goes with the mode ${modes.join(' or ')}`);
    }
  }
  if (strategy.mode === 'conditional') checkConditions(strategy, at, children, findings);
  if (strategy.sticky?.enabled === true && strategy.sticky.hash_fields === undefined) {
    findings.add(childPath(childPath(at, 'sticky'), 'hash_fields'), 'is required where sticky is enabled');
  }
  if (strategy.sticky?.enabled === true && strategy.affinity?.enabled === true) {
    findings.add(childPath(at, 'affinity'), 'does not go with sticky: enable one of them');
  }
  if (weighted.includes(strategy.mode) && children.length > 0) {
    let total = 0;
    for (const child of children) total += child.fields.weight ?? 1;
    if (total === 0) {
      findings.add(
        childPath(path, 'targets'),
        'have weights that add up to 0: give one of them a weight above 0',
      );
    }
  }
}

const balancing: readonly Mode[] = ['loadbalance', 'least_latency', 'least_cost', 'least_busy'];
const weighted: readonly Mode[] = ['loadbalance', 'priority'];

/** Settings of a strategy that only some modes have. */
const keysOfModes: readonly (readonly [keyof StrategyFields, readonly Mode[]])[] = [
  ['on_status_codes', ['fallback', 'priority', 'least_latency', 'least_cost', 'least_busy']],
  ['conditions', ['conditional']],
  ['default', ['conditional']],
  ['sticky', balancing],
  ['affinity', balancing],
  ['hedge', ['fallback', 'priority', ...balancing]],
];

function checkConditions(
  strategy: StrategyFields,
  at: string,
  children: readonly Draft[],
  findings: Findings,
): void {
  const { conditions } = strategy;
  for (const key of ['conditions', 'default'] as const) {
    if (strategy[key] === undefined) {
      findings.add(childPath(at, key), 'is required by the mode conditional');
    }
  }
  const names = new Set(children.map(({ fields }) => fields.name));
  const led = new Set<string | undefined>([strategy.default]);
  const check = (name: string | undefined, path: string): void => {
    if (name === undefined) return;
    led.add(name);
    if (!names.has(name)) findings.add(path, `names no target of this strategy: ${quoted(name)}`);
  };
  check(strategy.default, childPath(at, 'default'));
  conditions?.forEach(({ then }, i) => {
    check(then, `${childPath(at, 'conditions')}[${i}].then`);
  });
  const seen = new Set<string>();
  for (const { path, fields } of children) {
    const { name } = fields;
    if (name === undefined)
      findings.add(childPath(path, 'name'), 'is required: conditions name their target');
    else if (seen.has(name))
      findings.add(childPath(path, 'name'), `is another target's too: ${quoted(name)}`);
    else if (!led.has(name)) findings.add(path, 'is never reached: no condition leads to it');
    seen.add(name ?? '');
  }
}

function checkProvider(name: string, path: string, context: RuleContext, findings: Findings): void {
  if (name.startsWith('@')) {
    if (!/^@[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) {
      findings.add(
        path,
        'must be @ and the slug of a stored provider: letters, digits, dot, dash and underscore',
      );
    }
    return;
  }
  if (context.isProvider(name)) return;
  const meant = findings.full ? null : nearestProvider(name, context.isProvider);
  const hint =
    meant === null
      ? 'name one of the built-in providers, or @slug of a stored one'
      : `did you mean ${meant}?`;
  findings.add(path, `is an unknown provider ${quoted(name)}: ${hint}`);
}

function forwardComplaint(name: string, prefixes: readonly string[]): string | null {
  if (!isHeaderName(name)) return 'must be a header name';
  if (prefixes.some((prefix) => name.startsWith(prefix)))
    return "is one of the gateway's own headers, which are never sent on";
  if (reservedHeaders.has(name)) return `is reserved: ${name} is written by the gateway itself`;
  return null;
}

/**
 * A custom host as a base URL without a slash at its end; null where it is none. Where it leads is checked when it
 * is connected to: a name may mean another address by then.
 */
export function readBaseUrl(text: string): string | null {
  // The URL parser is generous (`http:/host`, blanks, backslashes); an author who writes those means something else.
  if (!/^https?:\/\/[^\s\\?#@/]+(?:\/[^\s\\?#]*)?$/i.test(text)) return null;
  try {
    const url = new URL(text);
    return (url.origin + url.pathname).replace(/\/+$/, '');
  } catch {
    return null;
  }
}

/** The root has to say something by which a call can be governed. */
export function checkRoot(
  { path, fields, children }: Draft,
  { stored }: RuleContext,
  findings: Findings,
): void {
  if (children !== null) return;
  if ((['retry', 'request_timeout', 'deadline', 'cache'] as const).some((name) => fields[name] !== undefined))
    return;
  if (fields.virtual_key !== undefined) return;
  const { provider } = fields;
  if (provider !== undefined) {
    if (stored || fields.api_key !== undefined || provider.startsWith('@') || keyless.has(provider)) return;
    if (inPlaceOfKey.some((name) => fields[name] !== undefined)) return;
  }
  findings.add(
    path,
    'must have a provider with its api_key, a virtual_key, a strategy with targets, cache, retry, deadline or request_timeout',
  );
}
