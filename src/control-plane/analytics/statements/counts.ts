import { bucketsOf, bucketWidth } from '../buckets.js';
import type { CountGraph, Figures, GraphAnswer, GraphQuestion } from '../question.js';
import { sumsOfCells } from '../rollups/cells.js';
import { sums } from './columns.js';
import { CountedRequests } from './counted.js';
import { type AnalyticsDatabase, number, Placeholders, type SelectedFigures } from './dialect.js';
import { selected } from './parts.js';
import { ratio } from './plain-graphs.js';

/** Graphs that count by a second column: by status, by retries, by value. */
export function askCounts(
  question: GraphQuestion,
  graph: CountGraph,
  database: AnalyticsDatabase,
): Promise<GraphAnswer> {
  return graphs[graph](question, database);
}

const sumOf = (rows: readonly SelectedFigures[], column: string): number =>
  rows.reduce((sum, row) => sum + Number(row[column] ?? 0), 0);

/** A point for each bucket, made of the rows that were found in it. */
function overTime(
  { range }: GraphQuestion,
  rows: readonly SelectedFigures[],
  point: (rows: readonly SelectedFigures[]) => Figures,
): Figures[] {
  const width = bucketWidth(range);
  const byBucket = new Map<number, SelectedFigures[]>();
  for (const row of rows) {
    const bucket = Number(row['bucket']);
    const others = byBucket.get(bucket);
    if (others === undefined) byBucket.set(bucket, [row]);
    else others.push(row);
  }
  const numbers = [...byBucket.keys()];
  const found = numbers.length === 0 ? null : { first: Math.min(...numbers), last: Math.max(...numbers) };
  const { first, last } = bucketsOf(range, width, found);
  return Array.from({ length: last - first + 1 }, (_, index) => ({
    timestamp: (first + index) * width,
    ...point(byBucket.get(first + index) ?? []),
  }));
}

type Asking = (question: GraphQuestion, database: AnalyticsDatabase) => Promise<GraphAnswer>;

const graphs: Readonly<Record<CountGraph, Asking>> = {
  async 'errors/stacks'(question, database) {
    const rows = await counted(question, database, 'status', true);
    const points = overTime(question, rows, (of) => ({
      stats: of.map(({ status, count }) => ({ response_status_code: status ?? 0, count: count ?? 0 })),
    }));
    return { summary: { total: sumOf(rows, 'count') }, points, series: null };
  },

  async 'errors/status-codes'(question, database) {
    const rows = await counted(question, database, 'status', false);
    return {
      summary: { total_errors: sumOf(rows, 'count'), unique_error_codes: rows.length },
      points: rows.map(({ status, count }) => ({ status_code: status ?? 0, count: count ?? 0 })),
      series: null,
    };
  },

  async 'requests/rescued'(question, database) {
    const rows = await counted(question, database, 'retries', true);
    const points = overTime(question, rows, (of) => ({
      retry: of
        .filter(({ retries }) => Number(retries) > 0)
        .map(({ retries, count }) => ({ retry_success_count: retries ?? 0, count: count ?? 0 })),
      fallback: sumOf(of, 'fallback'),
    }));
    const retried = rows.filter(({ retries }) => Number(retries) > 0);
    return {
      summary: { retry: sumOf(retried, 'count'), fallback: sumOf(rows, 'fallback') },
      points,
      series: null,
    };
  },

  async 'feedbacks/scores'(question, database) {
    const of = await CountedRequests.of(question, database, question.range, 'score');
    const values = new Placeholders();
    const from =
      of.rolled === null
        ? `(SELECT score AS "key" FROM ${database.scored(selected(question, values, database))}) AS requests`
        : of.from('score', values, ['requests']);
    const total = of.rolled === null ? sums.requests : sumsOfCells.requests;
    const rows = await database.rows(
      `SELECT ${number('"key"')} AS score, ${number(total)} AS total
        FROM ${from} GROUP BY 1 ORDER BY 1`,
      values.list,
    );
    const points = rows.map(({ score, total: of }) => ({ score: score ?? 0, total: of ?? 0 }));
    return { summary: { total: sumOf(rows, 'total') }, points, series: null };
  },

  async 'feedbacks/ai-models'(question, database) {
    const of = await CountedRequests.of(question, database, question.range, 'model');
    const values = new Placeholders();
    const rows = await database.rows(
      `SELECT "key" AS model, ${number('sum(feedback_count)')} AS total, ${number('sum(feedback_value)')} AS value, ${number('sum(feedback_weight)')} AS weight
        FROM ${of.from('model', values, ['feedback_count', 'feedback_value', 'feedback_weight'])} WHERE feedback_count > 0
        GROUP BY "key" ORDER BY total DESC, model ASC NULLS LAST`,
      values.list,
    );
    const points = rows.map(({ model, total: of, value, weight }) => ({
      ai_model: model ?? null,
      total: of ?? 0,
      avg_weighted_feedback: ratio(Number(value), Number(weight)),
    }));
    return { summary: {}, points, series: null };
  },
};

/** Errors by status, or requests that were rescued by their retries; with a bucket each, or without. */
async function counted(
  question: GraphQuestion,
  database: AnalyticsDatabase,
  column: 'status' | 'retries',
  hasBuckets: boolean,
): Promise<readonly SelectedFigures[]> {
  const [by, sum] =
    column === 'status' ? (['status_code', 'errors'] as const) : (['retries', 'requests'] as const);
  const of = await CountedRequests.of(question, database, question.range, by);
  const values = new Placeholders();
  const from = of.from(by, values, [sum, 'fallbacks']);
  const count = sumsOfCells[sum];
  const bucket = hasBuckets ? `${number('bucket')} AS bucket, ` : '';
  return database.rows(
    `SELECT * FROM (SELECT ${bucket}${number('"key"')} AS ${column}, ${number(count)} AS count, ${number('sum(fallbacks)')} AS fallback
      FROM ${from} GROUP BY ${hasBuckets ? '1, 2' : '1'}) AS counted
      WHERE count > 0 ORDER BY ${hasBuckets ? 'bucket, ' : ''}${column}`,
    values.list,
  );
}
