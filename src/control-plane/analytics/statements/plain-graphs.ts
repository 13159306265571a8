import type { FlatFigures, PlainGraph } from '../question.js';
import type { SumName, Sums } from './columns.js';

const picosPerCent = 10_000_000_000;
export const cents = (picos: number): number => picos / picosPerCent;
export const ratio = (part: number, of: number): number | null => (of === 0 ? null : part / of);
export const percent = (part: number, of: number): number => (of === 0 ? 0 : (100 * part) / of);
export const milliseconds = (us: number, requests: number): number | null =>
  requests === 0 ? null : us / requests / 1000;

const hits = ({ simple_hits, semantic_hits }: Pick<Sums, 'simple_hits' | 'semantic_hits'>): number =>
  simple_hits + semantic_hits;

interface PlainGraphShape {
  readonly sums: readonly SumName[];
  summary(of: Sums): FlatFigures;
  /** The same as `summary` unless given. */
  point?(of: Sums, before: CacheSavings): FlatFigures;
}

/** Cents that hits saved, in a bucket and in all before it. */
export interface CacheSavings {
  simple: number;
  semantic: number;
}

/** Graphs made of sums over buckets and over the whole range. */
export const plainGraphShapes: Readonly<Record<PlainGraph, PlainGraphShape>> = {
  requests: { sums: ['requests'], summary: ({ requests }) => ({ total: requests }) },
  cost: {
    sums: ['requests', 'cost'],
    summary: ({ cost, requests }) => ({ total: cents(cost), avg: ratio(cents(cost), requests) }),
  },
  tokens: {
    sums: ['requests', 'tokens'],
    summary: ({ tokens, requests }) => ({ total: tokens, avg: ratio(tokens, requests) }),
  },
  users: { sums: ['users'], summary: ({ users }) => ({ total: users }) },
  'users/requests': {
    sums: ['users', 'of_users'],
    summary: ({ users, of_users }) => ({ total: of_users, unique: users, avg: ratio(of_users, users) }),
    point: ({ users, of_users }) => ({ avg: ratio(of_users, users) }),
  },
  errors: { sums: ['errors'], summary: ({ errors }) => ({ total: errors }) },
  'errors/rate': {
    sums: ['errors', 'requests'],
    summary: ({ errors, requests }) => ({ rate: percent(errors, requests) }),
  },
  'cache/hit-rate': {
    sums: ['cacheable', 'simple_hits', 'semantic_hits', 'simple_saved', 'semantic_saved'],
    summary: (of) => ({ total: hits(of), rate: percent(hits(of), of.cacheable) }),
    point(of, before) {
      before.simple += of.simple_saved;
      before.semantic += of.semantic_saved;
      return {
        simple_hits: of.simple_hits,
        semantic_hits: of.semantic_hits,
        rate: percent(hits(of), of.cacheable),
        cumulative_simple_cache_savings: cents(before.simple),
        cumulative_semantic_cache_savings: cents(before.semantic),
      };
    },
  },
  'cache/latency': {
    sums: ['simple_hits', 'semantic_hits', 'hit_duration'],
    summary: () => ({}),
    point: (of) => ({ avg: milliseconds(of.hit_duration, hits(of)) }),
  },
  feedbacks: { sums: ['feedback_count'], summary: ({ feedback_count }) => ({ total: feedback_count }) },
  'feedbacks/weighted': {
    sums: ['feedback_value', 'feedback_weight'],
    summary: ({ feedback_value, feedback_weight }) => ({ avg: ratio(feedback_value, feedback_weight) }),
  },
};

export const cacheSums = [
  'requests',
  'simple_hits',
  'semantic_hits',
  'hit_duration',
  'misses',
  'miss_duration',
] as const;

/** What the cache did, of all requests together. */
export function cacheSummary(of: Pick<Sums, (typeof cacheSums)[number]>): FlatFigures {
  const hit = milliseconds(of.hit_duration, hits(of));
  const miss = milliseconds(of.miss_duration, of.misses);
  return {
    hits: hits(of),
    avg_latency: hit,
    total_requests: of.requests,
    cache_speedup: hit === null || miss === null || hit === 0 ? null : miss / hit,
  };
}
