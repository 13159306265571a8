import type { FieldValues } from './provider-fields.js';
import type { Secret } from './secret.js';

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

/** One candidate of a routing config, everything inherited already written in. Shared by all calls; never written to. */
export interface Target {
  /** Where it stands in the config: `config`, `config.targets[1]`, `config.targets[0].targets[2]`. */
  readonly path: string;
  readonly name: string | null;
  /** A provider's name (`openai`) or `@slug` of a stored one. */
  readonly provider: string | null;
  /** Slug of a stored provider, the older way to name it. */
  readonly virtualKey: string | null;
  readonly apiKey: Secret | null;
  /** Replaces the provider's base URL, version segment included. */
  readonly customHost: string | null;
  /** Forced into the body, top-level keys. */
  readonly overrideParams: Readonly<Record<string, unknown>> | null;
  /** Lower-case names of client headers sent on unchanged. */
  readonly forwardHeaders: readonly string[];
  readonly requestTimeoutMs: number | null;
  readonly retry: Retry | null;
  readonly strictOpenAiCompliance: boolean;
  /** Provider fields of the config in snake case (`openai_organization`, `anthropic_version`, …). */
  readonly fields: FieldValues;
  /** Added to the request's metadata when this target is tried; absent where it has none of its own. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** A routing config, compiled: a tree whose leaves are targets. */
export type RouteNode =
  | { readonly kind: 'target'; readonly target: Target }
  | {
      readonly kind: 'fallback';
      readonly path: string;
      /** null: anything but 2xx moves on. */
      readonly onStatusCodes: readonly number[] | null;
      readonly children: readonly RouteNode[];
    }
  | {
      readonly kind: 'loadbalance';
      readonly path: string;
      readonly children: readonly RouteNode[];
      /** Running sums of the weights, same order as `children`; the last is the total. */
      readonly cumulativeWeights: readonly number[];
    };

/** The configuration a call began with, to its end. Compiled once, shared, never written to. */
export interface ResolvedConfig {
  /** Slug of the stored config; null for an inline one or none. */
  readonly slug: string | null;
  /** Changes with each stored version; `inline` for inline ones, `none` for calls without a config. */
  readonly version: string;
  readonly root: RouteNode;
  /** Added to the request's metadata. */
  readonly metadata: Readonly<Record<string, string>>;
}
