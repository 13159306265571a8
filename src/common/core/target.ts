import type { Secret } from '../access/secret.js';
import type { FieldValues } from '../vocabulary/provider-fields.js';
import type { RequestFacts } from '../vocabulary/request-facts.js';

/** Same target again: how often, after which statuses, and whether the provider's own wait is honoured. */
export interface Retry {
  readonly attempts: number;
  readonly onStatusCodes: readonly number[];
  readonly useRetryAfterHeader: boolean;
  /**
   * Did the config name the status codes itself? Then a try whose outcome is unknown (no head in time, reset after
   * the body was sent) is sent again where its status is listed. Absent: never, it may have been billed.
   */
  readonly resend?: boolean;
}

/** When a target that keeps failing is left alone. At least one of the two thresholds is set. */
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

/** What may be answered from what was answered before, and for how long. */
export interface CacheRule {
  readonly mode: 'simple' | 'semantic';
  /** Seconds. */
  readonly maxAge: number;
  /** Cosine of two questions from which on they count as the same; `semantic` alone. */
  readonly similarity: number;
  /** Who embeds questions (`openai`, `@slug`) and with which model; null: the deployment's setting. `semantic` alone. */
  readonly embedding: { readonly provider: string; readonly model: string } | null;
}

/** A second target is started when the first is late with its first token; the first to speak answers. */
export interface Hedge {
  /** Of the times to first token learned for the target: later than this is late. 50 to 99.9. */
  readonly percentile: number;
  /** Milliseconds: never sooner than this. */
  readonly minDelayMs: number;
  /** Share of requests that may be hedged, 0 to 1. */
  readonly maxExtra: number;
}

/** How many requests an upstream is given at a time: learned from its latency and its 429s, within these bounds. */
export interface Concurrency {
  readonly min: number;
  readonly max: number;
  /** Requests that may wait for a turn; more are refused with `Retry-After`. */
  readonly queue: number;
  /** Milliseconds that one may wait. */
  readonly maxWaitMs: number;
  /** Who goes first of one workspace's own. */
  readonly priority: 'high' | 'normal' | 'low';
}

/** A share of requests, copied to another target whose answers no client waits for. */
export interface Mirror {
  /** 0 to 1. */
  readonly share: number;
  readonly target: Target;
}

/** Which requests of a gateway key are of one session, and stay at one target. */
export interface Sticky {
  /** `metadata.*`, `params.*`, `headers.*`; null: the conversation itself, by its beginning. */
  readonly fields: readonly string[] | null;
  /** Identifies the request's session among those of the key; null: it has none. */
  readonly session: (facts: RequestFacts) => string | null;
  /** Milliseconds since the session's last request in which it does not move. */
  readonly ttlMs: number;
}

/** A removed parameter: keys, list indexes, or every element of a list. */
export type ParamPath = readonly (string | number | typeof everyElement)[];
export const everyElement = Symbol('[*]');

/** One candidate of a routing config, everything inherited already written in. Shared by all calls; never written to. */
export interface Target {
  /** Its place in the config: `config`, `config.targets[1]`, `config.targets[0].targets[2]`. */
  readonly path: string;
  readonly name: string | null;
  /** A provider's name (`openai`) or `@slug` of a stored one. */
  readonly provider: string | null;
  /** Slug of a stored provider, the older way to name it. */
  readonly virtualKey: string | null;
  readonly apiKey: Secret | null;
  /** Replaces the provider's base URL, version segment included. */
  readonly customHost: string | null;
  /** Put into the body where it has no such key, top-level keys. */
  readonly defaultParams: Readonly<Record<string, unknown>> | null;
  /** Forced into the body, top-level keys. */
  readonly overrideParams: Readonly<Record<string, unknown>> | null;
  /** Taken out of the body after both. */
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
  /** `request_timeout`, but for all attempts of a request together. Milliseconds. */
  readonly deadlineMs: number | null;
  /** Is everything sent as the client wrote it, and answered as the provider did? */
  readonly passthrough: boolean;
  readonly strictOpenAiCompliance: boolean;
  /** Provider fields of the config in snake case (`openai_organization`, `anthropic_version`, …). */
  readonly fields: FieldValues;
  /** Added to the request's metadata when this target is tried; absent where it has none of its own. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** The target of the config to which headers added something: their rules for bodies are the same. Absent: none. */
  readonly base?: Target;
}

/** One `if` of a conditional strategy. */
export interface Branch {
  readonly test: (facts: RequestFacts) => boolean;
  /** The query as its author wrote it, for explanations. */
  readonly query: string;
  /** Index of the child that is taken where it holds. */
  readonly then: number;
}

/** What a load balancer goes by. */
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
      /** When the others are asked in their order of preference, as a fallback's are; null: never. */
      readonly failover: { readonly onStatusCodes: readonly number[] | null } | null;
    }
  | {
      readonly kind: 'conditional';
      readonly path: string;
      readonly branches: readonly Branch[];
      /** Index of the child that is taken where no branch holds. */
      readonly otherwise: number;
      readonly children: readonly RouteNode[];
    };

/** What the headers of a call add to the targets of its config. */
export interface TargetLayer {
  /** A target of the config with what the headers add: the same object each time. */
  over(target: Target): Target;
}

/** The configuration a call began with, to its end. Compiled once, shared, never written to. */
export interface ResolvedConfig {
  /** Slug of the stored config; null for an inline one or none. */
  readonly slug: string | null;
  /** Changes with each stored version; `inline` for inline ones, `none` for calls without a config. */
  readonly version: string;
  /** What this config is, for caches and counters: two configs with one fingerprint route alike. */
  readonly fingerprint: string;
  /** As the config has it, shared by all calls: what is asked of a leaf is `targetOf(config, leaf)`. */
  readonly root: RouteNode;
  /** null: nothing is added to the targets. */
  readonly layer: TargetLayer | null;
  /** Bytes of heap that it keeps, at most, with all that is derived from it while it is used. An estimate. */
  readonly bytes: number;
  /** The cache rule of the root, or the first of its targets' that has one; null: nothing is cached. */
  readonly cache: CacheRule | null;
  /** Does any balancer go by what was seen of its targets? */
  readonly metered: boolean;
  /** Added to the request's metadata. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** The target that a leaf of this config's tree leads to. */
export function targetOf({ layer }: ResolvedConfig, { target }: { readonly target: Target }): Target {
  return layer === null ? target : layer.over(target);
}
