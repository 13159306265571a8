import { columnFields } from '../../../common/ledger/fields.js';
import type { Bodies, LedgerFilter, LedgerPage, LedgerRow } from '../../../common/ledger/record.js';
import { type Rest, rowOf, type StoredValues } from '../../../common/ledger/rows.js';
import type { LedgerConnections } from './connections.js';
import { cursorAt, cursorBelow, cursorText, parseCursor, without } from './cursor.js';
import { dayOf, dayStart, quoted } from './schema.js';

type SelectedRow = StoredValues & {
  /** null: there is no row, only the snapshot. */
  readonly tx: string | null;
  readonly n: number;
  readonly state: number;
  readonly rest: Rest;
  readonly snapshot: string;
};

const columns = ['n', 'state', ...columnFields.map(({ name }) => quoted(name)), 'rest'].join(', ');
/** `tx` alone is the text of the number from here on, which sorts in another way: rows are sorted by `exchanges.tx`. */
const selected = `tx::text AS tx, ${columns}`;

const rowFrom = (row: SelectedRow): LedgerRow =>
  rowOf(row, row.rest, row.state === 0 ? 'settled' : 'unknown');

/** Newest rows are looked for in the last days first: each further partition costs a plan 50 µs. */
const windowDays = [2, 32] as const;

/** Parameters of a statement, numbered as they are added. */
class Values {
  readonly all: unknown[] = [];

  add(value: unknown): string {
    this.all.push(value);
    return `$${this.all.length}`;
  }
}

/** What is read from a ledger in PostgreSQL. Each throws the coded error `store_unavailable`. */
export class LedgerReading {
  constructor(
    readonly connections: LedgerConnections,
    readonly now: () => number = Date.now,
  ) {}

  async recent(given: LedgerFilter): Promise<LedgerPage> {
    // PostgreSQL refuses a NUL even in a question; no text that it keeps has one.
    const filter = given.trace === undefined ? given : { ...given, trace: kept(given.trace) };
    if (filter.after !== undefined) return this.#follow(filter.after, filter.limit, filter);
    // Rows of a trace may be of any day, and few.
    const windows = filter.trace === undefined ? windowDays : [];
    for (const days of windows) {
      const page = await this.#newest(filter, dayStart(dayOf(this.now()) - days));
      if (page.rows.length === filter.limit) return page;
    }
    return this.#newest(filter, null);
  }

  async #newest(filter: LedgerFilter, since: number | null): Promise<LedgerPage> {
    const values = new Values();
    const where = conditions(filter, values);
    if (since !== null) where.push(`at >= ${since}`);
    const rows = await this.#select(where, 'at DESC, exchanges.tx DESC, n DESC', filter.limit, values);
    return { rows: rows.flatMap(found), cursor: cursorText(cursorAt(rows[0]?.snapshot ?? '1:1:')) };
  }

  async changes(after: string, limit: number): Promise<LedgerPage> {
    return this.#follow(after, limit, null);
  }

  /** In the order of ingestion, below the oldest transaction that is open: nothing can come in there any more. */
  async #follow(after: string, limit: number, filter: LedgerFilter | null): Promise<LedgerPage> {
    const cursor = parseCursor(after);
    const values = new Values();
    const where = filter === null ? [] : conditions(filter, values);
    where.push(
      `(tx, n) > (${values.add(cursor.tx)}::xid8, ${values.add(cursor.n)}::integer)`,
      'tx < pg_snapshot_xmin(pg_current_snapshot())',
    );
    if (cursor.seen !== null) {
      where.push(`NOT pg_visible_in_snapshot(tx, ${values.add(cursor.seen)}::pg_snapshot)`);
    }
    const rows = await this.#select(where, 'exchanges.tx, n', limit, values);
    const last = rows.at(-1);
    const next =
      rows.length === limit && last !== undefined && last.tx !== null
        ? without({ tx: last.tx, n: last.n, seen: cursor.seen })
        : cursorBelow(last?.snapshot ?? '1:1:', cursor);
    // Of another server, or from before its data came back from a backup.
    return { rows: rows.flatMap(found), cursor: cursorText(next) };
  }

  /** Rows, and the snapshot that they are of; where there is none, the snapshot alone. */
  #select(where: readonly string[], order: string, limit: number, values: Values): Promise<SelectedRow[]> {
    return this.connections.read<SelectedRow>(
      `SELECT * FROM (SELECT pg_current_snapshot()::text AS snapshot) AS taken LEFT JOIN LATERAL (
        SELECT ${selected} FROM exchanges ${where.length > 0 ? `WHERE ${where.join(' AND ')}` : ''}
          ORDER BY ${order} LIMIT ${values.add(limit)}) AS found ON true`,
      values.all,
    );
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

  async bodies(org: string, given: string): Promise<Bodies | null> {
    const id = kept(given);
    const row = await this.#row(org, id);
    if (row === null) return null;
    const rows = await this.connections.read<StoredBodies>(
      `SELECT id, at, org, workspace, cut, request, response FROM exchange_bodies
        WHERE id = $1 AND org = $2 AND at = $3 LIMIT 1`,
      [id, org, row['at']],
    );
    const [found] = rows;
    if (found === undefined) return null;
    const { request, response } = found;
    return { ...found, request: request?.toString() ?? null, response: response?.toString() ?? null };
  }
}

/** As it was put in. */
const kept = (text: string): string => text.replaceAll('\0', '\ufffd');

type StoredBodies = Omit<Bodies, 'request' | 'response'> & {
  readonly request: Buffer | null;
  readonly response: Buffer | null;
};

const found = (row: SelectedRow): LedgerRow[] => (row.tx === null ? [] : [rowFrom(row)]);

function conditions({ org, workspace, keys, trace }: LedgerFilter, values: Values): string[] {
  const where = [`org = ${values.add(org)}`];
  if (workspace !== undefined) where.push(`workspace = ${values.add(workspace)}`);
  if (keys !== undefined) where.push(`"key" = ANY (${values.add(keys)}::text[])`);
  if (trace !== undefined) {
    const given = values.add(trace);
    where.push(`(trace = ${given} OR (id = ${given} AND trace IS NULL))`);
  }
  return where;
}

/** The milliseconds in a time-ordered UUID; null: it is none. */
function timeOf(id: string): number | null {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(id) ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : null;
}
