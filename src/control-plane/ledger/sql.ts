import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { ChargedBudget } from '../../common/ledger/budgets.js';
import type { LogFollowing, LogQuery } from '../../common/ledger/logs/log-query.js';
import type { LogRetention } from '../../common/ledger/logs/retention.js';
import type {
  Bodies,
  ExchangeBodies,
  LedgerFilter,
  LedgerPage,
  LedgerRow,
  LedgerUsage,
  LogPage,
  UsageFilter,
} from '../../common/ledger/record.js';
import { SqliteConnection } from '../database/sqlite.js';
import { BodyAppender } from '../ingestion/body-appender.js';
import { BodyExpiry } from '../ingestion/body-expiry.js';
import { findBodies } from '../ingestion/body-reader.js';
import { Alerts } from './budgets/alerts.js';
import { Budgets } from './budgets/budgets.js';
import { hasCharges } from './budgets/charging.js';
import { type BudgetDatabase, sqliteLanguage } from './budgets/language.js';
import { replacedTable, SqliteCharges } from './budgets/sqlite-charges.js';
import { readBudgets, type TableRows } from './budgets/take-over.js';
import type { Feedbacks } from './feedback/feedbacks.js';
import { sqliteFeedbacks, sqlitePlacing } from './feedback/sqlite-feedback.js';
import type { BudgetLedger, ChangesPage, LedgerBatch, OpenIntent } from './ledger.js';
import { type OrganisationTimes, selectTimes } from './organisation-times.js';
import { SearchConnection } from './search/search-connection.js';
import { searchOf } from './search/search-of.js';
import { sqliteFollowing, sqlitePage } from './search/sqlite-search.js';
import { SqliteExpiry } from './sqlite-expiry.js';
import {
  batchViews,
  contextTable,
  deleteContexts,
  insertBatch,
  insertCharged,
  insertContexts,
  insertPacked,
  insertPosition,
  insertSettled,
  insertUnknown,
  rowArray,
  type SelectedRow,
  selectedRow,
  selectRows,
  unusualBatch,
} from './sqlite-rows.js';
import { inTransaction, migrate, storedIntent, type UpgradeProgress } from './sqlite-schema.js';
import { sqliteUsage } from './sqlite-usage.js';

export interface LedgerOptions {
  readonly dataDir: string;
  /** Where the journals lie; bodies stay there. */
  readonly journalDir?: string;
  /** Called after each batch of rows that a ledger of an earlier version is upgraded by. */
  readonly onUpgrade?: (progress: UpgradeProgress) => void;
}

/** Opens (or makes) `<dataDir>/ledger.db`. Rejects with a sentence where it cannot be. */
export async function openLedger(options: LedgerOptions): Promise<BudgetLedger> {
  const path = join(options.dataDir, 'ledger.db');
  try {
    mkdirSync(options.dataDir, { recursive: true, mode: 0o700 });
    // Made here for its mode, which SQLite gives to the files beside it as well.
    closeSync(openSync(path, 'a', 0o600));
    const shared = [
      'busy_timeout = 5000',
      'page_size = 8192',
      // Of a new file: what is deleted frees the disk.
      'auto_vacuum = INCREMENTAL',
      'journal_mode = WAL',
      'synchronous = NORMAL',
      'wal_autocheckpoint = 4000',
    ];
    // 4 MB: rows and their indexes grow at their ends, so that a larger cache makes a batch no cheaper.
    const writer = await SqliteConnection.open(path, [...shared, 'cache_size = -4000']);
    await migrate(writer, path, options.onUpgrade ?? (() => {})).catch(async (error) => {
      await writer.close();
      throw error;
    });
    await writer.exec(`PRAGMA temp_store = MEMORY; ${contextTable}; ${replacedTable} ${batchViews}`);
    const reader = await SqliteConnection.open(path, [...shared, 'query_only = ON']);
    const searcher = await SqliteConnection.open(path, [...shared, 'query_only = ON']);
    const journalDir = options.journalDir ?? join(options.dataDir, 'journal');
    return new SqliteLedger(writer, reader, new SearchConnection(searcher), journalDir);
  } catch (error) {
    throw new Error(`The ledger ${path} cannot be opened: ${(error as Error).message}`, { cause: error });
  }
}

const added = { unknown: [], positions: new Map(), opened: [], closed: [] };

