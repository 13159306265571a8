import type { LogSight } from '../../../common/ledger/logs/log-sight.js';
import { sightOf } from '../statements/conditions.js';
import { type AnalyticsDatabase, number, Placeholders } from '../statements/dialect.js';
import { cellColumns, cellSums, valuesTable } from './cells.js';

/**
 * Rollups of metadata: a cell for each value of a name, unless there are too many. `day_names` has the names of a day in a
 * workspace, and whether all of their values have cells; a row without a name means that some names have no row. If a day does not
 * have all values of a name, its requests are counted row by row, so that answers are as exact as without cells.
 */

/** Names for each workspace and day: those with the most requests have rows. */
const mostNames = 100;
/** A name with more values has no cells. */
const mostValues = 2000;
const mostCells = 5000;
/** A workspace with longer metadata than this, in characters, has no cells on that day. */
const longestMetadata = 4096;

const sameWorkspace = (one: string, other: string): string =>
  `${one}.org = ${other}.org AND ${one}.workspace IS NOT DISTINCT FROM ${other}.workspace`;

type Pairs = Pick<AnalyticsDatabase, 'metadataPairs'>;

const pairsOf = (database: Pairs, requests: string, condition: string): string =>
  `(SELECT * FROM ${database.metadataPairs(`(SELECT * FROM ${requests} WHERE ${condition}) AS requests`)}
    WHERE metadata_value IS NOT NULL) AS requests`;

/** Inserts the names that have cells. `pairs`: a subquery of metadata. */
const namesOf = (day: number, pairs: string): string => {
  const name = `CASE WHEN place <= ${mostNames} THEN metadata_name END`;
  return `INSERT INTO day_names SELECT ${day}, org, workspace, ${name},
      bool_and(place <= ${mostNames} AND number <= ${mostValues} AND cells <= ${mostCells})
    FROM (SELECT *, sum(CASE WHEN number <= ${mostValues} THEN number ELSE 0 END)
        OVER (PARTITION BY org, workspace ORDER BY place) AS cells
      FROM (SELECT *, row_number() OVER (PARTITION BY org, workspace ORDER BY requests DESC, metadata_name) AS place
        FROM (SELECT org, workspace, metadata_name, sum(requests) AS requests, count(*) AS number
          FROM (SELECT org, workspace, metadata_name, metadata_value, count(*) AS requests
            FROM ${pairs} GROUP BY 1, 2, 3, 4) AS counted GROUP BY 1, 2, 3) AS named) AS placed) AS bounded
    GROUP BY 2, 3, 4`;
};

/** Inserts the cells of the names that have them. */
const cellsOf = (day: number, pairs: string): string =>
  `INSERT INTO ${valuesTable} (day, org, workspace, rolled_by, "key", ${cellColumns})
    SELECT ${day}, org, workspace, metadata_name, metadata_value, ${cellSums}
    FROM (SELECT requests.* FROM ${pairs} JOIN day_names AS kept ON kept.day = ${day} AND ${sameWorkspace('kept', 'requests')}
      AND kept.name = requests.metadata_name AND kept.is_whole) AS requests
    GROUP BY 2, 3, 4, 5`;

/** Statements that insert the cells of a day. `requests`: a subquery of its requests. */
export function rollUpValues(day: number, database: Pairs, requests: string): readonly string[] {
  // The previous statement has inserted the workspaces whose metadata is too long.
  const short = `NOT EXISTS (SELECT 1 FROM day_names AS lost WHERE lost.day = ${day} AND ${sameWorkspace('lost', 'requests')})`;
  return [
    `INSERT INTO day_names SELECT DISTINCT ${day}, org, workspace, NULL, false FROM ${requests}
      WHERE length(CAST(metadata AS VARCHAR)) > ${longestMetadata}`,
    namesOf(day, pairsOf(database, requests, short)),
    cellsOf(day, pairsOf(database, requests, 'true')),
  ];
}

/** Statements that add cells of more requests of a day to those that it has. A new name has all of its values in them. */
export function addValues(day: number, database: Pairs, requests: string): readonly string[] {
  const pairs = pairsOf(database, requests, 'true');
  const unnamed = `(SELECT * FROM ${pairs} WHERE NOT EXISTS (SELECT 1 FROM day_names AS found WHERE found.day = ${day}
    AND ${sameWorkspace('found', 'requests')} AND (found.name IS NULL OR found.name = requests.metadata_name))) AS requests`;
  return [namesOf(day, unnamed), cellsOf(day, pairs)];
}

/** The days whose cells have all values of a name, in the visible workspaces. */
export async function daysWithValues(
  days: readonly number[],
  name: string,
  sight: LogSight,
  database: AnalyticsDatabase,
): Promise<readonly number[]> {
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return [];
  const values = new Placeholders();
  const rows = await database.rows(
    `SELECT DISTINCT ${number('day')} AS day FROM day_names AS lost
      WHERE day BETWEEN ${first} AND ${last} AND NOT is_whole AND ${sightOf(sight, values)}
        AND (name = ${values.add(name)} OR (name IS NULL AND NOT EXISTS (SELECT 1 FROM day_names AS own
          WHERE own.day = lost.day AND ${sameWorkspace('own', 'lost')} AND own.name = ${values.add(name)})))`,
    values.list,
  );
  const lost = new Set(rows.map(({ day }) => Number(day)));
  return days.filter((day) => !lost.has(day));
}
