import type { LogFilters } from '../../src/common/ledger/log-filters.js';
import type { TraceFeedback } from '../../src/common/ledger/logs/feedback.js';
import type { LogSight } from '../../src/common/ledger/logs/log-sight.js';
import type { LedgerRow } from '../../src/common/ledger/record.js';

/** What graphs and groups must be, computed from the rows one by one. */

type Limits = { readonly min?: number; readonly max?: number };
const lies = ({ min, max }: Limits, value: number | null): boolean =>
  (min === undefined && max === undefined) ||
  (value !== null && (min === undefined || value >= min) && (max === undefined || value <= max));
const isIn = (list: readonly unknown[], value: unknown): boolean => list.length === 0 || list.includes(value);

export const modelOf = (row: LedgerRow): string | null => row.modelUsed ?? row.modelAsked;

const placed = new Map<string, TraceFeedback[]>();

/** Lets feedback count at the first request of its trace in its workspace. */
export function placeFeedback(rows: readonly LedgerRow[], given: readonly TraceFeedback[]): void {
  const first = new Map<string, LedgerRow>();
  for (const row of rows) {
    const place = `${row.org} ${row.workspace} ${row.trace}`;
    const other = first.get(place);
    const isEarlier = !other || row.at < other.at || (row.at === other.at && row.id < other.id);
    if (isEarlier) first.set(place, row);
  }
  placed.clear();
  for (const one of given) {
    const { id = '' } = first.get(`${one.org} ${one.workspace} ${one.trace}`) ?? {};
    placed.set(id, [...(placed.get(id) ?? []), one]);
  }
}

/** The feedback that counts at a request. */
export const feedbackOf = ({ id }: LedgerRow): readonly TraceFeedback[] => placed.get(id) ?? [];

export function weighted(rows: readonly LedgerRow[]): number | null {
  const given = rows.flatMap(feedbackOf);
  const weights = given.reduce((sum, { weight }) => sum + weight, 0);
  return weights === 0 ? null : given.reduce((sum, { value, weight }) => sum + value * weight, 0) / weights;
}

export function matches(
  row: LedgerRow,
  { sight, filters }: { sight: LogSight; filters: LogFilters },
): boolean {
  const model = modelOf(row);
  const { input, output } = row.usage;
  return (
    row.org === sight.org &&
    (sight.workspaces === null || sight.workspaces.includes(row.workspace ?? '')) &&
    !sight.except.includes(row.workspace ?? '') &&
    (sight.keys === null || sight.keys.includes(row.key ?? '')) &&
    lies(filters.at, row.at) &&
    lies(filters.totalTokens, input + output) &&
    lies(filters.inputTokens, input) &&
    lies(filters.outputTokens, output) &&
    lies(filters.cost, row.cost) &&
    lies(filters.weightedFeedback, weighted([row])) &&
    isIn(filters.statuses, row.status) &&
    isIn(filters.models, model) &&
    (filters.providerModels.length === 0 ||
      filters.providerModels.some((one) => one.provider === row.provider && one.model === model)) &&
    isIn(filters.providerSlugs, row.slug) &&
    isIn(filters.configs, row.config) &&
    isIn(filters.prompts, row.prompt) &&
    isIn(filters.keys, row.key) &&
    isIn(filters.traces, row.trace) &&
    isIn(filters.spans, row.span) &&
    isIn(filters.cacheStatuses, row.cache) &&
    Object.entries(filters.metadata).every(([name, value]) => row.metadata[name] === value)
  );
}

export const isSuccess = (row: LedgerRow): boolean =>
  row.state === 'settled' && row.error === null && row.status >= 200 && row.status < 400;
const sum = (rows: readonly LedgerRow[], of: (row: LedgerRow) => number | null): number =>
  rows.reduce((total, row) => total + (of(row) ?? 0), 0);
const mean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((a, b) => a + b, 0) / values.length;
const percentile = (values: readonly number[], share: number): number | null =>
  values.length === 0
    ? null
    : ([...values].sort((a, b) => a - b)[Math.max(0, Math.ceil(share * values.length - 1e-6) - 1)] ?? null);
const cents = (picos: number): number => picos / 1e10;
const rate = (part: number, of: number): number => (of === 0 ? 0 : (100 * part) / of);
const users = (rows: readonly LedgerRow[]): number => new Set(rows.flatMap(({ user }) => user ?? [])).size;
const durations = (values: readonly number[]) => ({
  avg: mean(values),
  p50: percentile(values, 0.5),
  p90: percentile(values, 0.9),
  p99: percentile(values, 0.99),
});
const withUser = (rows: readonly LedgerRow[]): number => rows.filter(({ user }) => user !== null).length;
const simple = (rows: readonly LedgerRow[]) => rows.filter(({ cache }) => cache === 'HIT');
const semantic = (rows: readonly LedgerRow[]) => rows.filter(({ cache }) => cache === 'SEMANTIC HIT');
const hitRate = (rows: readonly LedgerRow[]): number =>
  rate(simple(rows).length + semantic(rows).length, rows.filter(({ cache }) => cache !== 'DISABLED').length);

