import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { findBodies } from './body-reader.js';
import type { Bodies, LedgerFilter, LedgerReader, LedgerRow } from './record.js';
import { at, rowFromText } from './record-text.js';
import {
  head,
  idLength,
  lengthBit,
  lengthMask,
  maxTraceLength,
  offsetMask,
  type Settlements,
  timeLength,
  traceBit,
} from './settlements.js';
import { SqliteConnection } from './sqlite.js';

/** What one step of ingestion changes, all of it or nothing. */
export interface LedgerBatch {
  readonly settled: Settlements | null;
  /** JSON of the rows of intents that nobody will settle any more. */
  readonly unknown: readonly string[];
  /** Up to where a file need not be read again. null: forget the file, it is about to go. */
  readonly offsets: ReadonlyMap<string, number | null>;
  /** Open intents whose file is about to go, by writer. */
  readonly carry: readonly OpenIntent[];
  readonly dropCarried: readonly string[];
}

/** An intent without its settlement so far; `text` is its JSON array. */
export interface OpenIntent {
  readonly writer: string;
  readonly id: string;
  readonly text: string;
}

/** The ledger: read by anyone, written by ingestion alone. */
export interface Ledger extends LedgerReader {
  /** One transaction. */
  apply(batch: LedgerBatch): Promise<void>;
  /** Where reading each journal file goes on. */
  offsets(): Promise<Map<string, number>>;
  carried(): Promise<OpenIntent[]>;
  /** Is all that was committed on disk for good? false: a reader is in the way, ask again. */
  checkpoint(): Promise<boolean>;
  close(): Promise<void>;
}

export interface LedgerOptions {
  readonly dataDir: string;
  /** Where the journals lie; bodies stay there. */
  readonly journalDir?: string;
}

/**
 * Trace ids are random. One index over all of them would have every batch rewrite as many pages as it has rows
 * (measured: 28 µs a row instead of 6), so it is ordered by parts of 4096 rows first; a search looks into each part.
 */
const partBits = 12;

/** Forward only; each in a transaction with its number. */
const migrations: readonly string[] = [
  `CREATE TABLE exchanges (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    org TEXT NOT NULL,
    workspace TEXT,
    "key" TEXT,
    provider TEXT,
    model TEXT,
    status INTEGER,
    trace TEXT,
    cost INTEGER,
    input INTEGER,
    output INTEGER,
    state INTEGER NOT NULL,
    record BLOB NOT NULL
  );
  CREATE UNIQUE INDEX exchanges_id ON exchanges (id);
  CREATE INDEX exchanges_org_at ON exchanges (org, at);
  CREATE INDEX exchanges_trace ON exchanges (seq >> ${partBits}, trace) WHERE trace IS NOT NULL;
  CREATE TABLE journal_offsets (file TEXT PRIMARY KEY, "offset" INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE open_intents (id TEXT PRIMARY KEY, writer TEXT NOT NULL, text TEXT NOT NULL) WITHOUT ROWID;`,
  // The same tables, and rows of before stay as they are. From here on a record may be the rest of one, which earlier
  // programs could not read, and what nobody looks for (provider, model, status, cost, input, output) is only there.
  '',
];

const columns = ['id', 'at', 'org', 'workspace', '"key"', 'trace', 'state', 'record'];

const field = (position: number): string => `value->>${position}`;

/**
 * Rows out of a JSON array in one statement. The elements of `jsonb_each` are binary JSON already: fields are taken
 * out of it and it is stored without being parsed or written again, which makes this twice as fast as either
 * `json_each` or bound values.
 *
 * A call without a trace id of its own has its id for one: those need no entry in the trace's index.
 */
const insertInto = (state: 0 | 1): string => `INSERT INTO exchanges (${columns.join(', ')})
  SELECT ${field(at.id)}, ${field(at.at)}, ${field(at.org)}, ${field(at.workspace)}, ${field(at.key)},
    nullif(${field(at.trace)}, ${field(at.id)}), ${state}, value
  FROM jsonb_each(CAST(? AS TEXT)) WHERE true`;

const start = `(value & ${offsetMask})`;
const text = (from: number, length: number | string): string =>
  `CAST(substr(?1, ${start} + ${from + 1}, ${length}) AS TEXT)`;
const traceStart = `${start} + 1 + (value >> ${traceBit})`;

/**
 * Plain settlements are cut out of the journal's bytes (`substr` of a blob looks at nothing but the part): half of
 * what `jsonb_each` costs. What their columns have is left out of their `record`.
 */
