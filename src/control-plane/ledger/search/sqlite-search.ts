import type { LogFollowing, LogOrder, LogQuery } from '../../../common/ledger/logs/log-query.js';
import type { LedgerPage, LogPage } from '../../../common/ledger/record.js';
import type { SqliteConnection } from '../../database/sqlite.js';
import { type SelectedRow, selectColumns, selectedRow, selectRows } from '../sqlite-rows.js';
import { partBits } from '../sqlite-schema.js';
import { type Add, type SearchLanguage, SearchParameters, searchConditions } from './conditions.js';

/** Names that a path of JSON takes as they are. */
const plainName = /^[A-Za-z_][A-Za-z0-9_-]*$/;

const sqliteSearchLanguage: SearchLanguage = {
  hasMetadata: (name, value, add) =>
    plainName.test(name)
      ? `metadata ->> ${add(`$."${name}"`)} = ${add(value)}`
      : `EXISTS (SELECT 1 FROM json_each(metadata) AS pair WHERE pair.key = ${add(name)} AND pair.value = ${add(value)})`,
  span: "rest ->> '$.span'",
  // Each part of the index over traces is looked into.
  hasTrace(traces, add) {
    const places = traces.map(add).join(', ');
    return `seq IN (
      WITH RECURSIVE part(number) AS (SELECT (SELECT max(seq) FROM exchanges) >> ${partBits}
        UNION ALL SELECT number - 1 FROM part WHERE number > 0)
      SELECT e.seq FROM part CROSS JOIN exchanges AS e
        WHERE e.seq >> ${partBits} = part.number AND e.trace IN (${places}) AND e.trace IS NOT NULL
      UNION ALL SELECT seq FROM exchanges WHERE id IN (${places}) AND trace IS NULL)`;
  },
  kept: (text) => text,
};

const columnsOfOrder: Readonly<Record<LogOrder['by'], string>> = {
  created_at: 'at',
  cost: 'cost',
  total_units: 'input_tokens + output_tokens',
  response_time: 'total_us',
};

function orderOf({ by, isAscending }: LogOrder): string {
  const way = isAscending ? 'ASC' : 'DESC';
  const time = `at ${way}, seq ${way}`;
  return by === 'created_at' ? time : `${columnsOfOrder[by]} ${way} NULLS LAST, ${time}`;
}

/** Few rows are found by their trace: `+` keeps the planner off the index over times. */
const tenant = (isByTrace: boolean, org: string, add: Add): string =>
  `${isByTrace ? '+org' : 'org'} = ${add(org)}`;

/** A page of rows and, if requested, the number of all. */
export async function sqlitePage(reader: SqliteConnection, query: LogQuery): Promise<LogPage> {
  const { sight, filters, order, offset, limit, isCounted } = query;
  const [newest] = await reader.all<{ top: number | null }>('SELECT max(seq) AS top FROM exchanges');
  const top = newest?.top ?? 0;
  const { add, values } = new SearchParameters('?');
  const where = [
    tenant(filters.traces.length > 0, sight.org, add),
    `seq <= ${add(top)}`,
    ...searchConditions(sight, filters, sqliteSearchLanguage, add),
  ].join(' AND ');
  const rows = await reader.all<SelectedRow>(
    `${selectRows} WHERE ${where} ORDER BY ${orderOf(order)} LIMIT ${limit} OFFSET ${offset}`,
    values,
  );
  const total = isCounted ? await totalOf(reader, where, values, query, rows.length) : null;
  return { rows: rows.map(selectedRow), total, cursor: String(top) };
}

async function totalOf(
  reader: SqliteConnection,
  where: string,
  values: readonly unknown[],
  { offset, limit }: LogQuery,
  found: number,
): Promise<number> {
  // A page that is not full is the last one.
  if (found < limit && (found > 0 || offset === 0)) return offset + found;
  const [counted] = await reader.all<{ total: number }>(
    `SELECT count(*) AS total FROM exchanges WHERE ${where}`,
    values,
  );
  return counted?.total ?? 0;
}

/** Rows in the order of their ingestion, after a cursor. */
export async function sqliteFollowing(
  reader: SqliteConnection,
  { sight, filters, after, limit, scan, columns }: LogFollowing,
): Promise<LedgerPage> {
  const [newest] = await reader.all<{ top: number | null }>('SELECT max(seq) AS top FROM exchanges');
  const from = Number.parseInt(after, 10);
  const last = newest?.top ?? 0;
  const top = scan === undefined ? last : Math.min(last, from + scan);
  const { add, values } = new SearchParameters('?');
  const where = [
    `+org = ${add(sight.org)}`,
    `seq <= ${add(top)}`,
    `seq > ${add(from)}`,
    ...searchConditions(sight, filters, sqliteSearchLanguage, add),
  ];
  const rows = await reader.all<SelectedRow>(
    `${selectColumns(columns)} WHERE ${where.join(' AND ')} ORDER BY seq LIMIT ${limit}`,
    values,
  );
  return {
    rows: rows.map(selectedRow),
    cursor: String(rows.length === limit ? (rows.at(-1)?.seq ?? top) : top),
    ...(top < last && { isCut: true }),
  };
}