export function countsOf<T>(rows: readonly LedgerRow[], of: (row: LedgerRow) => T): (readonly [T, number])[] {
  const counts = new Map<T, number>();
  for (const row of rows) counts.set(of(row), (counts.get(of(row)) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => Number(a) - Number(b));
}
const errors = (rows: readonly LedgerRow[]) => rows.filter((row) => !isSuccess(row));
const retried = (rows: readonly LedgerRow[]) => rows.filter((row) => isSuccess(row) && row.retries > 0);
const fellBack = (rows: readonly LedgerRow[]): number =>
  rows.filter(
    (row) =>
      isSuccess(row) &&
      row.attempts.length > 1 &&
      row.target !== null &&
      row.target !== row.attempts[0]?.target,
  ).length;

type Figures = Readonly<Record<string, unknown>>;
export interface PlainGraph {
  summary(rows: readonly LedgerRow[]): Figures;
  /** Of a bucket's requests; `before`: of all buckets up to it. */
  point(rows: readonly LedgerRow[], before: readonly LedgerRow[]): Figures;
}

const same = (of: PlainGraph['summary']): PlainGraph => ({ summary: of, point: of });

export const plainGraphsByName: Readonly<Record<string, PlainGraph>> = {
  requests: same((rows) => ({ total: rows.length })),
  cost: same((rows) => ({
    total: cents(sum(rows, ({ cost }) => cost)),
    avg: mean(rows.map(({ cost }) => cents(cost ?? 0))),
  })),
  tokens: same((rows) => {
    const tokens = rows.map(({ usage }) => usage.input + usage.output);
    return { total: tokens.reduce((a, b) => a + b, 0), avg: mean(tokens) };
  }),
  latency: same((rows) => durations(rows.map(({ totalMs }) => totalMs))),
  ttft: same((rows) =>
    durations(rows.flatMap(({ stream, firstByteMs }) => (stream ? (firstByteMs ?? []) : []))),
  ),
  users: same((rows) => ({ total: users(rows) })),
  'users/requests': {
    summary: (rows) => ({
      total: withUser(rows),
      unique: users(rows),
      avg: users(rows) === 0 ? null : withUser(rows) / users(rows),
    }),
    point: (rows) => ({ avg: users(rows) === 0 ? null : withUser(rows) / users(rows) }),
  },
  errors: same((rows) => ({ total: errors(rows).length })),
  'errors/rate': same((rows) => ({ rate: rate(errors(rows).length, rows.length) })),
  'errors/stacks': {
    summary: (rows) => ({ total: errors(rows).length }),
    point: (rows) => ({
      stats: countsOf(errors(rows), ({ status }) => status).map(([response_status_code, count]) => ({
        response_status_code,
        count,
      })),
    }),
  },
  'requests/rescued': {
    summary: (rows) => ({ retry: retried(rows).length, fallback: fellBack(rows) }),
    point: (rows) => ({
      retry: countsOf(retried(rows), ({ retries }) => retries).map(([retry_success_count, count]) => ({
        retry_success_count,
        count,
      })),
      fallback: fellBack(rows),
    }),
  },
  'cache/hit-rate': {
    summary: (rows) => ({ total: simple(rows).length + semantic(rows).length, rate: hitRate(rows) }),
    point: (rows, before) => ({
      simple_hits: simple(rows).length,
      semantic_hits: semantic(rows).length,
      rate: hitRate(rows),
      cumulative_simple_cache_savings: cents(sum(simple(before), ({ costSaved }) => costSaved)),
      cumulative_semantic_cache_savings: cents(sum(semantic(before), ({ costSaved }) => costSaved)),
    }),
  },
  feedbacks: same((rows) => ({ total: rows.flatMap(feedbackOf).length })),
  'feedbacks/weighted': same((rows) => ({ avg: weighted(rows) })),
  'cache/latency': {
    summary: () => ({}),
    point: (rows) => ({ avg: mean([...simple(rows), ...semantic(rows)].map(({ totalMs }) => totalMs)) }),
  },
};

/** What the cache did. */
export function plainCacheSummary(rows: readonly LedgerRow[]): Figures {
  const hits = [...simple(rows), ...semantic(rows)];
  const hit = mean(hits.map(({ totalMs }) => totalMs));
  const miss = mean(
    rows.filter(({ cache }) => cache === 'MISS' || cache === 'SEMANTIC MISS').map(({ totalMs }) => totalMs),
  );
  return {
    hits: hits.length,
    avg_latency: hit,
    total_requests: rows.length,
    cache_speedup: hit === null || miss === null ? null : miss / hit,
  };
}

/** The figures of one group. */
export function plainGroup(rows: readonly LedgerRow[]): Figures {
  const tokens = sum(rows, ({ usage }) => usage.input + usage.output);
  const times = rows.map(({ at }) => at);
  const latencies = rows.map(({ totalMs }) => totalMs);
  return {
    requests: rows.length,
    cost: cents(sum(rows, ({ cost }) => cost)),
    total_tokens: tokens,
    avg_tokens: tokens / rows.length,
    avg_input_tokens: sum(rows, ({ usage }) => usage.input) / rows.length,
    avg_output_tokens: sum(rows, ({ usage }) => usage.output) / rows.length,
    avg_latency: mean(latencies),
    p95_latency: percentile(latencies, 0.95),
    p99_latency: percentile(latencies, 0.99),
    success_rate: 100 - rate(errors(rows).length, rows.length),
    error_count: errors(rows).length,
    cache_hit_rate: hitRate(rows),
    last_seen: Math.max(...times),
    first_seen: Math.min(...times),
  };
}
