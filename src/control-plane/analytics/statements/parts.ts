import type { GraphQuestion } from '../question.js';
import { sumsOfCells } from '../rollups/cells.js';
import { conditionsOf } from './conditions.js';
import type { CountedRequests } from './counted.js';
import { type AnalyticsDatabase, number, Placeholders, type SelectedFigures } from './dialect.js';

const mostSeries = 10;

/** The groups of a graph that have a series each, and a number for every request's: the last one is of all others. */
export interface SeriesParts {
  readonly keys: readonly (string | number | null)[];
  readonly hasOther: boolean;
}

/** Requests that a question is about, as a subquery. */
export function selected(question: GraphQuestion, values: Placeholders, database: AnalyticsDatabase): string {
  return `(SELECT * FROM ${database.source()} AS requests WHERE ${conditionsOf(question, values, database)}) AS requests`;
}

/** The groups with the most requests. null: the graph is not grouped. */
export async function seriesParts(
  question: GraphQuestion,
  counted: CountedRequests,
): Promise<SeriesParts | null> {
  if (question.groupBy === null) return null;
  const values = new Placeholders();
  const rows = await counted.database.rows(
    `SELECT "key", ${number(sumsOfCells.requests)} AS requests FROM ${counted.from(question.groupBy, values, ['requests'])}
      GROUP BY "key" ORDER BY requests DESC, "key" ASC NULLS LAST LIMIT ${mostSeries + 1}`,
    values.list,
  );
  return {
    keys: rows.slice(0, mostSeries).map(({ key }) => key ?? null),
    hasOther: rows.length > mostSeries,
  };
}

/** Expression: the number of the series that a request is part of. */
export function partOf({ keys }: SeriesParts, values: Placeholders): string {
  const cases = keys.map((key, part) => {
    if (key === null) return `WHEN "key" IS NULL THEN ${part}`;
    return `WHEN "key" = ${typeof key === 'number' ? key : values.add(key)} THEN ${part}`;
  });
  return cases.length === 0 ? '0' : `CASE ${cases.join(' ')} ELSE ${mostSeries} END`;
}

/** Rows of a statement with the columns `part` and `bucket`, of which null means: of all. */
export class BucketRows {
  /** By part, then by bucket. */
  readonly #rows = new Map<string, SelectedFigures>();
  #first = Number.POSITIVE_INFINITY;
  #last = Number.NEGATIVE_INFINITY;

  constructor(rows: readonly SelectedFigures[]) {
    for (const row of rows) {
      const bucket = row['bucket'] ?? null;
      this.#rows.set(`${row['part'] ?? ''} ${bucket ?? ''}`, row);
      if (bucket === null) continue;
      this.#first = Math.min(this.#first, Number(bucket));
      this.#last = Math.max(this.#last, Number(bucket));
    }
  }

  /** The first and the last bucket that has requests; null: none has. */
  get found(): { readonly first: number; readonly last: number } | null {
    return this.#last < this.#first ? null : { first: this.#first, last: this.#last };
  }

  get(part: number | null, bucket: number | null): SelectedFigures | null {
    return this.#rows.get(`${part ?? ''} ${bucket ?? ''}`) ?? null;
  }
}

/** The grouping of a statement over buckets: of all requests, and of each series. */
export function groupingSets(hasParts: boolean, ...more: readonly string[]): string {
  const extra = more.map((column) => `, ${column}`).join('');
  const sets = [`(bucket${extra})`, `(${more.join(', ')})`];
  if (hasParts) sets.push(`(part, bucket${extra})`, `(part${extra})`);
  return `GROUPING SETS (${sets.join(', ')})`;
}

/** Puts a graph together from what was found. */
export interface SeriesOf<T> {
  readonly key: string | null;
  readonly isOther: boolean;
  readonly of: T;
}

export function eachSeries<T>(parts: SeriesParts, make: (part: number) => T): SeriesOf<T>[] {
  const series = parts.keys.map((key, part) => ({
    key: key === null ? null : String(key),
    isOther: false,
    of: make(part),
  }));
  return parts.hasOther ? [...series, { key: 'other', isOther: true, of: make(mostSeries) }] : series;
}