const insertPlain = `INSERT INTO exchanges (${columns.join(', ')})
  SELECT ${text(head.id, idLength)}, CAST(${text(head.at, timeLength)} AS INTEGER), ${text(head.org, idLength)},
    ${text(head.workspace, idLength)}, ${text(head.key, idLength)},
    CASE WHEN value >> ${traceBit} THEN
      CAST(substr(?1, ${traceStart}, instr(substr(?1, ${traceStart}, ${maxTraceLength + 1}), x'22') - 1) AS TEXT) END,
    0, ${text(head.rest, `((value >> ${lengthBit}) & ${lengthMask}) - ${head.rest}`)}
  FROM json_each(CAST(?2 AS TEXT)) WHERE true`;

/** A settlement that came after all takes the place of its `unknown` row, as a new row for those who follow. */
const inPlaceOfUnknown = `ON CONFLICT (id) DO UPDATE SET
  seq = (SELECT max(seq) + 1 FROM exchanges),
  ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}
  WHERE state = 1`;
const insertSettledPlain = `${insertPlain} ${inPlaceOfUnknown}`;
const insertSettledOdd = `${insertInto(0)} ${inPlaceOfUnknown}`;
const insertUnknown = `${insertInto(1)} ON CONFLICT (id) DO NOTHING`;

interface StoredRow {
  readonly seq: number;
  readonly state: number;
  readonly record: string;
}

/** A text is what was left of a plain settlement; all others are whole, and binary. */
const selectRow = `SELECT seq, state,
  CASE typeof(record)
    WHEN 'text' THEN '["' || id || '",' || at || ',"' || org || '","' || workspace || '","' || "key" || '",' || record
    ELSE json(record) END AS record
  FROM exchanges`;

const toRow = ({ state, record }: StoredRow): LedgerRow =>
  rowFromText(record, state === 1 ? 'unknown' : 'settled');

/** Opens (or makes) `<dataDir>/ledger.db`. Rejects with a sentence where it cannot be. */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const path = join(options.dataDir, 'ledger.db');
  try {
    mkdirSync(options.dataDir, { recursive: true, mode: 0o700 });
    // Made here for its mode, which SQLite gives to the files beside it as well.
    closeSync(openSync(path, 'a', 0o600));
    const shared = [
      'busy_timeout = 5000',
      'page_size = 8192',
      'journal_mode = WAL',
      'synchronous = NORMAL',
      'wal_autocheckpoint = 4000',
    ];
    const writer = await SqliteConnection.open(path, [...shared, 'cache_size = -16000']);
    await migrate(writer, path);
    const reader = await SqliteConnection.open(path, [...shared, 'query_only = ON']);
    return new SqliteLedger(writer, reader, options.journalDir ?? join(options.dataDir, 'journal'));
  } catch (error) {
    throw new Error(`The ledger ${path} cannot be opened: ${(error as Error).message}`, { cause: error });
  }
}

async function migrate(writer: SqliteConnection, path: string): Promise<void> {
  const [{ user_version: found } = { user_version: 0 }] = await writer.all<{ user_version: number }>(
    'PRAGMA user_version',
  );
  if (found > migrations.length) {
    throw new Error(
      `${path} is at version ${found} and this program knows versions up to ${migrations.length}: start the newer program.`,
    );
  }
  for (const [index, sql] of migrations.entries()) {
    if (index < found) continue;
    await inTransaction(writer, async () => {
      // Another process may have made this step while this one waited for the lock.
      const [now] = await writer.all<{ user_version: number }>('PRAGMA user_version');
      if ((now?.user_version ?? 0) > index) return;
      await writer.exec(`${sql} PRAGMA user_version = ${index + 1};`);
    });
  }
}

async function inTransaction(writer: SqliteConnection, work: () => Promise<void>): Promise<void> {
  await writer.exec('BEGIN IMMEDIATE');
  try {
    await work();
    await writer.exec('COMMIT');
  } catch (error) {
    // Fails where SQLite has rolled back by itself (a full disk).
    await writer.exec('ROLLBACK').catch(() => {});
    throw error;
  }
}

