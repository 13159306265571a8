import type { DurationGraph, FlatFigures, GraphAnswer, GraphQuestion } from '../question.js';
import { type AnalyticsDatabase, number, type SelectedFigures } from './dialect.js';
import { askGraph } from './graphs.js';
import { groupingSets } from './parts.js';

/**
 * Percentiles are found in a histogram whose bins are 1 % wide: what is reported is the mean of the bin that the request at that
 * rank is in (nearest rank), so it is off by less than 1 %. Histograms of buckets and days can be added up.
 */
const binWidth = 0.01;

/** Expression: the bin of a duration in microseconds. */
export const binOf = (us: string): string => `CAST(floor(ln(${number(us)} + 1) / ${binWidth}) AS INTEGER)`;

/** Expression: the duration at that share of all, of rows with `upto` and `of_all`. */
export const percentileOf = (share: number): string =>
  `min(CASE WHEN upto >= ceil(${share} * of_all - 0.000001) THEN us / n END)`;

/** A histogram's rows with how many durations there are up to each. `by`: columns that a histogram each belongs to. */
export const cumulated = (histogram: string, by: readonly string[]): string => {
  const own = by.length === 0 ? '' : `PARTITION BY ${by.join(', ')} `;
  return `(SELECT *, sum(n) OVER (${own}ORDER BY bin) AS upto, sum(n) OVER (${own.trim()}) AS of_all FROM ${histogram}) AS histogram`;
};

const columns: Readonly<Record<DurationGraph, string>> = { latency: 'total_us', ttft: 'first_byte_us' };
const shares = { p50: 0.5, p90: 0.9, p99: 0.99 } as const;

const noFigures = { avg: null, p50: null, p90: null, p99: null };

function figuresOf(row: SelectedFigures | null): FlatFigures {
  if (row === null) return noFigures;
  const { avg = null, p50 = null, p90 = null, p99 = null } = row;
  return { avg, p50, p90, p99 };
}

export function askDurations(
  question: GraphQuestion,
  graph: DurationGraph,
  database: AnalyticsDatabase,
): Promise<GraphAnswer> {
  const us = columns[graph];
  const statement = (from: string, hasParts: boolean): string => {
    const by = hasParts ? ['part', 'bucket'] : ['bucket'];
    const histogram = `(SELECT ${by.join(', ')}, bin, ${number('count(*)')} AS n, ${number(`sum(${us})`)} AS us
      FROM (SELECT *, ${binOf(us)} AS bin FROM ${from} WHERE ${us} IS NOT NULL) AS requests
      GROUP BY ${groupingSets(hasParts, 'bin')}) AS bins`;
    const percentiles = Object.entries(shares).map(
      ([name, share]) => `${percentileOf(share)} / 1000 AS ${name}`,
    );
    return `SELECT ${hasParts ? 'part, ' : ''}${number('bucket')} AS bucket, sum(us) / sum(n) / 1000 AS avg, ${percentiles.join(', ')}
      FROM ${cumulated(histogram, by)} GROUP BY ${by.join(', ')}`;
  };
  return askGraph(question, database, statement, { summary: figuresOf, points: () => figuresOf });
}
