import type { DurationGraph, FlatFigures, GraphAnswer, GraphQuestion } from '../question.js';
import { cumulated, type Measure, percentileOf } from './bins.js';
import { type AnalyticsDatabase, number, type SelectedFigures } from './dialect.js';
import { askGraph } from './graphs.js';
import { groupingSets } from './parts.js';

const measures: Readonly<Record<DurationGraph, Measure>> = { latency: 'total', ttft: 'first' };
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
  let width: number | null = null;
  const of = (from: string, hasParts: boolean): string => {
    const by = hasParts ? ['part', 'bucket'] : ['bucket'];
    const histogram = `(SELECT ${by.join(', ')}, bin, sum(${number('n')}) AS n, ${number('sum(us)')} AS us
      FROM ${from} GROUP BY ${groupingSets(hasParts, 'bin')}) AS bins`;
    const percentiles = Object.entries(shares).map(
      ([name, share]) => `${percentileOf(share, width)} / 1000 AS ${name}`,
    );
    return `SELECT ${hasParts ? 'part, ' : ''}${number('bucket')} AS bucket, sum(us) / sum(n) / 1000 AS avg, ${percentiles.join(', ')}
      FROM ${cumulated(histogram, by)} GROUP BY ${by.join(', ')}`;
  };
  return askGraph(
    question,
    database,
    {
      from(counted, values, part) {
        const binned = counted.durations(question.groupBy ?? 'none', measures[graph], values, part);
        width = binned.width;
        return binned.from;
      },
      of,
    },
    { summary: figuresOf, points: () => figuresOf },
  );
}