class SqliteLedger implements BudgetLedger {
  readonly keepBodies = null;
  readonly budgets: Budgets;
  readonly alerts: Alerts;
  readonly feedbacks: Feedbacks;
  readonly #placing = sqlitePlacing();
  readonly #charges: SqliteCharges;
  readonly #database: BudgetDatabase;
  readonly #search: SearchConnection;
  readonly #bodyAppender: BodyAppender;
  readonly #bodyExpiry: BodyExpiry;
  readonly #expiry = new SqliteExpiry((work) => this.#inTurn(() => work(this.writer)));
  /** As it was last applied. */
  #retention: LogRetention | null = null;
  /** One transaction at a time: they share the connection. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(
    readonly writer: SqliteConnection,
    readonly reader: SqliteConnection,
    search: SearchConnection,
    readonly journalDir: string,
  ) {
    this.#search = search;
    this.#bodyAppender = new BodyAppender(journalDir);
    this.#bodyExpiry = new BodyExpiry(journalDir);
    const database: BudgetDatabase = {
      language: sqliteLanguage,
      read: (statement, parameters) => reader.all(statement, parameters),
      transaction: (work) =>
        this.#inTurn(() => inTransaction(writer, () => work(writer.allKept.bind(writer)))),
    };
    this.#charges = new SqliteCharges(writer);
    this.#database = database;
    this.budgets = new Budgets(database);
    this.alerts = new Alerts(database);
    this.feedbacks = sqliteFeedbacks(database, this.#placing.added);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  apply(batch: LedgerBatch): Promise<readonly ChargedBudget[]> {
    return this.#inTurn(async () => {
      const charged = await this.#applyAtOnce(batch);
      if (charged !== null) return charged;
      return inTransaction(this.writer, () => this.#apply(batch));
    });
  }

  /** Inserts a batch of packed rows without feedback, as nearly all are. null: the batch is of another kind. */
  async #applyAtOnce(batch: LedgerBatch): Promise<readonly ChargedBudget[] | null> {
    const { settled, unknown, positions, opened, closed } = batch;
    const [[source, position] = ['', null], second] = positions;
    if (!settled?.packed || position === null || second !== undefined) return null;
    if (settled.rows.length + unknown.length + opened.length + closed.length > 0) return null;
    if (await this.#placing.isWanted(this.writer.allKept.bind(this.writer), batch)) return null;
    const { contexts, rest, records, node, count: rows } = settled.packed;
    const values = [contexts, rest, records, node, source, position];
    const isCharged = hasCharges(batch);
    const written = isCharged ? this.#charges.written(settled.packed, Date.now()) : null;
    if (isCharged && written === null) return null;
    try {
      if (written === null) await this.writer.runKept(insertBatch, values);
      else {
        const { counters, count, byNode, course, now } = written.parameters;
        await this.writer.runKept(insertCharged, [...values, rows, counters, count, byNode, course, now]);
      }
      return written?.charged ?? [];
    } catch (error) {
      if ((error as Error).message.includes(unusualBatch)) return null;
      throw error;
    }
  }

  async #apply(batch: LedgerBatch): Promise<readonly ChargedBudget[]> {
    const { writer } = this;
    const { settled, unknown, positions, opened, closed } = batch;
    const last = await this.#charges.before(batch);
    const step = writer.allKept.bind(writer);
    const newest = (await this.#placing.isWanted(step, batch)) ? await newestRow(writer) : null;
    let inserted = 0;
    if (settled?.packed) {
      const { rest, records, contexts, node } = settled.packed;
      await writer.runKept(insertContexts, [contexts]);
      inserted += await writer.runKept(insertPacked, [rest, records, node]);
      await writer.runKept(deleteContexts, []);
    }
    if (settled && settled.rows.length > 0) {
      inserted += await writer.runKept(insertSettled, [JSON.stringify(settled.rows.map(rowArray))]);
    }
    if (unknown.length > 0) {
      inserted += await writer.run(insertUnknown, [JSON.stringify(unknown.map(rowArray))]);
    }
    const charged = await this.#charges.after(batch, last, inserted, Date.now());
    if (newest !== null) await this.#placing.after(step, batch, [newest]);
    for (const { writer: process, intent } of opened) {
      // An intent that arrived after its own settlement is not open.
      await writer.run(
        `INSERT OR REPLACE INTO open_intents (id, writer, intent) SELECT ?1, ?2, ?3
          WHERE NOT EXISTS (SELECT 1 FROM exchanges WHERE id = ?1)`,
        [intent.id, process, JSON.stringify(intent)],
      );
    }
    if (closed.length > 0) {
      await writer.run('DELETE FROM open_intents WHERE id IN (SELECT value FROM json_each(?))', [
        JSON.stringify(closed),
      ]);
    }
    for (const [source, position] of positions) {
      if (position === null) await writer.run('DELETE FROM journal_positions WHERE source = ?', [source]);
      else {
        await writer.runKept(insertPosition, [source, position]);
      }
    }
    return charged;
  }

