import { bucketsOf, bucketWidth } from '../buckets.js';
import type { CountGraph, Figures, GraphAnswer, GraphQuestion } from '../question.js';
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

const total = (rows: readonly SelectedFigures[], column: string): number =>
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
    const rows = await counted(question, database, 'status', 'NOT ok', 'bucket, status');
    const points = overTime(question, rows, (of) => ({
      stats: of.map(({ status, count }) => ({ response_status_code: status ?? 0, count: count ?? 0 })),
    }));
    return { summary: { total: total(rows, 'count') }, points, series: null };
  },

  async 'errors/status-codes'(question, database) {
    const rows = await counted(question, database, 'status', 'NOT ok', 'status');
    return {
      summary: { total_errors: total(rows, 'count'), unique_error_codes: rows.length },
      points: rows.map(({ status, count }) => ({ status_code: status ?? 0, count: count ?? 0 })),
      series: null,
    };
  },

  async 'requests/rescued'(question, database) {
    const rows = await counted(
      question,
      database,
      'retries',
      'ok AND (retries > 0 OR is_fallback)',
      'bucket, retries',
    );
    const points = overTime(question, rows, (of) => ({
      retry: of
        .filter(({ retries }) => Number(retries) > 0)
        .map(({ retries, count }) => ({ retry_success_count: retries ?? 0, count: count ?? 0 })),
      fallback: total(of, 'fallback'),
    }));
    const retried = rows.filter(({ retries }) => Number(retries) > 0);
    return {
      summary: { retry: total(retried, 'count'), fallback: total(rows, 'fallback') },
      points,
      series: null,
    };
  },

  async 'feedbacks/scores'(question, database) {
    const values = new Placeholders();
    const rows = await database.rows(
      `SELECT ${number('score')} AS score, ${number('count(*)')} AS total
        FROM ${database.scored(selected(question, values, database))} GROUP BY score ORDER BY score`,
      values.list,
    );
    const points = rows.map(({ score, total: of }) => ({ score: score ?? 0, total: of ?? 0 }));
    return { summary: { total: total(rows, 'total') }, points, series: null };
  },

  async 'feedbacks/ai-models'(question, database) {
    const values = new Placeholders();
    const rows = await database.rows(
      `SELECT model, ${number('sum(feedback_count)')} AS total, ${number('sum(feedback_value)')} AS value, ${number('sum(feedback_weight)')} AS weight
        FROM ${selected(question, values, database)} WHERE feedback_count > 0
        GROUP BY model ORDER BY total DESC, model ASC NULLS LAST`,
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

async function counted(
  question: GraphQuestion,
  database: AnalyticsDatabase,
  column: 'status' | 'retries',
  condition: string,
  by: string,
): Promise<readonly SelectedFigures[]> {
  const values = new Placeholders();
  const bucket = database.divided('"at"', bucketWidth(question.range));
  const columns = by.includes('bucket') ? `${number('bucket')} AS bucket, ` : '';
  return database.rows(
    `SELECT ${columns}${number(column)} AS ${column}, ${number('count(*)')} AS count,
        ${number('sum(CASE WHEN is_fallback THEN 1 ELSE 0 END)')} AS fallback
      FROM (SELECT *, ${bucket} AS bucket FROM ${selected(question, values, database)}) AS requests
      WHERE ${condition} GROUP BY ${by} ORDER BY ${by}`,
    values.list,
  );
}
