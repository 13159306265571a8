import { columnFields } from '../../../common/ledger/fields.js';
import type { LogFollowing, LogOrder, LogQuery } from '../../../common/ledger/logs/log-query.js';
import {
  type Bodies,
  type ExchangeBodies,
  type LedgerFilter,
  type LedgerPage,
  type LedgerRow,
  type LogPage,
  providerBodiesId,
} from '../../../common/ledger/record.js';
import { type Rest, rowOf, type StoredValues } from '../../../common/ledger/rows.js';
import type { ChangesPage } from '../ledger.js';
import { type OrganisationTimes, selectTimes } from '../organisation-times.js';
import { type Add, SearchParameters, searchConditions } from '../search/conditions.js';
import { searchOf } from '../search/search-of.js';
import type { LedgerConnections } from './connections.js';
import { type Cursor, cursorAt, cursorBelow, cursorText, parseCursor, without } from './cursor.js';
import { dayOf, dayStart, quoted } from './schema.js';
import { kept, postgresSearchLanguage } from './search.js';

type SelectedRow = StoredValues & {
  /** null: there is no row, only the snapshot. */
  readonly tx: string | null;
  readonly n: number;
  readonly state: number;
  /** Absent: not requested. */
  readonly rest?: Rest;
  readonly snapshot: string;
};

const columns = [...columnFields.map(({ name }) => name), 'rest'];
/**
 * In the result, `tx` is a text, which sorts differently from the number: rows are sorted by `exchanges.tx`. `wanted`: names of
 * columns; all unless given.
 */
const selectedOf = (wanted: readonly string[] = columns): string =>
  ['tx::text AS tx', 'n', 'state', ...columns.filter((name) => wanted.includes(name)).map(quoted)].join(', ');
const selected = selectedOf();

const rowFrom = (row: SelectedRow): LedgerRow =>
  rowOf(row, row.rest ?? {}, row.state === 0 ? 'settled' : 'unknown');

const belowOpen = 'tx < pg_snapshot_xmin(pg_current_snapshot())';

/** Newest rows are looked for in the last days first: each further partition costs a plan 50 µs. */
const windowDays = [2, 32] as const;

/** Counts requests faster than they can be counted here. null: it cannot count these. */
export type RequestCounter = (about: Pick<LogQuery, 'sight' | 'filters'>) => Promise<number | null>;

/** What is read from a ledger in PostgreSQL. Each throws the coded error `store_unavailable`. */
export class LedgerReading {
  counter: RequestCounter = async () => null;

  constructor(
    readonly connections: LedgerConnections,
    readonly now: () => number = Date.now,
  ) {}

  async recent(filter: LedgerFilter): Promise<LedgerPage> {
    const searched = searchOf(filter);
    return 'after' in searched ? this.follow(searched) : this.page(searched);
  }

  async page(query: LogQuery): Promise<LogPage> {
    const { filters, offset, limit, isCounted } = query;
    // Rows of a trace may be of any day, and few. Another order needs all rows.
    const isRecent = filters.traces.length === 0 && isNewestFirst(query);
    let page: Omit<LogPage, 'total'> | null = null;
    for (const days of isRecent ? windowDays : []) {
      page = await this.#newest(query, dayStart(dayOf(this.now()) - days));
      if (page.rows.length === limit) break;
      page = null;
    }
    page ??= await this.#newest(query, null);
    const { length } = page.rows;
    const isLast = length < limit && (length > 0 || offset === 0);
    const total = !isCounted ? null : isLast ? offset + length : await this.#count(query);
    return { ...page, total };
  }

