import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import knex, { type Knex } from 'knex';
import sqlite3 from 'sqlite3';
import { GatewayError } from '../../core/errors.js';
import { RefusedStart } from '../refused-start.js';

/** What queries are written against: a connection, or one transaction of it. Speaks SQLite now, PostgreSQL by the same calls. */
export type Sql = Knex | Knex.Transaction;
export type Transaction = Knex.Transaction;

/** 3.51.3 mends a bug that could corrupt a database in WAL mode. */
const oldestSqlite = 3_051_003;

/** One database, as the store uses it. */
export interface Database {
  /** Reads what is committed; never waits for a write. */
  read<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** One transaction, on disk when this resolves; of several, one after the other. */
  write<T>(work: (sql: Transaction) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return typeof code === 'string' ? code : '';
}

/** Did a row already have this unique value? */
export function isDuplicate(error: unknown): boolean {
  return codeOf(error) === 'SQLITE_CONSTRAINT' && error instanceof Error && error.message.includes('UNIQUE');
}

/** Failures of the machine rather than of a statement. */
const outages =
  /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY|NOMEM|CORRUPT|NOTADB|PROTOCOL|INTERRUPT|PERM|AUTH)/;

/** A failure of the database itself becomes a coded one, of which the driver's code alone is kept. */
function coded(error: unknown): unknown {
  const isTimeout = error instanceof Error && error.name === 'KnexTimeoutError';
  const code = isTimeout ? 'timeout' : codeOf(error);
  if (!isTimeout && !outages.test(code)) return error;
  const message =
    code === 'SQLITE_FULL'
      ? 'The disk of the data directory is full: nothing was changed.'
      : 'The store did not answer: nothing was changed. Try again.';
  return new GatewayError('store_unavailable', message, { cause: new Error(code) });
}

/** Migrations already applied. Here because `write` takes its lock on it. */
const versionTable =
  'CREATE TABLE IF NOT EXISTS schema_version (version integer PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)';

function open(path: string, pragmas: readonly string[]): Knex {
  const quiet = (): void => {};
  return knex({
    client: 'sqlite3',
    connection: { filename: path },
    useNullAsDefault: true,
    // Else its errors quote the values of the statement, sealed credentials and hashes among them.
    compileSqlOnError: false,
    log: { warn: quiet, error: quiet, debug: quiet, deprecate: quiet },
    acquireConnectionTimeout: 15_000,
    pool: {
      min: 1,
      max: 1,
      idleTimeoutMillis: 2 ** 31 - 1,
      afterCreate(connection: sqlite3.Database, done: (error: Error | null) => void) {
        connection.exec(pragmas.map((pragma) => `PRAGMA ${pragma};`).join('\n'), done);
      },
    },
  });
}

function refuseOldSqlite(): void {
  if (sqlite3.VERSION_NUMBER >= oldestSqlite) return;
  throw new RefusedStart(
    `SQLite ${sqlite3.VERSION} can corrupt databases; 3.51.3 or newer is needed: reinstall the sqlite3 package.`,
  );
}

/** Where the database of a data directory lies. */
export const databasePath = (dataDir: string): string => join(dataDir, 'headgate.db');

/**
 * Opens (or makes) the SQLite database of a data directory. Two connections: a transaction occupies the one that
 * writes, and a lookup on behalf of a request must not wait for it.
 */
export async function openDatabase(dataDir: string): Promise<Database> {
  refuseOldSqlite();
  const path = databasePath(dataDir);
  const pragmas = ['busy_timeout = 5000', 'journal_mode = WAL', 'synchronous = FULL', 'foreign_keys = ON'];
  let writer: Knex | null = null;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    // Made here for its mode, which SQLite gives to the files beside it as well.
    closeSync(openSync(path, 'a', 0o600));
    writer = open(path, pragmas);
    await writer.raw(versionTable);
  } catch (error) {
    await writer?.destroy();
    throw new RefusedStart(
      `The database ${path} cannot be opened (${codeOf(error) || 'no connection'}): check that the data directory is writable and the file is not damaged.`,
    );
  }
  const writing = writer;
  const reader = open(path, [...pragmas, 'query_only = ON']);

  return {
    async read(work) {
      try {
        return await work(reader);
      } catch (error) {
        throw coded(error);
      }
    },
    async write(work) {
      let failed: { readonly error: unknown } | null = null;
      try {
        return await writing.transaction(async (sql) => {
          try {
            // Takes the write lock before anything is read: SQLite would refuse, without waiting, a transaction
            // that has read something another process has changed since.
            await sql.raw('DELETE FROM schema_version WHERE version < 0');
            return await work(sql);
          } catch (error) {
            failed = { error };
            throw error;
          }
        });
      } catch (error) {
        // A full disk has already rolled back, so that knex reports its own vain ROLLBACK instead of the cause.
        throw coded(failed === null ? error : (failed as { error: unknown }).error);
      }
    },
    async close() {
      await reader.destroy();
      await writing.destroy();
    },
  };
}