class SqliteLedger implements Ledger {
  /** One transaction at a time: they share the connection. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(
    readonly writer: SqliteConnection,
    readonly reader: SqliteConnection,
    readonly journalDir: string,
  ) {}

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  apply(batch: LedgerBatch): Promise<void> {
    return this.#inTurn(() => inTransaction(this.writer, () => this.#apply(batch)));
  }

  async #apply({ settled, unknown, offsets, carry, dropCarried }: LedgerBatch): Promise<void> {
    const { writer } = this;
    if (settled?.plain) await writer.runKept(insertSettledPlain, [settled.bytes, settled.plain]);
    if (settled?.odd) await writer.runKept(insertSettledOdd, [settled.odd]);
    if (unknown.length > 0) await writer.run(insertUnknown, [`[${unknown.join(',')}]`]);
    for (const intent of carry) {
      // One that came after its own settlement is open to nobody.
      await writer.run(
        `INSERT OR REPLACE INTO open_intents (id, writer, text) SELECT ?1, ?2, ?3
          WHERE NOT EXISTS (SELECT 1 FROM exchanges WHERE id = ?1)`,
        [intent.id, intent.writer, intent.text],
      );
    }
    if (dropCarried.length > 0) {
      await writer.run('DELETE FROM open_intents WHERE id IN (SELECT value FROM json_each(?))', [
        JSON.stringify(dropCarried),
      ]);
    }
    for (const [file, offset] of offsets) {
      if (offset === null) await writer.run('DELETE FROM journal_offsets WHERE file = ?', [file]);
      else {
        await writer.runKept('INSERT OR REPLACE INTO journal_offsets (file, "offset") VALUES (?, ?)', [
          file,
          offset,
        ]);
      }
    }
  }

  offsets(): Promise<Map<string, number>> {
    return this.#inTurn(async () => {
      const rows = await this.writer.all<{ file: string; offset: number }>(
        'SELECT file, "offset" FROM journal_offsets',
      );
      return new Map(rows.map(({ file, offset }) => [file, offset]));
    });
  }

  carried(): Promise<OpenIntent[]> {
    return this.#inTurn(() => this.writer.all<OpenIntent>('SELECT writer, id, text FROM open_intents'));
  }

  checkpoint(): Promise<boolean> {
    return this.#inTurn(async () => {
      const [state] = await this.writer.all<{ busy: number; log: number; checkpointed: number }>(
        'PRAGMA wal_checkpoint(PASSIVE)',
      );
      return state !== undefined && state.busy === 0 && state.log === state.checkpointed;
    });
  }

  async recent(filter: LedgerFilter): Promise<{ rows: LedgerRow[]; cursor: number }> {
    const [newest] = await this.reader.all<{ top: number | null }>('SELECT max(seq) AS top FROM exchanges');
    const top = newest?.top ?? 0;
    // `+org` keeps the planner off that column's index where the rows come by another way.
    const byRow = filter.trace !== undefined || filter.after !== undefined;
    const where = [byRow ? '+org = ?' : 'org = ?', 'seq <= ?'];
    const parameters: unknown[] = [filter.org, top];
    if (filter.workspace !== undefined) {
      where.push('workspace = ?');
      parameters.push(filter.workspace);
    }
    if (filter.keys !== undefined) {
      where.push(`"key" IN (${filter.keys.map(() => '?').join(', ')})`);
      parameters.push(...filter.keys);
    }
    if (filter.trace !== undefined) {
      where.push(`seq IN (
        WITH RECURSIVE part(number) AS (SELECT ? >> ${partBits} UNION ALL SELECT number - 1 FROM part WHERE number > 0)
        SELECT e.seq FROM part CROSS JOIN exchanges AS e
          WHERE e.seq >> ${partBits} = part.number AND e.trace = ? AND e.trace IS NOT NULL
        UNION ALL SELECT seq FROM exchanges WHERE id = ? AND trace IS NULL)`);
      parameters.push(top, filter.trace, filter.trace);
    }
    if (filter.after !== undefined) {
      where.push('seq > ?');
      parameters.push(filter.after);
    }
    const order = filter.after === undefined ? 'at DESC, seq DESC' : 'seq';
    const rows = await this.reader.all<StoredRow>(
      `${selectRow} WHERE ${where.join(' AND ')} ORDER BY ${order} LIMIT ?`,
      [...parameters, filter.limit],
    );
    const wasCut = filter.after !== undefined && rows.length === filter.limit;
    return { rows: rows.map(toRow), cursor: wasCut ? (rows.at(-1)?.seq ?? filter.after) : top };
  }

  async get(org: string, id: string): Promise<LedgerRow | null> {
    const [row] = await this.reader.all<StoredRow>(`${selectRow} WHERE id = ? AND org = ?`, [id, org]);
    return row === undefined ? null : toRow(row);
  }

  async bodies(org: string, id: string): Promise<Bodies | null> {
    const row = await this.get(org, id);
    return row === null ? null : findBodies(this.journalDir, org, id, row.at, row.at + row.totalMs);
  }

  async close(): Promise<void> {
    await this.#turn;
    await this.reader.close();
    await this.writer.close();
  }
}
