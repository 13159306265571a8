import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import knex, { type Knex } from 'knex';
import sqlite3 from 'sqlite3';
import { RefusedStart } from '../../files/refused-start.js';
import { versionTable } from '../migrate.js';
import { type Database, SqlDatabase } from './driver.js';
import { codeOf } from './failure.js';
import { quiet } from './quiet.js';
import { PreparedSqlite } from './sqlite/prepared.js';
import { Readers } from './sqlite/readers.js';
import { SqlWriter } from './sqlite/writer.js';

/** 3.51.3 mends a bug that could corrupt a database in WAL mode. */
const oldestSqlite = 3_051_003;

const pragmas = [
  'busy_timeout = 5000',
  'journal_mode = WAL',
  'synchronous = FULL',
  'foreign_keys = ON',
  // What was deleted, or is sealed by now, is no longer in the file.
  'secure_delete = ON',
];

/** Connections that read. A long list must not keep a lookup on behalf of a request waiting. */
const mostReaders = 3;

function open(path: string, connections: number, more: readonly string[]): Knex {
  return knex({
    client: PreparedSqlite,
    connection: { filename: path },
    useNullAsDefault: true,
    ...quiet,
    acquireConnectionTimeout: 15_000,
    pool: {
      min: 1,
      max: connections,
      idleTimeoutMillis: 2 ** 31 - 1,
      afterCreate(connection: sqlite3.Database, done: (error: Error | null) => void) {
        connection.exec([...pragmas, ...more].map((pragma) => `PRAGMA ${pragma};`).join('\n'), done);
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
 * Opens (or makes) the SQLite database of a data directory. One connection writes, and a transaction occupies it;
 * others read.
 */
export async function openSqlite(dataDir: string): Promise<Database> {
  refuseOldSqlite();
  const path = databasePath(dataDir);
  let opened: Knex | null = null;
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    // Made here for its mode, which SQLite gives to the files beside it as well.
    closeSync(openSync(path, 'a', 0o600));
    // What a savepoint may have to undo is kept in memory.
    opened = open(path, 1, ['temp_store = MEMORY']);
    await opened.raw(versionTable);
  } catch (error) {
    await opened?.destroy();
    throw new RefusedStart(
      `The database ${path} cannot be opened (${codeOf(error) || 'no connection'}): check that the data directory is writable and the file is not damaged.`,
    );
  }
  const connection = opened;
  const writer = new SqlWriter(connection);
  const readers = new Readers(open(path, mostReaders, ['query_only = ON']), mostReaders);
  return new SqlDatabase({
    dialect: 'sqlite',
    state: 'up',
    suspect: () => {},
    name: path,
    reader: readers.sql,
    transaction: (work) => writer.transaction(work),
    // Its transactions have the lock when they begin.
    begin: async () => {},
    beforeCommit: async () => {},
    // One writer, and the data directory is held by one process.
    announce: async () => {},
    onCommitElsewhere: () => () => {},
    // The caller holds the lock of the data directory.
    isServed: async () => false,
    async close() {
      await readers.close();
      await connection.destroy();
    },
  });
}
