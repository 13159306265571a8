import { createSums, durationColumns, durationsTable, mergedCells } from './cells.js';

/**
 * Rollups of weeks over a ledger in PostgreSQL: what the cells of seven days add up to, where they are many. Groups over months read a
 * seventh of them. Each week has the snapshots of its days: if one of them is made again, the week is not used until it is made again.
 */

const weekDays = 7;
/** By the table of days. `day` is the first of the week. */
export const weekTables: Readonly<Record<string, string>> = {
  day_users: 'week_users',
  [durationsTable]: 'week_durations',
};
/** Users of each day: they can't be added up, but for one workspace they need not be counted again. */
export const userCounts = 'week_days';
/** Groups have percentiles of these alone. */
export const weekMeasure = 'total';

export const createWeeks = (text: string): string => `${createSums('week_users', text)}
  CREATE TABLE week_durations (day INTEGER NOT NULL, org ${text}, workspace ${text}, rolled_by ${text}, "key" ${text},
    measure ${text}, bin INTEGER, n BIGINT, us NUMERIC(38, 0));
  CREATE TABLE ${userCounts} (day INTEGER NOT NULL, org ${text}, workspace ${text}, users BIGINT NOT NULL, of_users BIGINT NOT NULL);
  CREATE TABLE rolled_weeks (day INTEGER PRIMARY KEY, snapshots text NOT NULL);
  CREATE INDEX week_users_cells ON week_users (org, workspace, day);
  CREATE INDEX week_users_day ON week_users (day);
  CREATE INDEX week_durations_cells ON week_durations (org, workspace, rolled_by, measure, day);
  CREATE INDEX week_durations_day ON week_durations (day);
  CREATE INDEX ${userCounts}_cells ON ${userCounts} (day, org, workspace);`;

const snapshots = "string_agg(snapshot::text, ' ' ORDER BY day)";
const complete = `SELECT day - day % ${weekDays} AS day, ${snapshots} AS snapshots FROM rolled_days
  GROUP BY 1 HAVING count(*) = ${weekDays}`;

/** The weeks whose days are all rolled up, and have changed since the week was. */
export const changedWeeks = `SELECT found.day FROM (${complete}) AS found LEFT JOIN rolled_weeks AS rolled ON rolled.day = found.day
  WHERE rolled.snapshots IS DISTINCT FROM found.snapshots ORDER BY 1 DESC`;

/** The first days of weeks that are as their days are. */
export const validWeeks = (first: number, last: number): string =>
  `SELECT day FROM rolled_weeks AS rolled WHERE day BETWEEN ${first} AND ${last} AND snapshots = (SELECT ${snapshots}
    FROM rolled_days WHERE day BETWEEN rolled.day AND rolled.day + ${weekDays - 1}) ORDER BY day`;

/** Statements that make a week of its days, in one transaction. */
export function rollUpWeek(first: number): readonly string[] {
  const days = `day BETWEEN ${first} AND ${first + weekDays - 1}`;
  const cell = 'org, workspace, rolled_by, "key"';
  return [
    ...['week_users', 'week_durations', userCounts].map(
      (table) => `DELETE FROM ${table} WHERE ${table === userCounts ? days : `day = ${first}`}`,
    ),
    `INSERT INTO week_users (day, ${cell}, ${mergedCells.columns})
      SELECT ${first}, ${cell}, ${mergedCells.sums} FROM day_users WHERE ${days} GROUP BY 2, 3, 4, 5 ORDER BY 2, 3, 4, 5`,
    `INSERT INTO week_durations (day, ${cell}, ${durationColumns})
      SELECT ${first}, ${cell}, measure, bin, sum(n), sum(us) FROM ${durationsTable} WHERE ${days} AND measure = '${weekMeasure}'
      GROUP BY 2, 3, 4, 5, 6, 7 ORDER BY 2, 3, 4, 6, 5, 7`,
    `INSERT INTO ${userCounts} SELECT day, org, workspace, count(DISTINCT "key"), sum(of_users) FROM day_users WHERE ${days} GROUP BY 1, 2, 3`,
    `INSERT INTO rolled_weeks SELECT ${first}, ${snapshots} FROM rolled_days WHERE ${days}
      ON CONFLICT (day) DO UPDATE SET snapshots = excluded.snapshots`,
  ];
}