  async #newest(query: LogQuery, since: number | null): Promise<Omit<LogPage, 'total'>> {
    const values = new SearchParameters('$');
    const where = conditions(query, values.add);
    if (since !== null) where.push(`at >= ${since}`);
    const rows = await this.#select(where, orderOf(query.order), query, values);
    return { rows: rows.flatMap(found), cursor: cursorText(cursorAt(rows[0]?.snapshot ?? '1:1:')) };
  }

  async #count(query: LogQuery): Promise<number> {
    const found = await this.counter(query);
    if (found !== null) return found;
    const values = new SearchParameters('$');
    const [counted] = await this.connections.read<{ total: number }>(
      `SELECT count(*) AS total FROM exchanges WHERE ${conditions(query, values.add).join(' AND ')}`,
      values.values,
    );
    return counted?.total ?? 0;
  }

  follow(following: LogFollowing): Promise<LedgerPage> {
    return this.#follow(following.after, following.limit, following);
  }

  async changes(after: string, limit: number): Promise<ChangesPage> {
    return this.#follow(after, limit, null);
  }

  /** In the order of ingestion, before the oldest open transaction, where no more rows can be inserted. */
  async #follow(after: string, limit: number, search: LogFollowing | null): Promise<ChangesPage> {
    const cursor = parseCursor(after);
    const values = new SearchParameters('$');
    const where = search === null ? [] : conditions(search, values.add);
    const place = [`(tx, n) > (${values.add(cursor.tx)}::xid8, ${values.add(cursor.n)}::integer)`];
    if (search?.isOnce !== true) place.push(belowOpen);
    let from = 'exchanges';
    if (search?.scan === undefined) where.push(...place);
    // Always by the index of that order: a plan with another index would sort all matching rows for each page.
    else
      from = `(SELECT * FROM exchanges WHERE org = ${values.add(search.sight.org)} AND ${place.join(' AND ')}
        ORDER BY exchanges.tx, n LIMIT ${values.add(search.scan)}) AS exchanges`;
    if (cursor.seen !== null) {
      where.push(`NOT pg_visible_in_snapshot(tx, ${values.add(cursor.seen)}::pg_snapshot)`);
    }
    const rows = await this.#select(where, 'exchanges.tx, n', { limit, offset: 0 }, values, {
      from,
      ...(search?.columns !== undefined && { columns: search.columns }),
    });
    const last = rows.at(-1);
    const isFull = rows.length === limit && last !== undefined && last.tx !== null;
    const end =
      isFull || search?.scan === undefined || last === undefined
        ? null
        : await this.#endOfScan(cursor, search, search.scan, last.snapshot);
    const reached = isFull ? { tx: last.tx!, n: last.n } : end;
    const next =
      reached === null
        ? cursorBelow(last?.snapshot ?? '1:1:', cursor)
        : without({ ...reached, seen: cursor.seen });
    // From another server, or from before its data was restored from a backup.
    return {
      rows: rows.flatMap(found),
      cursor: cursorText(next),
      cursorAfter(count) {
        const { tx, n } = rows[count - 1]!;
        return cursorText(without({ tx: tx!, n, seen: cursor.seen }));
      },
      ...(end !== null && { isCut: true }),
    };
  }

  /** The place of the last row that a scan looked at, by the index of that order; null: there were fewer. `snapshot`: of the scan. */
  async #endOfScan(
    { tx, n }: Cursor,
    { sight, isOnce }: LogFollowing,
    scan: number,
    snapshot: string,
  ): Promise<Pick<Cursor, 'tx' | 'n'> | null> {
    const seen =
      isOnce === true
        ? 'pg_visible_in_snapshot(tx, $5::pg_snapshot)'
        : 'tx < pg_snapshot_xmin($5::pg_snapshot)';
    const [end] = await this.connections.read<{ tx: string; n: number }>(
      `SELECT tx::text AS tx, n FROM exchanges
        WHERE org = $1 AND (tx, n) > ($2::xid8, $3::integer) AND ${seen}
        ORDER BY exchanges.tx, n OFFSET $4 LIMIT 1`,
      [sight.org, tx, n, scan - 1, snapshot],
      isOnce === true ? 'end of scan, once' : 'end of scan',
    );
    return end ?? null;
  }

  /** Rows, and the snapshot that they are of; where there is none, the snapshot alone. */
  #select(
    where: readonly string[],
    order: string,
    { limit, offset }: Pick<LogQuery, 'limit' | 'offset'>,
    values: SearchParameters,
    { from = 'exchanges', columns: wanted }: { from?: string; columns?: readonly string[] } = {},
  ): Promise<SelectedRow[]> {
    return this.connections.read<SelectedRow>(
      `SELECT * FROM (SELECT pg_current_snapshot()::text AS snapshot) AS taken LEFT JOIN LATERAL (
        SELECT ${selectedOf(wanted)} FROM ${from} ${where.length > 0 ? `WHERE ${where.join(' AND ')}` : ''}
          ORDER BY ${order} LIMIT ${values.add(limit)} OFFSET ${values.add(offset)}) AS found ON true`,
      values.values,
    );
  }

  times(): Promise<OrganisationTimes[]> {
    return this.connections.read<OrganisationTimes>(selectTimes, []);
  }

  async get(org: string, id: string): Promise<LedgerRow | null> {
    const row = await this.#row(org, kept(id));
    return row === null ? null : rowFrom(row);
  }

  async #row(org: string, id: string): Promise<SelectedRow | null> {
    const find = async (where: string): Promise<SelectedRow | null> => {
      const rows = await this.connections.read<SelectedRow>(
        `SELECT ${selected} FROM exchanges WHERE id = $1 AND org = $2 ${where} LIMIT 1`,
        [id, org],
      );
      return rows[0] ?? null;
    };
    const at = timeOf(id);
    if (at === null) return find('');
    // Nearly always on the day that its id names; a clock that was set back, or an id of a client's own, elsewhere.
    const near = `AND at >= ${dayStart(dayOf(at) - 1)} AND at < ${dayStart(dayOf(at) + 2)}`;
    return (await find(near)) ?? find('');
  }

  async bodies(org: string, id: string): Promise<Bodies | null> {
    const [found] = await this.#bodies(org, id, [id]);
    return found ?? null;
  }

  async allBodies(org: string, id: string): Promise<ExchangeBodies> {
    const names = [id, providerBodiesId(id)] as const;
    const found = await this.#bodies(org, id, names);
    const [client = null, provider = null] = names.map((name) => found.find((one) => one.id === kept(name)));
    return { client, provider };
  }

  async #bodies(org: string, id: string, names: readonly string[]): Promise<Bodies[]> {
    const row = await this.#row(org, kept(id));
    if (row === null) return [];
    const rows = await this.connections.read<StoredBodies>(
      `SELECT id, at, org, workspace, cut, request, response, headers FROM exchange_bodies
        WHERE id = ANY($1) AND org = $2 AND at = $3`,
      [names.map(kept), org, row['at']],
    );
    return rows.map(bodiesFrom);
  }
}

