import type { CacheStatus } from '../core/cache.js';

/** FilterBounds of a number, both allowed; absent: none. */
export interface FilterBounds {
  readonly min?: number;
  readonly max?: number;
}

/** Which requests are meant: what holds of all of these. An empty list holds of any request. */
export interface LogFilters {
  /** When the request came, in Unix milliseconds. */
  readonly at: FilterBounds;
  /** Input and output together. */
  readonly totalTokens: FilterBounds;
  readonly inputTokens: FilterBounds;
  readonly outputTokens: FilterBounds;
  /** Picodollars. Where a bound is given, a request whose cost is not known does not match. */
  readonly cost: FilterBounds;
  /**
   * Σ value·weight / Σ weight of the feedback that counts at the request. Where a bound is given, a request without feedback,
   * or of weight 0, does not match.
   */
  readonly weightedFeedback: FilterBounds;
  readonly statuses: readonly number[];
  /** The model that answered, else the one asked for. */
  readonly models: readonly string[];
  readonly providerModels: readonly ProviderModel[];
  /** Slugs of stored providers. */
  readonly providerSlugs: readonly string[];
  readonly configs: readonly string[];
  readonly prompts: readonly string[];
  /** Ids of gateway keys. */
  readonly keys: readonly string[];
  /** A request without a trace id of its client has its own id as trace. */
  readonly traces: readonly string[];
  readonly spans: readonly string[];
  readonly cacheStatuses: readonly CacheStatus[];
  /** Each pair is in the request's metadata. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** The provider that answered, and the model as in `models`. */
export interface ProviderModel {
  readonly provider: string;
  readonly model: string;
}

/** Every request. */
export const allLogs: LogFilters = {
  at: {},
  totalTokens: {},
  inputTokens: {},
  outputTokens: {},
  cost: {},
  weightedFeedback: {},
  statuses: [],
  models: [],
  providerModels: [],
  providerSlugs: [],
  configs: [],
  prompts: [],
  keys: [],
  traces: [],
  spans: [],
  cacheStatuses: [],
  metadata: {},
};
