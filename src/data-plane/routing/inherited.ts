import { Secret } from '../../common/access/secret.js';
import type {
  Breaker,
  CacheRule,
  Concurrency,
  Mirror,
  ParamPath,
  Retry,
  Target,
} from '../../common/core/target.js';
import { stringifyJson } from '../../common/json/json.js';
import { fieldValue, providerFields } from '../../common/vocabulary/provider-fields.js';
import { guardrailsOf } from './guardrails/entries.js';
import { readParamPath } from './param-path.js';
import { readBaseUrl } from './rules.js';
import type { BreakerFields, Draft, NodeFields, StrategyFields } from './schema.js';

const defaultRetryCodes: readonly number[] = Object.freeze([429, 500, 502, 503, 504]);

/** The settings that a level of a config passes to its targets. */
export type Inherited = Omit<Target, 'path' | 'name'>;

/** A body that passes through unchanged has no rules, not even inherited ones. */
export function targetOf({ path, fields }: Draft, own: Inherited): Target {
  const params = own.passthrough ? { defaultParams: null, overrideParams: null, dropParams: null } : null;
  return Object.freeze({ ...own, ...params, path, name: fields.name ?? null });
}

/** The settings of a level: its own value, else the inherited one. Values are never merged. */
export function inherit(parent: Inherited, draft: Draft, around: StrategyFields | null): Inherited {
  const { fields, path } = draft;
  const guardrails = guardrailsOf(fields, path, parent.guardrails);
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
    strictOpenAiCompliance:
      fields.strict_open_ai_compliance ?? fields.strict_standard_compliance ?? parent.strictOpenAiCompliance,
    fields: providerFieldsOf(fields, parent.fields),
    ...(guardrails !== undefined && { guardrails }),
  };
}

/** A level's own statuses are for the fallback around it: a strategy that is a fallback itself passes them to no target. */
function sharesFallback(around: StrategyFields | null): boolean {
  return around !== null && ['single', 'loadbalance', 'conditional'].includes(around.mode);
}

export const frozen = (codes: readonly number[] | undefined): readonly number[] | null =>
  codes === undefined ? null : Object.freeze([...codes]);

/** Shorter cooldowns are raised to this one, so that probes do not become a load of their own. */
const shortestCooldownMs = 1000;

function breakerOf(given: BreakerFields | undefined): Breaker | null {
  if (given === undefined) return null;
  return Object.freeze({
    failureThreshold: given.failure_threshold ?? null,
    failureThresholdPercentage: given.failure_threshold_percentage ?? null,
    minimumRequests: given.minimum_requests ?? 5,
    cooldownMs: Math.max(given.cooldown_interval, shortestCooldownMs),
    failureStatusCodes: frozen(given.failure_status_codes),
  });
}

const defaultMaxAge = 604_800;
const defaultSimilarity = 0.95;

export function cacheRule({ cache }: NodeFields): CacheRule | null {
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
 * A mirrored request is neither retried nor mirrored again, does not queue, and ignores circuit breakers; its time limits
 * are those of the request that it copies.
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

const paramPaths = (texts: readonly string[]): readonly ParamPath[] =>
  Object.freeze(texts.map((text) => readParamPath(text)!));

/**
 * A level that names a provider does not inherit its parent's provider, nor its parent's key if that was meant for
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
