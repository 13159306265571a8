import { bucketWidth, dayMs } from '../buckets.js';
import { type AnalyticsQuestion, type GroupName, groupColumns, type TimeRange } from '../question.js';
import {
  type CellSum,
  cellColumnsOf,
  cellSumsOf,
  durationsTable,
  type RolledBy,
  rolledBy,
  sumsOfCells,
  sumsTable,
  valuesTable,
} from '../rollups/cells.js';
import { daysWithValues } from '../rollups/metadata.js';
import {
  filteredCells,
  type RolledRange,
  rolledRange,
  type Stretch,
  wholeDays,
} from '../rollups/rolled-range.js';
import { userCounts, weekMeasure, weekTables } from '../rollups/weeks.js';
import {
  type BinnedDurations,
  binOf,
  durationsOf,
  type Measure,
  requestBinWidth,
  rolledBinWidth,
} from './bins.js';
import { requestColumns, type SumName, sums } from './columns.js';
import { conditionsOf, sightOf } from './conditions.js';
import { type AnalyticsDatabase, number, Placeholders } from './dialect.js';

type AboutRequests = Pick<AnalyticsQuestion, 'sight' | 'filters'>;

/** A value of metadata, by its name. */
interface ByMetadata {
  readonly metadata: string;
}
/** How requests are grouped: by a column, by another key of the rollups, or by the values of a metadata name. */
export type CountedBy = GroupName | RolledBy | ByMetadata;

const hasName = (by: CountedBy): by is ByMetadata => typeof by === 'object';
/** A range that includes all times. */
const anyTime: TimeRange = { min: -8.64e15, max: 8.64e15 };

/** What cells are wanted for: points of days, those and the users of the whole range, or the whole range alone. */
type CellUse = 'points' | 'users' | 'groups';

/** What figures are added up from: requests one by one, or cells of whole days and the requests of the other times. */
export class CountedRequests {
  constructor(
    readonly question: AboutRequests,
    readonly database: AnalyticsDatabase,
    /** null: requests one by one. */
    readonly rolled: RolledRange | null,
    /** Of a bucket, in milliseconds; null: requests are not counted by time. */
    readonly width: number | null,
    /** Without cells: are requests first grouped by the whole text of their metadata? */
    readonly isByText = false,
    /** A subquery of the requests that have no cells, which the statement begins with. */
    readonly restName: string | null = null,
  ) {}

  static async of(
    question: AboutRequests,
    database: AnalyticsDatabase,
    range: TimeRange | null,
    by: CountedBy,
    use: CellUse = 'points',
  ): Promise<CountedRequests> {
    const width = range === null || use === 'groups' ? null : bucketWidth(range);
    // Shorter ranges have points of hours or minutes.
    if (range === null || (width ?? dayMs) !== dayMs || !hasCells(question, by))
      return new CountedRequests(question, database, null, width);
    const { first, last } = wholeDays(range);
    if (last < first) return new CountedRequests(question, database, null, width);
    const [days, weeks] = await Promise.all([
      database.rolledDays(first, last, 'groups'),
      use === 'points' ? [] : database.rolledWeeks?.(first, last),
    ]);
    return new CountedRequests(question, database, rolledRange(range, days, weeks), width);
  }

  /** Sums of requests by the values of a metadata name. `range` null: all times. */
  static async ofValues(
    question: AboutRequests,
    database: AnalyticsDatabase,
    name: string,
    range: TimeRange | null,
  ): Promise<CountedRequests> {
    const times = range ?? anyTime;
    const rolled = hasCells(question, { metadata: name })
      ? await daysOfValues(question, database, name, times)
      : null;
    if (rolled !== null) return new CountedRequests(question, database, rolled, null);
    const values = new Placeholders();
    const where = conditionsOf(question, values, database);
    const isByText = (await database.hasRepeatedMetadata?.(name, where, values.list)) ?? false;
    return new CountedRequests(question, database, null, null, isByText);
  }

