import { connectionHeaders, isHeaderName } from '../../common/http/headers.js';
import { nearestProvider } from '../../common/vocabulary/provider-name.js';
import { fieldReader } from './conditions.js';
import { credentialComplaint } from './credential-headers.js';
import { childPath, type Findings, quoted } from './findings.js';
import { checkGuardrails } from './guardrails/entries.js';
import { readParamPath } from './param-path.js';
import type { BreakerFields, Draft, Mode, NodeFields, StrategyFields } from './schema.js';

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

/** Headers of the connection, framing or coding: forwarded, they would be wrong. */
const reservedHeaders = new Set([
  ...connectionHeaders,
  ...['proxy-authenticate', 'proxy-authorization', 'content-encoding', 'accept-encoding'],
]);

/** Rules that the schema cannot express: combinations of keys, and which names must exist. */
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
  checkParams(path, fields, findings);
  checkBreaker(childPath(path, 'cb_config'), fields.cb_config, findings);
  checkCache(childPath(path, 'cache'), fields, context, findings);
  const { min = 1, max = 1000 } = fields.concurrency ?? {};
  if (min > max)
    findings.add(childPath(childPath(path, 'concurrency'), 'min'), `is above max, which is ${max}`);
  checkGuardrails(fields, path, findings);
  checkStrategy(draft, context, findings);
}

function checkParams(path: string, fields: NodeFields, findings: Findings): void {
  for (const name of ['default_params', 'override_params', 'drop_params'] as const) {
    if (fields[name] !== undefined && fields.passthrough === true)
      findings.add(childPath(path, name), 'does not go with passthrough, which sends the body as it came');
  }
  for (const name of ['default_params', 'override_params'] as const) {
    if (fields[name] !== undefined && Object.hasOwn(fields[name], 'stream'))
      findings.add(childPath(childPath(path, name), 'stream'), callersChoice);
  }
  fields.drop_params?.forEach((text, i) => {
    const at = `${childPath(path, 'drop_params')}[${i}]`;
    const parts = readParamPath(text);
    if (parts === null)
      findings.add(at, 'is no path of a parameter: write it as user, metadata.team or tools[*].strict');
    else if (parts.length === 1 && parts[0] === 'stream') findings.add(at, callersChoice);
  });
}

const callersChoice = "is the caller's to choose: an answer comes in the form that was asked for";

function checkBreaker(path: string, breaker: BreakerFields | undefined, findings: Findings): void {
  if (breaker === undefined) return;
  if (breaker.failure_threshold === undefined && breaker.failure_threshold_percentage === undefined)
    findings.add(path, 'must have failure_threshold or failure_threshold_percentage');
}

function checkCache(path: string, { cache }: NodeFields, context: RuleContext, findings: Findings): void {
  if (cache === undefined) return;
  for (const name of ['similarity', 'embedding'] as const) {
    if (cache[name] !== undefined && cache.mode !== 'semantic')
      findings.add(childPath(path, name), 'only goes with the mode semantic');
  }
  if (cache.embedding !== undefined) {
    const at = childPath(childPath(path, 'embedding'), 'provider');
    checkProvider(cache.embedding.provider, at, context, findings);
  }
}

function checkStrategy({ path, fields, children }: Draft, context: RuleContext, findings: Findings): void {
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
      findings.add(childPath(at, key), `only goes with the mode ${listed(modes)}`);
    }
  }
  checkBreaker(childPath(at, 'cb_config'), strategy.cb_config, findings);
  checkSessions(strategy, at, context, findings);
  // Unreadable parts are already reported; their consequences are not.
  if (children.length === 0) return;
  if (strategy.hedge !== undefined && children.length === 1)
    findings.add(childPath(at, 'hedge'), 'needs a second target to start');
  if (strategy.mode === 'conditional') checkConditions(strategy, at, children, findings);
  if (strategy.mode === 'single') {
    for (const child of children.slice(1))
      findings.add(child.path, 'is never reached: the mode single takes the first target');
  }
  if (strategy.mode !== 'priority') {
    for (const child of children) checkNoPriority(child, findings);
  }
  checkWeights(strategy, childPath(path, 'targets'), children, findings);
}

function checkSessions(strategy: StrategyFields, at: string, context: RuleContext, findings: Findings): void {
  const { sticky, affinity } = strategy;
  const path = childPath(childPath(at, 'sticky'), 'hash_fields');
  sticky?.hash_fields?.forEach((field, i) => {
    if (fieldReader(field) === null)
      findings.add(
        `${path}[${i}]`,
        'is no path of a parameter: write it as params.user or params.tools[0].name',
      );
    const complaint = field.startsWith('headers.')
      ? credentialComplaint(field.slice('headers.'.length), context.headerPrefixes)
      : null;
    if (complaint !== null) findings.add(`${path}[${i}]`, complaint);
  });
  if (sticky?.enabled === true && affinity?.enabled === true)
    findings.add(childPath(at, 'affinity'), 'does not go with sticky: enable one of them');
}

