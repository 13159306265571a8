import knex, { type Knex } from 'knex';
import type pg from 'pg';
import type { Secret } from '../../../../common/access/secret.js';
import { RefusedStart } from '../../files/refused-start.js';
import { versionTable } from '../migrate.js';
import { type Database, SqlDatabase, type Transaction, type WriteOptions } from './driver.js';
import { codeOf } from './failure.js';
import { dialectOf, lean } from './lean.js';
import { isListenedTo, listen, notify } from './postgres-listener.js';
import { quiet } from './quiet.js';

const connections = 10;

/** Of every connection. A commit is acknowledged when it is on disk, whatever the server's own default. */
const session = (patient: boolean): string =>
  [
    `statement_timeout = ${patient ? 0 : 5000}`,
    'idle_in_transaction_session_timeout = 15000',
    'synchronous_commit = on',
    "timezone = 'UTC'",
  ]
    .map((line) => `SET ${line};`)
    .join(' ');

/** Where a URL leads, its password left out. */
function nameOf(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `postgres://${hostname}${port === '' ? '' : `:${port}`}${pathname}`;
}

/** One holder per schema, until its transaction ends. */
const storeLock = "SELECT pg_advisory_xact_lock(hashtext('headgate'), hashtext(current_schema()))";

/** Numbers are given out before commits: who takes one holds this until its own. */
const changesLock = "SELECT pg_advisory_xact_lock(hashtext('headgate changes'), hashtext(current_schema()))";

/**
 * Opens a PostgreSQL database: the records of several nodes. `patient`: its statements may take their time. `existing`:
 * nothing is made in it.
 */
export async function openPostgres(url: Secret, patient = false, existing = false): Promise<Database> {
  const name = nameOf(url.reveal());
  // Loaded only where it is wanted: it costs a start 40 ms.
  const driver = (await import('pg')).default;
  // Counts are far below 2^53: numbers, not texts.
  const types: Knex.PgCustomTypesConfig = {
    getTypeParser: (oid, format) =>
      oid === driver.types.builtins.INT8 ? Number : driver.types.getTypeParser(oid, format as 'text'),
  };
  const settings = {
    connectionString: url.reveal(),
    application_name: 'headgate',
    connectionTimeoutMillis: 5000,
    // For a server that has gone without a word; its own timeout comes first.
    ...(patient ? {} : { query_timeout: 20_000 }),
    keepAlive: true,
  };
  const sql = knex({
    client: lean(dialectOf('pg')),
    connection: { ...settings, types },
    ...quiet,
    acquireConnectionTimeout: 5000,
    pool: {
      min: 0,
      max: connections,
      afterCreate(connection: pg.Client, done: (error: Error | null, connection: pg.Client) => void) {
        connection.query(session(patient), (error) => done(error, connection));
      },
    },
  });
  const engine = {
    dialect: 'postgres',
    name,
    reader: sql,
    transaction: <T>(work: (transaction: Transaction) => Promise<T>) => sql.transaction(work),
    begin: (transaction: Transaction, { lock }: WriteOptions) =>
      lock === undefined ? transaction.raw(storeLock) : lock(transaction),
    // A statement that failed and was passed over has undone the transaction, and COMMIT would not report it.
    beforeCommit: (transaction: Transaction) => transaction.raw('SELECT 1'),
    announce: (transaction: Transaction) => transaction.raw(`${changesLock}; ${notify}`),
    onCommitElsewhere: (wake: () => void) =>
      listen(() => new driver.Client({ ...settings, query_timeout: 5000 }), wake),
    isServed: isListenedTo,
    close: () => sql.destroy(),
  } as const;
  const database = new SqlDatabase(engine);
  try {
    await database.write((transaction) => transaction.raw(existing ? 'SELECT 1' : versionTable));
  } catch (error) {
    await sql.destroy();
    const cause =
      error instanceof Error && error.cause instanceof Error ? error.cause.message : codeOf(error);
    throw new RefusedStart(
      `The database ${name} cannot be opened (${cause || 'no connection'}): check that PostgreSQL runs there and that DATABASE_URL names a database this user may write to.`,
    );
  }
  return database;
}