  get #bucket(): string {
    const { database, width } = this;
    return `${width === null ? '0' : database.divided('"at"', width)} AS bucket`;
  }

  /** A subquery of requests with their `key`, and what questions may name of them. */
  oneByOne(by: CountedBy, values: Placeholders, condition = ''): string {
    const { database, question } = this;
    const where = conditionsOf(question, values, database);
    return this.#keyed(by, `${database.source()} AS requests WHERE ${where}${condition}`, values, '*');
  }

  /**
   * A subquery of cells with `bucket`, `key` and what the expressions of `sumsOfCells` for `wanted` name. Requests are added up by both
   * first: PostgreSQL does that in several processes, but not what questions make of it.
   */
  from(by: CountedBy, values: Placeholders, wanted: readonly CellSum[]): string {
    const { database, question, rolled } = this;
    const bucket = this.#bucket;
    if (rolled === null) {
      if (!this.isByText)
        return `(SELECT ${bucket}, "key"${cellSumsOf(wanted)} FROM ${this.oneByOne(by, values)} GROUP BY 1, 2) AS requests`;
      const from = `${database.source()} AS requests WHERE ${conditionsOf(question, values, database)}`;
      const texts = `(SELECT metadata${cellSumsOf(wanted)} FROM ${from} GROUP BY metadata) AS texts`;
      return this.#keyed(by, texts, values, `metadata${cellColumnsOf(wanted)}`);
    }
    const columns = `day AS bucket, ${by === 'workspace' ? 'workspace' : '"key"'} AS "key"${cellColumnsOf(wanted)}`;
    const cells = cellsOf(rolled, tableOf(by), columns, this.#condition(by, values));
    const rest = this.#rest(by, values);
    const counted = `SELECT ${bucket}, "key"${cellSumsOf(wanted)} FROM ${rest} GROUP BY 1, 2`;
    return `(${[...cells, ...(rest === null ? [] : [counted])].join(' UNION ALL ')}) AS requests`;
  }

  /** The same by days, which buckets are made of. */
  get inDays(): CountedRequests {
    const { question, database, rolled, width } = this;
    return new CountedRequests(question, database, rolled && { ...rolled, inWeeks: null }, width);
  }

  /**
   * A subquery with a `bucket`, its `users` and the requests of users, `of_users`; a bucket of null is the whole range. null: there are
   * no counts of the users of days, or those of several workspaces, which can't be added up.
   */
  users(values: Placeholders): string | null {
    const { question, rolled } = this;
    if (rolled === null) return this.#usersOfRequests(values);
    if (!rolled.inWeeks || question.sight.workspaces?.length !== 1) return null;
    const { daysOfWeeks, otherDays } = rolled.inWeeks;
    const rest = this.#rest('user', values);
    const before = `WITH rest AS MATERIALIZED (SELECT ${this.#bucket}, "key"${cellSumsOf(['of_users'])}
      FROM ${rest} GROUP BY 1, 2)`;
    const condition = this.#condition('user', values);
    const counted = (bucket: string, range: RolledRange): string[] => {
      const cells = cellsOf(range, tableOf('user'), 'day AS bucket, "key", of_users', condition);
      const all = [...cells, ...(rest === null ? [] : ['SELECT * FROM rest'])];
      if (all.length === 0) return [];
      const users = `SELECT ${bucket}, "key", sum(of_users) AS of_users FROM (${all.join(' UNION ALL ')}) AS cells GROUP BY 1, 2`;
      return [`SELECT ${bucket}, count(*), sum(of_users) FROM (${users}) AS users GROUP BY 1`];
    };
    const parts = [
      `SELECT day AS bucket, users, of_users FROM ${userCounts}
        WHERE ${sightOf(question.sight, values)} AND (${betweenDays(daysOfWeeks)})`,
      ...counted('bucket', { ...rolled, days: otherDays, inWeeks: null }),
      ...counted('CAST(NULL AS BIGINT)', rolled),
    ];
    return `(${rest === null ? '' : before} ${parts.join(' UNION ALL ')}) AS requests`;
  }

  #usersOfRequests(values: Placeholders): string {
    return `(SELECT bucket, count(DISTINCT "key") AS users, count(*) AS of_users
      FROM (SELECT ${this.#bucket}, "key" FROM ${this.oneByOne('user', values)}) AS keyed GROUP BY GROUPING SETS ((bucket), ())) AS requests`;
  }

  /** The same for a statement that reads the requests without cells twice. `before`: what the statement begins with. */
  sharingRest(
    by: CountedBy,
    values: Placeholders,
    wanted: readonly CellSum[],
  ): { readonly counted: CountedRequests; readonly before: string } {
    const rest = this.#rest(by, values);
    if (rest === null) return { counted: this, before: '' };
    const used = wanted.map((name) => (name === 'fallbacks' ? 'is_fallback' : sums[name])).join(' ');
    const columns = requestColumns.filter(
      (name) => name === 'at' || name === 'total_us' || new RegExp(`\\b${name}\\b`).test(used),
    );
    const { question, database, rolled, width, isByText } = this;
    return {
      counted: new CountedRequests(question, database, rolled, width, isByText, 'rest'),
      before: `WITH rest AS MATERIALIZED (SELECT ${columns.map((name) => `"${name}"`).join(', ')}, "key" FROM ${rest})`,
    };
  }

  /**
   * A subquery with `bucket`, `bin`, `n` and `us`, the sum of the durations, in microseconds; and with `key`, or with `part`, if its
   * expression is given: a few series have fewer bins than all groups.
   */
  durations(
    by: CountedBy,
    measure: Measure,
    values: Placeholders,
    part: string | null = null,
  ): BinnedDurations {
    const { rolled } = this;
    const us = durationsOf[measure];
    const bucket = this.#bucket;
    const counted = (key: string, width: number, requests: string): string =>
      `SELECT ${bucket}, ${key}, ${binOf(us, width)} AS bin, count(*) AS n, sum(${number(us)}) AS us FROM ${requests}`;
    const withParts = (from: string): string =>
      part === null
        ? `(${from}) AS requests`
        : `(SELECT *, ${part} AS part FROM (${from}) AS keyed) AS requests`;
    if (rolled === null) {
      const requests = this.oneByOne(by, values, ` AND ${us} IS NOT NULL`);
      if (by === 'none' || this.width === dayMs) {
        const key = part === null ? '"key"' : `${part} AS part`;
        return {
          width: null,
          from: `(${counted(key, requestBinWidth, requests)} GROUP BY 1, 2, 3) AS requests`,
        };
      }
      // A group has few requests of an hour in a bin: to add them up first would take longer.
      const bins = `SELECT ${bucket}, "key", ${binOf(us, requestBinWidth)} AS bin, 1 AS n, ${us} AS us FROM ${requests}`;
      return { width: null, from: withParts(bins) };
    }
    const columns = `day AS bucket, ${by === 'workspace' ? 'workspace' : '"key"'} AS "key", bin, n, us`;
    const condition = `measure = '${measure}' AND ${this.#condition(by, values)}`;
    const cells = cellsOf(rolled, durationsTable, columns, condition, measure === weekMeasure);
    const rest = this.#rest(by, values);
    const others =
      rest === null
        ? []
        : [`${counted('"key"', rolledBinWidth, rest)} WHERE ${us} IS NOT NULL GROUP BY 1, 2, 3`];
    return {
      width: rolledBinWidth,
      from: withParts([...cells, ...others].join(' UNION ALL ')),
    };
  }

  /** Requests with their `key`; if it is not a column, only those that have it. `from`: table and conditions. */
  #keyed(by: CountedBy, from: string, values: Placeholders, columns: string): string {
    const { database } = this;
    if (hasName(by)) {
      const key = database.metadataValue(by.metadata, values);
      return `(SELECT * FROM (SELECT ${columns}, ${key} AS "key" FROM ${from}) AS keyed WHERE "key" IS NOT NULL) AS requests`;
    }
    const only = by in rolledBy ? rolledBy[by as RolledBy].where : null;
    return `(SELECT ${columns}, ${keyOf(by, this.rolled !== null)} AS "key" FROM ${from}${only === null ? '' : ` AND ${only}`}) AS requests`;
  }

  /** What has to hold of cells. */
  #condition(by: CountedBy, values: Placeholders): string {
    const sight = { ...this.question.sight, keys: null };
    const filter = filteredCells(this.question)?.filter ?? null;
    if (filter !== null)
      return `rolled_by = '${filter.by}' AND ${values.in('"key"', filter.keys)} AND ${sightOf(sight, values)}`;
    const name = hasName(by) ? values.add(by.metadata) : `'${by === 'workspace' ? 'none' : by}'`;
    return `rolled_by = ${name} AND ${sightOf(sight, values)}`;
  }

  /** The requests that have no cells; null: there are none. */
  #rest(by: CountedBy, values: Placeholders): string | null {
    const { database, question } = this;
    const times = this.rolled?.times ?? [];
    if (times.length === 0) return null;
    if (this.restName !== null) return `${this.restName} AS requests`;
    const where = conditionsOf(question, values, database);
    const within = (list: typeof times): string =>
      list.map(([min, max]) => `"at" BETWEEN ${min} AND ${max}`).join(' OR ');
    // DuckDB reads all rows for times that are joined by OR.
    const parts = times.length <= mostParts ? times.map((one) => [one]) : [times];
    const selects = parts.map(
      (part) => `SELECT * FROM ${database.source()} AS requests WHERE ${where} AND (${within(part)})`,
    );
    const requests = `(${selects.join(' UNION ALL ')}) AS requests`;
    const from = by === 'score' ? database.scored(requests) : requests;
    return this.#keyed(by, `${from} WHERE true`, values, '*');
  }
}