function bodiesFrom({ request, response, headers, ...about }: StoredBodies): Bodies {
  return {
    ...about,
    request: request?.toString() ?? null,
    response: response?.toString() ?? null,
    ...(headers !== null && { headers: JSON.parse(headers) }),
  };
}

type StoredBodies = Omit<Bodies, 'request' | 'response' | 'headers'> & {
  /** JSON. */
  readonly headers: string | null;
  readonly request: Buffer | null;
  readonly response: Buffer | null;
};

const found = (row: SelectedRow): LedgerRow[] => (row.tx === null ? [] : [rowFrom(row)]);

const conditions = ({ sight, filters }: Pick<LogQuery, 'sight' | 'filters'>, add: Add): string[] => [
  `org = ${add(sight.org)}`,
  ...searchConditions(sight, filters, postgresSearchLanguage, add),
];

const isNewestFirst = ({ order }: LogQuery): boolean => order.by === 'created_at' && !order.isAscending;

const columnsOfOrder: Readonly<Record<LogOrder['by'], string>> = {
  created_at: 'at',
  cost: 'cost',
  total_units: 'input_tokens + output_tokens',
  response_time: 'total_us',
};

function orderOf({ by, isAscending }: LogOrder): string {
  const way = isAscending ? 'ASC' : 'DESC';
  const time = `at ${way}, exchanges.tx ${way}, n ${way}`;
  return by === 'created_at' ? time : `${columnsOfOrder[by]} ${way} NULLS LAST, ${time}`;
}

/** The milliseconds in a time-ordered UUID; null: it is none. */
function timeOf(id: string): number | null {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(id) ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : null;
}
