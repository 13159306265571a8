import { closeSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ControlHost, StageDatabase } from '../../../src/common/plugin-host/control.js';
import type { Logger } from '../../../src/common/plugin-host/logger.js';
import type { CacheStore } from './store.js';

export type SqliteCacheHost = Pick<ControlHost, 'dataDir' | 'log' | 'openDatabase'>;

/** Milliseconds for which answers are collected, to be written in one transaction. */
const batchMs = 200;
/** Bytes that may wait for that; a further answer is not kept. */
const maxWaitingBytes = 32 * 1024 * 1024;
/** Rows that one step of pruning deletes. */
const pruneRows = 256;
const pruneEveryMs = 60_000;
/** Bytes of a row beside its text. */
const rowBytes = 128;

const schema = `
  CREATE TABLE IF NOT EXISTS answers (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    "key" TEXT NOT NULL UNIQUE,
    until INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    entry TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS answers_until ON answers (until);`;

interface Waiting {
  readonly entry: string;
  /** Unix milliseconds. */
  readonly until: number;
  readonly bytes: number;
}

/**
 * Opens (or makes) `<dataDir>/cache.db`, with at most `maxBytes` of answers, beyond which the oldest are deleted; one
 * that cannot be opened is replaced, since it holds nothing that is missed. null: it cannot be opened at all, which
 * only the log reports.
 */
export async function openSqliteCache(host: SqliteCacheHost, maxBytes: number): Promise<CacheStore | null> {
  const path = join(host.dataDir, 'cache.db');
  try {
    return await open(path, host, maxBytes);
  } catch {
    for (const ending of ['', '-wal', '-shm']) rmSync(path + ending, { force: true });
  }
  try {
    return await open(path, host, maxBytes);
  } catch (error) {
    host.log.error({ err: error }, 'cache.db cannot be opened: workers cache for themselves');
    return null;
  }
}

async function open(path: string, host: SqliteCacheHost, maxBytes: number): Promise<CacheStore> {
  // Created here with its mode, which SQLite also gives to the files beside it.
  closeSync(openSync(path, 'a', 0o600));
  const connection = await host.openDatabase(path, [
    'busy_timeout = 1000',
    'journal_mode = WAL',
    'synchronous = NORMAL',
  ]);
  try {
    await connection.exec(schema);
    const [row] = await connection.all<{ total: number | null }>('SELECT sum(bytes) AS total FROM answers');
    return new SqliteCache(connection, maxBytes, row?.total ?? 0, host.log);
  } catch (error) {
    await connection.close().catch(() => {});
    throw error;
  }
}

class SqliteCache implements CacheStore {
  readonly #connection: StageDatabase;
  readonly #maxBytes: number;
  readonly #log: Logger;
  #bytes: number;
  readonly #waiting = new Map<string, Waiting>();
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | null = null;
  #turn: Promise<void> = Promise.resolve();
  readonly #pruning: NodeJS.Timeout;
  #failing = false;

  constructor(connection: StageDatabase, maxBytes: number, bytes: number, log: Logger) {
    this.#connection = connection;
    this.#maxBytes = maxBytes;
    this.#bytes = bytes;
    this.#log = log;
    this.#pruning = setInterval(() => this.#inTurn(() => this.#prune()), pruneEveryMs);
    this.#pruning.unref();
  }

  async read(key: string): Promise<string | null> {
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) return waiting.entry;
    try {
      const [row] = await this.#connection.all<{ entry: string }>(
        'SELECT entry FROM answers WHERE "key" = ? AND until > ?',
        [key, Date.now()],
      );
      return row?.entry ?? null;
    } catch (error) {
      this.#failed(error);
      return null;
    }
  }

  write(key: string, entry: string, ttl: number): void {
    const bytes = Buffer.byteLength(entry) + rowBytes;
    if (bytes > this.#maxBytes || this.#waitingBytes + bytes > maxWaitingBytes) return;
    this.#waitingBytes += bytes - (this.#waiting.get(key)?.bytes ?? 0);
    this.#waiting.set(key, { entry, until: Date.now() + ttl * 1000, bytes });
    this.#timer ??= setTimeout(() => this.#inTurn(() => this.#flush()), batchMs);
  }

  async close(): Promise<void> {
    clearInterval(this.#pruning);
    await this.#inTurn(() => this.#flush());
    await this.#connection.close().catch(() => {});
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(work).catch((error: unknown) => this.#failed(error));
    return this.#turn;
  }

  async #flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const batch = [...this.#waiting];
    if (batch.length === 0) return;
    try {
      await this.#connection.exec('BEGIN IMMEDIATE');
      try {
        for (const [key, { entry, until, bytes }] of batch) await this.#put(key, entry, until, bytes);
        await this.#connection.exec('COMMIT');
      } catch (error) {
        await this.#connection.exec('ROLLBACK').catch(() => {});
        throw error;
      }
      this.#failing = false;
    } finally {
      // Reads use the batch until it is in the file; later answers wait for the next batch.
      for (const [key, waiting] of batch) {
        if (this.#waiting.get(key) !== waiting) continue;
        this.#waiting.delete(key);
        this.#waitingBytes -= waiting.bytes;
      }
    }
    await this.#prune();
  }

  async #put(key: string, entry: string, until: number, bytes: number): Promise<void> {
    const [old] = await this.#connection.all<{ bytes: number }>(
      'DELETE FROM answers WHERE "key" = ? RETURNING bytes',
      [key],
    );
    await this.#connection.run('INSERT INTO answers ("key", until, bytes, entry) VALUES (?, ?, ?, ?)', [
      key,
      until,
      bytes,
      entry,
    ]);
    this.#bytes += bytes - (old?.bytes ?? 0);
  }

  /** Deletes expired answers, then the oldest ones above the limit. */
  async #prune(): Promise<void> {
    const take = async (which: string, parameters: readonly unknown[]): Promise<number> => {
      const gone = await this.#connection.all<{ bytes: number }>(
        `DELETE FROM answers WHERE seq IN (SELECT seq FROM answers ${which} LIMIT ${pruneRows}) RETURNING bytes`,
        parameters,
      );
      for (const { bytes } of gone) this.#bytes -= bytes;
      return gone.length;
    };
    while ((await take('WHERE until <= ?', [Date.now()])) === pruneRows);
    while (this.#bytes > this.#maxBytes && (await take('ORDER BY seq', [])) > 0);
  }

  #failed(error: unknown): void {
    if (!this.#failing) this.#log.error({ err: error }, 'cache.db: answers are not kept for other workers');
    this.#failing = true;
  }
}