/** Are there cells that answer a question by that group? Those of a filter are of its own group alone. */
function hasCells(question: AboutRequests, by: CountedBy): boolean {
  const cells = filteredCells(question);
  if (cells === null) return false;
  return cells.filter === null || by === 'none' || by === 'workspace' || by === cells.filter.by;
}

const tableOf = (by: CountedBy): string => {
  if (hasName(by)) return valuesTable;
  return by === 'workspace' ? 'day_sums' : sumsTable(by);
};

async function daysOfValues(
  { sight }: AboutRequests,
  database: AnalyticsDatabase,
  name: string,
  times: TimeRange,
): Promise<RolledRange | null> {
  const { first, last } = wholeDays(times);
  if (last < first) return null;
  const rolled = await database.rolledDays(first, last, 'values');
  return rolledRange(times, await daysWithValues(rolled, name, sight, database));
}

/** Statements that select cells, of weeks where there are such. */
function cellsOf(
  { days, inWeeks }: RolledRange,
  table: string,
  columns: string,
  condition: string,
  hasWeeks = true,
): readonly string[] {
  const weekTable = hasWeeks ? weekTables[table] : undefined;
  const parts: (readonly [string, readonly Stretch[]])[] =
    inWeeks === null || weekTable === undefined
      ? [[table, days]]
      : [
          [weekTable, inWeeks.weeks],
          [table, inWeeks.otherDays],
        ];
  return parts
    .filter(([, stretches]) => stretches.length > 0)
    .map(
      ([name, stretches]) =>
        `SELECT ${columns} FROM ${name} WHERE ${condition} AND (${betweenDays(stretches)})`,
    );
}

const betweenDays = (stretches: readonly Stretch[]): string =>
  stretches.map(([first, last]) => `day BETWEEN ${first} AND ${last}`).join(' OR ');

/** Stretches of time that are read one by one. */
const mostParts = 8;

/** What a request is counted under. Cells have texts. */
function keyOf(by: Exclude<CountedBy, ByMetadata>, isText: boolean): string {
  if (by === 'workspace') return 'workspace';
  if (isText || by === 'none' || by === 'score') return rolledBy[by].key;
  if (by === 'user') return 'user_name';
  return by === 'retries' ? 'retries' : groupColumns[by];
}

/** Sums of cells as columns of a statement. */
export const sumColumns = (names: readonly SumName[]): string =>
  names.map((name) => `${number(sumsOfCells[name])} AS ${name}`).join(', ');
