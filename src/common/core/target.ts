import type { Secret } from '../access/secret.js';
import type { Source } from '../bytes/body.js';
import type { HeaderList } from '../http/headers.js';
import type { FieldValues } from '../vocabulary/provider-fields.js';
import type { RequestFacts } from '../vocabulary/request-facts.js';
import type { TargetGuardrails } from './guardrail.js';

/** Retries of the same target: how often, after which statuses, and whether with the provider's own wait. */
export interface Retry {
  readonly attempts: number;
  readonly onStatusCodes: readonly number[];
  readonly useRetryAfterHeader: boolean;
  /**
   * Did the config itself name the status codes? Then an attempt with an unknown outcome (no head in time, reset after
   * the body was sent) is repeated if its status is listed. Absent: never, since it may have been billed.
   */
  readonly resend?: boolean;
}

/** When a target that keeps failing is skipped. At least one of the two thresholds is set. */
export interface Breaker {
  /** Failures until it opens. */
  readonly failureThreshold: number | null;
  /** Share of failures in per cent until it opens, once `minimumRequests` were made. */
  readonly failureThresholdPercentage: number | null;
  readonly minimumRequests: number;
  /** Milliseconds that it stays open before one request may probe. */
  readonly cooldownMs: number;
  /** Statuses that count as failures; null: those above 500. */
  readonly failureStatusCodes: readonly number[] | null;
}

/** The mode of the cache, and the lifetime of its answers. */
export interface CacheRule {
  readonly mode: 'simple' | 'semantic';
  /** Seconds. */
  readonly maxAge: number;
  /** Cosine of two questions from which they count as the same; only for `semantic`. */
  readonly similarity: number;
  /**
   * The provider (`openai`, `@slug`) and model that embed questions; null: the deployment's setting. Only for
   * `semantic`.
   */
  readonly embedding: { readonly provider: string; readonly model: string } | null;
}

/** A second target is started when the first is late with its first token; the first answer wins. */
export interface Hedge {
  /** Percentile of the target's times to first token above which it is late. 50 to 99.9. */
  readonly percentile: number;
  /** Milliseconds: never sooner than this. */
  readonly minDelayMs: number;
  /** Share of requests that may be hedged, 0 to 1. */
  readonly maxExtra: number;
}

/**
 * The number of requests that an upstream gets at a time: learned from its latency and its 429s, within these bounds.
 */
export interface Concurrency {
  readonly min: number;
  readonly max: number;
  /** Requests that may wait for a turn; more are refused with `Retry-After`. */
  readonly queue: number;
  /** Milliseconds that one may wait. */
  readonly maxWaitMs: number;
  /** Order among the requests of one workspace. */
  readonly priority: 'high' | 'normal' | 'low';
}

/** A share of requests, copied to another target whose answers no client waits for. */
export interface Mirror {
  /** 0 to 1. */
  readonly share: number;
  readonly target: Target;
}

/** Which requests of a gateway key form a session, and keep one target. */
export interface Sticky {
  /** `metadata.*`, `params.*`, `headers.*`; null: the conversation itself, by its beginning. */
  readonly fields: readonly string[] | null;
  /** Identifies the request's session among those of the key; null: it has none. */
  readonly session: (facts: RequestFacts) => string | null;
  /** Milliseconds after the session's last request for which it keeps its target. */
  readonly ttlMs: number;
}

/** A removed parameter: keys, list indexes, or every element of a list. */
export type ParamPath = readonly (string | number | typeof everyElement)[];
export const everyElement = Symbol('[*]');

/** One candidate of a routing config, with all inherited values. Shared by all calls; never modified. */
export interface Target {
  /** Its path in the config: `config`, `config.targets[1]`, `config.targets[0].targets[2]`. */
  readonly path: string;
  readonly name: string | null;
  /** A provider's name (`openai`) or `@slug` of a stored one. */
  readonly provider: string | null;
  /** Slug of a stored provider, in the older form. */
  readonly virtualKey: string | null;
  readonly apiKey: Secret | null;
  /** Replaces the provider's base URL, version segment included. */
  readonly customHost: string | null;
  /** Top-level keys that are added where the body does not have them. */
  readonly defaultParams: Readonly<Record<string, unknown>> | null;
  /** Top-level keys that replace those of the body. */
  readonly overrideParams: Readonly<Record<string, unknown>> | null;
  /** Paths that are removed from the body after both. */
  readonly dropParams: readonly ParamPath[] | null;
  /** Lower-case names of client headers sent on unchanged. */
  readonly forwardHeaders: readonly string[];
  readonly requestTimeoutMs: number | null;
  readonly retry: Retry | null;
  /** Statuses at which a fallback around this target moves on; null: the fallback's own. */
  readonly onStatusCodes: readonly number[] | null;
  readonly breaker: Breaker | null;
  readonly cache: CacheRule | null;
  readonly concurrency: Concurrency | null;
  readonly mirror: Mirror | null;
  /** Limit for all attempts of a request together. Milliseconds. */
  readonly deadlineMs: number | null;
  /** Are body and answer passed on unchanged? */
  readonly passthrough: boolean;
  readonly strictOpenAiCompliance: boolean;
  /** Provider fields of the config in snake case (`openai_organization`, `anthropic_version`, …). */
  readonly fields: FieldValues;
  /** Added to the request's metadata when this target is called; absent: none. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Guardrails of its requests and answers; absent: none. */
  readonly guardrails?: TargetGuardrails;
  /**
   * The config's target of which this is a copy with values of headers: both have the same rules for bodies. Absent:
   * none.
   */
  readonly base?: Target;
}