function checkNoPriority({ path, fields }: Draft, findings: Findings): void {
  if (fields.priority !== undefined)
    findings.add(childPath(path, 'priority'), 'only goes with the mode priority of the strategy around it');
}

/** A target of weight 0 is never called; where all weights are 0, none would be. */
function checkWeights(
  { mode }: StrategyFields,
  path: string,
  children: readonly Draft[],
  findings: Findings,
): void {
  if (mode !== 'priority' && !balancing.includes(mode)) return;
  const totals = new Map<number, number>();
  for (const { fields } of children) {
    const tier = mode === 'priority' ? (fields.priority ?? 0) : 0;
    totals.set(tier, (totals.get(tier) ?? 0) + (fields.weight ?? 1));
  }
  for (const [tier, total] of totals) {
    if (total > 0) continue;
    const which = totals.size > 1 ? `of priority ${tier} ` : '';
    findings.add(path, `${which}have weights that add up to 0: give one of them a weight above 0`);
  }
}

const listed = (modes: readonly Mode[]): string =>
  modes.length === 1 ? modes[0]! : `${modes.slice(0, -1).join(', ')} or ${modes.at(-1)}`;

const balancing: readonly Mode[] = ['loadbalance', 'least_latency', 'least_cost', 'least_busy'];
/** Those that ask another target when one fails. */
const failingOver: readonly Mode[] = ['fallback', 'priority', 'least_latency', 'least_cost', 'least_busy'];

/** Settings of a strategy that only some modes have. */
const keysOfModes: readonly (readonly [keyof StrategyFields, readonly Mode[]])[] = [
  ['on_status_codes', failingOver],
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
  // The URL parser accepts `http:/host`, blanks and backslashes; here they are errors.
  if (!/^https?:\/\/[^\s\\?#@/]+(?:\/[^\s\\?#]*)?$/i.test(text)) return null;
  try {
    const url = new URL(text);
    return (url.origin + url.pathname).replace(/\/+$/, '');
  } catch {
    return null;
  }
}

/** Checks that need the whole config. */
export function checkRoot(root: Draft, context: RuleContext, findings: Findings): void {
  checkNoPriority(root, findings);
  checkStatusCodes(root, false, findings);
  checkRootKeys(root, findings);
  checkGoverns(root, context, findings);
}

/** Plugins see a request, and a list of models is made, before a target is known. */
function checkRootKeys({ children }: Draft, findings: Findings): void {
  for (const child of children ?? []) {
    for (const key of ['plugins', 'fetch_integrated_models'] as const) {
      if (child.fields[key] !== undefined)
        findings.add(
          childPath(child.path, key),
          'belongs at the root of a config: it applies to all of its targets',
        );
    }
    checkRootKeys(child, findings);
  }
}

/** Reports statuses for moving on where there is no fallback to use them. */
function checkStatusCodes({ path, fields, children }: Draft, around: boolean, findings: Findings): void {
  const mode = fields.strategy?.mode;
  const isFallback = mode !== undefined && failingOver.includes(mode);
  if (fields.on_status_codes !== undefined && (isFallback || !around)) {
    const why = isFallback ? 'belongs into strategy' : 'does nothing here: no fallback is around it';
    findings.add(childPath(path, 'on_status_codes'), why);
  }
  for (const child of children ?? []) checkStatusCodes(child, around || isFallback, findings);
}

/** Keys that affect calls by themselves. */
const governing = [
  ...(['retry', 'request_timeout', 'deadline', 'cache', 'input_guardrails', 'output_guardrails'] as const),
  ...(['before_request_hooks', 'after_request_hooks', 'plugins'] as const),
];

/** The root must have at least one key that affects calls. */
function checkGoverns({ path, fields, children }: Draft, { stored }: RuleContext, findings: Findings): void {
  if (children !== null) return;
  if (governing.some((name) => fields[name] !== undefined)) return;
  if (fields.virtual_key !== undefined) return;
  const { provider } = fields;
  if (provider !== undefined) {
    if (stored || fields.api_key !== undefined || provider.startsWith('@') || keyless.has(provider)) return;
    if (inPlaceOfKey.some((name) => fields[name] !== undefined)) return;
  }
  findings.add(
    path,
    'must have a provider with its api_key, a virtual_key, a strategy with targets, cache, retry, deadline, request_timeout, plugins or guardrails',
  );
}
