import { dayMs } from '../buckets.js';
import { groupColumns } from '../question.js';
import { binOf, durationsOf, rolledBinWidth } from '../statements/bins.js';
import type { AnalyticsDatabase } from '../statements/dialect.js';
import {
  cellColumns,
  cellSums,
  durationColumns,
  type RolledBy,
  rolledBy,
  rollupTables,
  sumsTable,
} from './cells.js';
import { addValues, rollUpValues } from './metadata.js';

/** What is grouped in one pass over the requests, by their columns. */
const { workspace: _, ...columns } = groupColumns;
const grouped = Object.entries(columns) as [Exclude<keyof typeof groupColumns, 'workspace'>, string][];
/** What has statements of its own. */
const single = ['user', 'retries', 'score'] as const satisfies readonly RolledBy[];

const name = `CASE ${grouped.map(([by, column]) => `WHEN GROUPING(${column}) = 0 THEN '${by}'`).join(' ')} ELSE 'none' END`;
const key = `CASE ${grouped.map(([by, column]) => `WHEN GROUPING(${column}) = 0 THEN ${rolledBy[by].key}`).join(' ')} END`;

const groupingSets = (more = ''): string => {
  const sets = ['', ...grouped.map(([, column]) => `, ${column}`)];
  return `GROUPING SETS (${sets.map((column) => `(org, workspace${column}${more})`).join(', ')})`;
};

const into = (columns: string): string => `(day, org, workspace, rolled_by, "key", ${columns})`;

type Source = Pick<AnalyticsDatabase, 'source' | 'scored' | 'metadataPairs'>;

const requestsOf = (day: number, database: Source, condition: string): string =>
  `(SELECT * FROM ${database.source()} AS requests
    WHERE "at" >= ${day * dayMs} AND "at" < ${(day + 1) * dayMs} AND ${condition}) AS requests`;

/** Statements that put the cells of a day in, made of its requests. `condition`: more that has to hold of the requests. */
export function rollUpDay(day: number, database: Source, condition = 'true'): readonly string[] {
  const requests = requestsOf(day, database, condition);
  return [...rollUpSums(day, database, requests), ...rollUpValues(day, database, requests)];
}

/** Statements that add cells of some more requests of a day to those that are there: cells are added up when they are read. */
export function addToDay(day: number, database: Source, condition: string): readonly string[] {
  const requests = requestsOf(day, database, condition);
  return [...rollUpSums(day, database, requests), ...addValues(day, database, requests)];
}

function rollUpSums(day: number, database: Source, requests: string): readonly string[] {
  const durations = Object.entries(durationsOf).map(
    ([measure, us]) => `INSERT INTO day_durations ${into(durationColumns)}
      SELECT ${day}, org, workspace, ${name}, ${key}, '${measure}', bin, count(*), sum(us)
      FROM (SELECT *, ${binOf(us, rolledBinWidth)} AS bin, ${us} AS us FROM ${requests} WHERE ${us} IS NOT NULL) AS binned
      GROUP BY ${groupingSets(', bin')}`,
  );
  return [
    `INSERT INTO day_sums ${into(cellColumns)}
      SELECT ${day}, org, workspace, ${name}, ${key}, ${cellSums} FROM ${requests} GROUP BY ${groupingSets()}`,
    ...single.map((by) => {
      const { key: own, where } = rolledBy[by];
      return `INSERT INTO ${sumsTable(by)} ${into(cellColumns)}
        SELECT ${day}, org, workspace, '${by}', ${own}, ${cellSums}
        FROM ${by === 'score' ? database.scored(requests) : requests} ${where === null ? '' : `WHERE ${where}`}
        GROUP BY 2, 3, 5`;
    }),
    ...durations,
  ];
}

/** `condition`: more that has to hold of the cells of a table. */
export const clearDay = (day: number, condition = (_table: string): string => 'true'): readonly string[] =>
  rollupTables.map((table) => `DELETE FROM ${table} WHERE day = ${day} AND ${condition(table)}`);