/** One `if` of a conditional strategy. */
export interface Branch {
  readonly test: (facts: RequestFacts) => boolean;
  /** The query as its author wrote it, for explanations. */
  readonly query: string;
  /** Index of the child that is chosen if it holds. */
  readonly then: number;
}

/** The criterion of a load balancer. */
export type BalanceBy = 'weight' | 'latency' | 'cost' | 'busy';

/** A routing config, compiled: a tree whose leaves are targets. */
export type RouteNode =
  | { readonly kind: 'target'; readonly path: string; readonly target: Target }
  | {
      readonly kind: 'fallback';
      readonly path: string;
      /** null: anything but 2xx moves on. */
      readonly onStatusCodes: readonly number[] | null;
      readonly hedge: Hedge | null;
      readonly children: readonly RouteNode[];
    }
  | {
      readonly kind: 'loadbalance';
      readonly path: string;
      readonly by: BalanceBy;
      readonly children: readonly RouteNode[];
      /** Running sums of the weights, same order as `children`; the last is the total. */
      readonly cumulativeWeights: readonly number[];
      readonly sticky: Sticky | null;
      readonly hedge: Hedge | null;
      /** When the others are called in their order of preference, as in a fallback; null: never. */
      readonly failover: { readonly onStatusCodes: readonly number[] | null } | null;
    }
  | {
      readonly kind: 'conditional';
      readonly path: string;
      readonly branches: readonly Branch[];
      /** Index of the child that is chosen if no branch holds. */
      readonly otherwise: number;
      readonly children: readonly RouteNode[];
    };

/** Adds values of a call's headers to the targets of its config. */
export interface TargetLayer {
  /** A target of the config with the values of the headers: the same object each time. */
  over(target: Target): Target;
}

/** The configuration of a call, from its start to its end. Compiled once, shared, never modified. */
export interface ResolvedConfig {
  /** Slug of the stored config; null for an inline one or none. */
  readonly slug: string | null;
  /** Changes with each stored version; `inline` for inline ones, `none` for calls without a config. */
  readonly version: string;
  /** Identifies the config for caches and counters: two configs with the same fingerprint route in the same way. */
  readonly fingerprint: string;
  /** The config's own tree, shared by all calls; the target of a leaf is `targetOf(config, leaf)`. */
  readonly root: RouteNode;
  /** null: nothing is added to the targets. */
  readonly layer: TargetLayer | null;
  /** Estimate of the heap bytes that it keeps at most, with all objects derived from it. */
  readonly bytes: number;
  /** The cache rule of the root, or the first of its targets' that has one; null: nothing is cached. */
  readonly cache: CacheRule | null;
  /** Does any balancer use measurements of its targets? */
  readonly metered: boolean;
  /** Names of plugins of the scope `config` that run for its requests. Absent: none. */
  readonly plugins?: readonly string[];
  /** Does any target have guardrails? Absent: none. */
  readonly guarded?: true;
  /** Are calls for models answered with those of the key's integrations, although a provider is named? */
  readonly listsIntegrated?: true;
  /** Added to the request's metadata. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** The target of a leaf of this config's tree. */
export function targetOf({ layer }: ResolvedConfig, { target }: { readonly target: Target }): Target {
  return layer === null ? target : layer.over(target);
}

/** A call that is about to be sent to a provider. `attempt` hooks may edit it; the client's request stays unchanged. */
export interface UpstreamCall {
  readonly target: Target;
  readonly provider: string;
  method: string;
  /** Absolute URL. */
  url: string;
  headers: HeaderList;
  body: Buffer | Source | null;
}

/** The call as `attempt` hooks get it. */
export interface EditableCall extends UpstreamCall {
  /** Sets a header, in place of all of its name; null: removes them. Throws a TypeError for one that no request may have. */
  setHeader(name: string, value: string | null): void;
}
