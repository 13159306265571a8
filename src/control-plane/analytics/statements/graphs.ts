import { bucketsOf, bucketWidth } from '../buckets.js';
import type { FlatFigures, GraphAnswer, GraphQuestion, PlainGraph } from '../question.js';
import { type SumName, type Sums, sums } from './columns.js';
import { type AnalyticsDatabase, number, Placeholders, type SelectedFigures } from './dialect.js';
import { BucketRows, eachSeries, groupingSets, partOf, selected, seriesParts } from './parts.js';
import { plainGraphShapes } from './plain-graphs.js';

/** What a graph's statement finds for each bucket, as its points and its summary. */
export interface GraphShape {
  summary(row: SelectedFigures | null): FlatFigures;
  /** A function for each series: it may add up what was before a bucket. */
  points(): (row: SelectedFigures | null) => FlatFigures;
}

/** A statement of rows with `part`, `bucket` and figures. `from`: the requests, with a bucket and a part each. */
export type GraphStatement = (from: string, hasParts: boolean) => string;

/** Asks for a graph, and fills the buckets that have no requests. */
export async function askGraph(
  question: GraphQuestion,
  database: AnalyticsDatabase,
  statement: GraphStatement,
  shape: GraphShape,
): Promise<GraphAnswer> {
  const width = bucketWidth(question.range);
  const parts = await seriesParts(question, database);
  const values = new Placeholders();
  const bucket = `${database.divided('"at"', width)} AS bucket`;
  const part = parts === null ? '' : `, ${partOf(parts, values)} AS part`;
  const from = `(SELECT *, ${bucket}${part} FROM ${selected(question, values, database)}) AS requests`;
  const rows = new BucketRows(await database.rows(statement(from, parts !== null), values.list));
  const { first, last } = bucketsOf(question.range, width, rows.found);
  const pointsOf = (of: number | null) => {
    const point = shape.points();
    return Array.from({ length: last - first + 1 }, (_, index) => ({
      timestamp: (first + index) * width,
      ...point(rows.get(of, first + index)),
    }));
  };
  return {
    summary: shape.summary(rows.get(null, null)),
    points: pointsOf(null),
    series:
      parts === null
        ? null
        : eachSeries(parts, (of) => ({
            summary: shape.summary(rows.get(of, null)),
            points: pointsOf(of),
          })).map(({ of, ...series }) => ({ ...series, ...of })),
  };
}

/** Sums as columns of a statement. */
export const sumColumns = (names: readonly SumName[]): string =>
  names.map((name) => `${number(sums[name])} AS ${name}`).join(', ');

const none = new Proxy({} as Sums, { get: () => 0 });

/** A row's sums; of no row all are 0. */
export const sumsOf = (row: SelectedFigures | null): Sums => (row ?? none) as unknown as Sums;

export function askPlainGraph(
  question: GraphQuestion,
  graph: PlainGraph,
  database: AnalyticsDatabase,
): Promise<GraphAnswer> {
  const shape = plainGraphShapes[graph];
  return askGraph(
    question,
    database,
    (from, hasParts) =>
      `SELECT ${hasParts ? 'part, ' : ''}${number('bucket')} AS bucket, ${sumColumns(shape.sums)}
        FROM ${from} GROUP BY ${groupingSets(hasParts)}`,
    {
      summary: (row) => shape.summary(sumsOf(row)),
      points() {
        const before = { simple: 0, semantic: 0 };
        return (row) => (shape.point ?? shape.summary)(sumsOf(row), before);
      },
    },
  );
}
