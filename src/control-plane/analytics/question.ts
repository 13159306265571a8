import type { LogFilters } from '../../common/ledger/log-filters.js';
import type { LogSight } from '../../common/ledger/logs/log-sight.js';

interface AboutRequests {
  readonly sight: LogSight;
  readonly filters: LogFilters;
}

/** What requests can be grouped by, and the column that has it. */
export const groupColumns = {
  ai_service: 'provider',
  model: 'model',
  status_code: 'status',
  api_key: 'key_id',
  config: 'config',
  workspace: 'workspace',
  provider: 'provider_slug',
  prompt: 'prompt',
} as const;
export type GroupName = keyof typeof groupColumns;

/** Graphs of sums, which have the same statement. */
export const plainGraphs = [
  'requests',
  'cost',
  'tokens',
  'users',
  'users/requests',
  'errors',
  'errors/rate',
  'cache/hit-rate',
  'cache/latency',
  'feedbacks',
  'feedbacks/weighted',
] as const;
export type PlainGraph = (typeof plainGraphs)[number];
export type DurationGraph = 'latency' | 'ttft';
/** Counts by a second column, beside time or in its place. */
export type CountGraph =
  | 'errors/stacks'
  | 'errors/status-codes'
  | 'requests/rescued'
  | 'feedbacks/scores'
  | 'feedbacks/ai-models';
export type GraphName = PlainGraph | DurationGraph | CountGraph;

/** From its first to its last moment, in Unix milliseconds; both are part of it. */
export interface TimeRange {
  readonly min: number;
  readonly max: number;
}

export interface GraphQuestion extends AboutRequests {
  readonly kind: 'graph';
  readonly graph: GraphName;
  readonly range: TimeRange;
  /** Adds a series for each of the ten groups with the most requests, and one for all others. */
  readonly groupBy: GroupName | null;
}

export interface CacheQuestion extends AboutRequests {
  readonly kind: 'cache';
}

/** The columns of groups. */
export const groupFigures = [
  'requests',
  'cost',
  'total_tokens',
  'avg_tokens',
  'avg_input_tokens',
  'avg_output_tokens',
  'avg_latency',
  'p95_latency',
  'p99_latency',
  'success_rate',
  'error_count',
  'cache_hit_rate',
  'last_seen',
  'first_seen',
  'avg_weighted_feedback',
  'requests_with_feedback',
] as const;
export type GroupFigure = (typeof groupFigures)[number];

export interface GroupsQuestion extends AboutRequests {
  readonly kind: 'groups';
  /** A column's group, the end user, or a name of metadata: only requests that have one of these two. */
  readonly by: { readonly column: GroupName } | { readonly user: true } | { readonly metadata: string };
  readonly figures: readonly GroupFigure[];
  /** `key`: the group itself. */
  readonly orderBy: GroupFigure | 'key';
  readonly isDescending: boolean;
  readonly offset: number;
  readonly limit: number;
  /** Are the groups counted? */
  readonly hasTotal: boolean;
}

/** Placeholders of one name of metadata, commonest first. */
export interface ValuesQuestion extends AboutRequests {
  readonly kind: 'values';
  readonly name: string;
  readonly limit: number;
}

/** What was used, by provider, model and all else that a price depends on. */
export interface UsageQuestion extends AboutRequests {
  readonly kind: 'usage';
  /** Numbers of input tokens beyond which prices are others, ascending. */
  readonly longInputs: readonly number[];
}

/** What passed through workspaces in some stretches of time, in slots of one length. */
export interface SlotsQuestion extends AboutRequests {
  readonly kind: 'slots';
  /** Milliseconds. */
  readonly width: number;
  /** Slot 0 begins here; those before it have negative numbers. Unix milliseconds. */
  readonly origin: number;
  /** First and last slot of each stretch. */
  readonly stretches: readonly { readonly first: number; readonly last: number }[];
}

export type AnalyticsQuestion =
  | GraphQuestion
  | CacheQuestion
  | GroupsQuestion
  | ValuesQuestion
  | UsageQuestion
  | SlotsQuestion;

/** By names; times in Unix milliseconds. */
export type Figures = Readonly<Record<string, number | string | null | readonly FlatFigures[]>>;
/** Counts in a bucket. */
export type FlatFigures = Readonly<Record<string, number | string | null>>;

export interface GraphSeries {
  /** null: requests that have no such thing. */
  readonly key: string | null;
  /** All groups that have no series of their own. */
  readonly isOther: boolean;
  readonly summary: FlatFigures;
  readonly points: readonly Figures[];
}

export interface GraphAnswer {
  readonly summary: FlatFigures;
  readonly points: readonly Figures[];
  readonly series: readonly GraphSeries[] | null;
}

export interface GroupsAnswer {
  /** null: not asked for. */
  readonly total: number | null;
  readonly rows: readonly { readonly key: string | null; readonly figures: FlatFigures }[];
}

export interface ValuesAnswer {
  readonly total: number;
  readonly values: readonly string[];
}

/** Requests that are priced alike. */
export interface PricedGroup {
  readonly provider: string | null;
  readonly model: string | null;
  /** Slug of the integration; null: none. */
  readonly integration: string | null;
  /** Were they sent through a stored provider? */
  readonly isStored: boolean;
  readonly tier: string | null;
  /** How many of `longInputs` their input exceeds. */
  readonly longInput: number;
  /** Did a provider serve them, and is it known what they used? */
  readonly isUsed: boolean;
  readonly requests: number;
  /** Picodollars. */
  readonly cost: number;
  /** Requests whose cost is not known. */
  readonly unpriced: number;
  /** By the names of rates. */
  readonly quantities: Readonly<Record<string, number>>;
}

export interface UsageAnswer {
  readonly groups: readonly PricedGroup[];
}

export interface SlotFigures {
  readonly workspace: string;
  readonly slot: number;
  readonly requests: number;
  /** Picodollars. */
  readonly cost: number;
  readonly errors: number;
  /** Requests that cost anything, and the mean of the logarithms of their costs. */
  readonly priced: number;
  readonly logCost: number;
  /** Mean of the logarithms of milliseconds. */
  readonly logLatency: number;
}

/** What a question is answered with. */
export type AnswerTo<Q extends AnalyticsQuestion> = Q extends GraphQuestion
  ? GraphAnswer
  : Q extends CacheQuestion
    ? FlatFigures
    : Q extends GroupsQuestion
      ? GroupsAnswer
      : Q extends UsageQuestion
        ? UsageAnswer
        : Q extends SlotsQuestion
          ? readonly SlotFigures[]
          : ValuesAnswer;

/** Answers questions about what the ledger has; both databases have to pass `test/contract/analytics.test.ts`. */
export interface Analytics {
  /** Throws the coded error `store_unavailable` where there is no answer in time. */
  ask<Q extends AnalyticsQuestion>(question: Q): Promise<AnswerTo<Q>>;
}