  addRows(rows: readonly LedgerRow[]): Promise<number> {
    const { writer } = this;
    const step = writer.allKept.bind(writer);
    // The largest text: made before the others have to wait.
    const given = JSON.stringify(rows.map(rowArray));
    const batch: LedgerBatch = { ...added, settled: { packed: null, rows } };
    return this.#inTurn(() =>
      inTransaction(writer, async () => {
        const newest = (await this.#placing.isWanted(step, batch)) ? await newestRow(writer) : null;
        const inserted = await writer.runKept(insertUnknown, [given]);
        if (newest !== null) await this.#placing.after(step, batch, [newest]);
        return inserted;
      }),
    );
  }

  async expire(retention: LogRetention): Promise<number> {
    this.#retention = retention;
    await this.#bodyExpiry.expire(retention, Date.now());
    return this.#expiry.expire(retention);
  }

  addBodies(bodies: readonly Bodies[]): Promise<void> {
    return this.#bodyAppender.add(bodies);
  }

  positions(): Promise<Map<string, number>> {
    return this.#inTurn(async () => {
      const rows = await this.writer.all<{ source: string; position: number }>(
        'SELECT source, position FROM journal_positions',
      );
      return new Map(rows.map(({ source, position }) => [source, position]));
    });
  }

  openIntents(): Promise<OpenIntent[]> {
    return this.#inTurn(async () => {
      const rows = await this.writer.all<{ writer: string; intent: string }>(
        'SELECT writer, intent FROM open_intents',
      );
      return rows.map(({ writer, intent }) => ({ writer, intent: storedIntent(intent) }));
    });
  }

  checkpoint(): Promise<boolean> {
    return this.#inTurn(async () => {
      const [state] = await this.writer.all<{ busy: number; log: number; checkpointed: number }>(
        'PRAGMA wal_checkpoint(PASSIVE)',
      );
      return state !== undefined && state.busy === 0 && state.log === state.checkpointed;
    });
  }

  readBudgets(): AsyncIterable<TableRows> {
    return readBudgets(this.#database);
  }

  async recent(filter: LedgerFilter): Promise<LedgerPage> {
    const searched = searchOf(filter);
    return 'after' in searched ? this.follow(searched) : this.page(searched);
  }

  page(query: LogQuery): Promise<LogPage> {
    return this.#search.run((reader) => sqlitePage(reader, query));
  }

  follow(following: LogFollowing): Promise<LedgerPage> {
    return this.#search.run((reader) => sqliteFollowing(reader, following));
  }

  times(): Promise<OrganisationTimes[]> {
    return this.reader.allKept<OrganisationTimes>(selectTimes, []);
  }

  async changes(after: string, limit: number): Promise<ChangesPage> {
    const rows = await this.reader.all<SelectedRow>(`${selectRows} WHERE seq > ? ORDER BY seq LIMIT ?`, [
      Number.parseInt(after, 10),
      limit,
    ]);
    return {
      rows: rows.map(selectedRow),
      cursor: String(rows.at(-1)?.seq ?? after),
      cursorAfter: (count) => String(rows[count - 1]!.seq),
    };
  }

  usage(filter: UsageFilter): Promise<LedgerUsage[]> {
    return sqliteUsage(this.reader, filter);
  }

  async get(org: string, id: string): Promise<LedgerRow | null> {
    const [row] = await this.reader.all<SelectedRow>(`${selectRows} WHERE id = ? AND org = ?`, [id, org]);
    return row === undefined ? null : selectedRow(row);
  }

  async bodies(org: string, id: string): Promise<Bodies | null> {
    const { client } = await this.#findBodies(org, id, ['client']);
    return client;
  }

  allBodies(org: string, id: string): Promise<ExchangeBodies> {
    return this.#findBodies(org, id, ['client', 'provider']);
  }

  async #findBodies(org: string, id: string, sides: readonly (keyof ExchangeBodies)[]) {
    const row = await this.get(org, id);
    // Those in a file that is still written are there, and not to be read any more.
    const isOver = row !== null && this.#retention !== null && isBodyOver(row, this.#retention);
    if (row === null || isOver) return { client: null, provider: null };
    return findBodies(this.journalDir, org, id, row.at, row.at + row.totalMs, sides);
  }

  async close(): Promise<void> {
    await this.#turn;
    await this.#search.close();
    await this.reader.close();
    await this.writer.close();
  }
}

function isBodyOver({ org, workspace, at }: LedgerRow, { bodiesBefore, workspaces }: LogRetention): boolean {
  const own = workspaces.find((one) => one.workspace === workspace && one.org === org);
  return at < Math.max(bodiesBefore ?? 0, own?.bodiesBefore ?? 0);
}

async function newestRow(writer: SqliteConnection): Promise<number> {
  const [row] = await writer.allKept<{ last: number | null }>('SELECT max(seq) AS last FROM exchanges', []);
  return row?.last ?? 0;
}
