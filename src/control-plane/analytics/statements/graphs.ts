import { bucketsOf, bucketWidth } from '../buckets.js';
import type { FlatFigures, GraphAnswer, GraphQuestion, PlainGraph } from '../question.js';
import type { SumName, Sums } from './columns.js';
import { type CountedBy, CountedRequests, sumColumns } from './counted.js';
import { type AnalyticsDatabase, number, Placeholders, type SelectedFigures } from './dialect.js';
import { BucketRows, eachSeries, groupingSets, partOf, seriesParts } from './parts.js';
import { plainGraphShapes } from './plain-graphs.js';

/** What a graph's statement finds for each bucket, as its points and its summary. */
export interface GraphShape {
  summary(row: SelectedFigures | null): FlatFigures;
  /** A function for each series: it may add up what was before a bucket. */
  points(): (row: SelectedFigures | null) => FlatFigures;
}

/** A statement of rows with `part`, `bucket` and figures. */
export interface GraphStatement {
  /** `points` unless given. */
  readonly use?: 'users';
  /**
   * A subquery with `bucket`, and what figures are made of. `part`: expression for the number of the series, by `key`, which it has then
   * as `part`; null: the graph has no series.
   */
  from(counted: CountedRequests, values: Placeholders, part: string | null): string;
  of(from: string, hasParts: boolean): string;
}

/** Asks for a graph, and fills the buckets that have no requests. */
export async function askGraph(
  question: GraphQuestion,
  database: AnalyticsDatabase,
  statement: GraphStatement,
  shape: GraphShape,
): Promise<GraphAnswer> {
  const width = bucketWidth(question.range);
  const by = statement.use === 'users' ? 'user' : (question.groupBy ?? 'none');
  const counted = await CountedRequests.of(question, database, question.range, by, statement.use);
  const parts = await seriesParts(question, counted);
  const values = new Placeholders();
  const from = statement.from(counted, values, parts === null ? null : partOf(parts, values));
  const rows = new BucketRows(await database.rows(statement.of(from, parts !== null), values.list));
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
    shape.sums.includes('users') ? ofUsers(shape.sums) : ofSums(question.groupBy ?? 'none', shape.sums),
    {
      summary: (row) => shape.summary(sumsOf(row)),
      points() {
        const before = { simple: 0, semantic: 0 };
        return (row) => (shape.point ?? shape.summary)(sumsOf(row), before);
      },
    },
  );
}

const ofSums = (by: CountedBy, sums: readonly SumName[]): GraphStatement => ({
  from: (counted, values, part) =>
    `(SELECT *${part === null ? '' : `, ${part} AS part`} FROM ${counted.from(by, values, sums)}) AS requests`,
  of: (from, hasParts) =>
    `SELECT ${hasParts ? 'part, ' : ''}${number('bucket')} AS bucket, ${sumColumns(sums)}
      FROM ${from} GROUP BY ${groupingSets(hasParts)}`,
});

function ofUsers(sums: readonly SumName[]): GraphStatement {
  let isCounted = false;
  const { from, of } = ofSums('user', sums);
  return {
    use: 'users',
    from(counted, values, part) {
      const users = counted.users(values);
      isCounted = users !== null;
      return users ?? from(counted.inDays, values, part);
    },
    of: (rows, hasParts) =>
      isCounted
        ? `SELECT ${number('bucket')} AS bucket, ${number('users')} AS users, ${number('of_users')} AS of_users FROM ${rows}`
        : of(rows, hasParts),
  };
}
