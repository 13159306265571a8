import knex, { type Knex } from 'knex';
import type pg from 'pg';
import type { Secret } from '../../../../common/access/secret.js';
import { RefusedStart, StoreAway } from '../../files/refused-start.js';
import { versionTable } from '../migrate.js';
import {
  type Database,
  type DatabaseState,
  SqlDatabase,
  type Transaction,
  type WriteOptions,
} from './driver.js';
import { codeOf } from './failure.js';
import { abandon, deadline, type PostgresClient, postgresClient } from './postgres-client.js';
import { PostgresTransactions, stamp } from './postgres-transaction.js';
import { isListenedTo, notify, PostgresWatch } from './postgres-watch.js';
import { quiet } from './quiet.js';

export interface PostgresOptions {
  /** Are statements given as long as they take? */
  readonly patient?: boolean;
  /** At most, the one that listens included; at least 2. */
  readonly connections?: number;
  /** The database is away, and this is to be done before it is used again; what it throws is reported by it. */
  readonly prepare?: () => Promise<void>;
  onState?(state: DatabaseState): void;
}

const defaultConnections = 10;
/** Milliseconds. */
const connectMs = 2000;
/** For the first connection of a start, which shows whether there is a server at all. */
const reachMs = 3000;

/** Of every connection. A commit is acknowledged when it is on disk, whatever the server's own default. */
const session = (patient: boolean): string =>
  [
    `statement_timeout = ${patient ? 0 : 5000}`,
    // What a node that was cut off holds, others wait for.
    `idle_in_transaction_session_timeout = ${patient ? 15_000 : 5000}`,
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

/** Loaded only where it is wanted: it costs a start 40 ms. */
const loadDriver = async (): Promise<typeof pg> => (await import('pg')).default;

const settingsOf = (url: Secret) => ({
  connectionString: url.reveal(),
  application_name: 'headgate',
  connectionTimeoutMillis: connectMs,
  keepAlive: true,
  keepAliveInitialDelayMillis: 5000,
});

/** The database itself, whether or not its server answers. */
export async function openPostgres(url: Secret, options: PostgresOptions = {}): Promise<Database> {
  const { patient = false, connections = defaultConnections, prepare = null, onState = () => {} } = options;
  const driver = await loadDriver();
  const settings = settingsOf(url);
  // Counts are far below 2^53: numbers, not texts.
  const types: Knex.PgCustomTypesConfig = {
    getTypeParser: (oid, format) =>
      oid === driver.types.builtins.INT8 ? Number : driver.types.getTypeParser(oid, format as 'text'),
  };
  const sql = knex({
    client: postgresClient(),
    connection: { ...settings, types },
    ...quiet,
    patient,
    session: session(patient),
    acquireConnectionTimeout: 5000,
    pool: { min: 0, max: Math.max(1, connections - 1) },
  } as object as Knex.Config);
  const pool = sql.client as PostgresClient;
  const open = () => new driver.Client(settings);
  const transactions = new PostgresTransactions(pool, open);
  const watch = new PostgresWatch({ pool, open, prepare, onState });
  return new SqlDatabase({
    dialect: 'postgres',
    name: nameOf(url.reveal()),
    get state() {
      return watch.state;
    },
    suspect: () => watch.suspect(),
    reader: sql,
    transaction: (work) => transactions.run(work),
    begin: (transaction: Transaction, { lock }: WriteOptions) =>
      lock === undefined ? transaction.raw(storeLock) : lock(transaction),
    // A statement that failed and was passed over has undone the transaction, and COMMIT would not report it.
    beforeCommit: stamp,
    announce: (transaction: Transaction) => transaction.raw(`${changesLock}; ${notify}`),
    onCommitElsewhere: (wake) => watch.start(wake),
    isServed: isListenedTo,
    close: () => sql.destroy(),
  });
}

const usualAdvice =
  'check that PostgreSQL runs there and that DATABASE_URL names a database this user may write to';
/** What helps against some causes, by the codes of PostgreSQL and of Node's TLS. */
const advice: readonly (readonly [RegExp, string])[] = [
  [
    /^(28000)$/,
    'check that the user of DATABASE_URL exists and that the rules of the server (pg_hba.conf) let it in from here; a server that requires TLS needs ?sslmode=verify-full there',
  ],
  [
    /^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_UNTRUSTED)/,
    "the server's certificate is from an authority that is not known here: add &sslrootcert=<file of the authority's certificate> to DATABASE_URL",
  ],
  [
    /^(ERR_TLS_CERT_ALTNAME_INVALID)$/,
    "the server's certificate is for another host name: use that name in DATABASE_URL",
  ],
  [/^(CERT_HAS_EXPIRED|CERT_NOT_YET_VALID)$/, "the server's certificate is not valid now"],
];

/** Why a database cannot be opened, and what to do about it. `name`: its address without the password. */
export const refusal = (name: string, error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : codeOf(error);
  const [, what = usualAdvice] = advice.find(([codes]) => codes.test(cause)) ?? [];
  return `The database ${name} cannot be opened (${cause || 'no connection'}): ${what}.`;
};

/** What PostgreSQL refuses for good. Everything else may pass: no answer, starting up, too many clients, read-only. */
const isMistake = (error: unknown): boolean => /^(28|3D|3F|42)...$/.test(codeOf(error));

/** The server's answer. Throws a StoreAway, or a RefusedStart if waiting does not help. */
export async function reach<T>(url: Secret, ask: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new (await loadDriver()).Client(settingsOf(url));
  client.on('error', () => {});
  const answered = deadline(reachMs, () => abandon(client));
  try {
    await client.connect();
    const answer = await ask(client);
    await client.end();
    return answer;
  } catch (error) {
    abandon(client);
    throw new (isMistake(error) ? RefusedStart : StoreAway)(refusal(nameOf(url.reveal()), error));
  } finally {
    answered();
  }
}

/**
 * Opens it for migrations: a server that answers and takes changes. `existing`: nothing is made in it. Throws RefusedStart,
 * where that may pass a StoreAway.
 */
export async function preparePostgres(url: Secret, existing: boolean): Promise<Database> {
  await reach(url, (client) => client.query('SELECT 1'));
  const database = await openPostgres(url, { patient: true });
  try {
    await database.write((transaction) => transaction.raw(existing ? 'SELECT 1' : versionTable));
  } catch (error) {
    await database.close();
    const code = error instanceof Error && error.cause instanceof Error ? error.cause.message : '';
    throw new (/^(28|3D|3F|42)/.test(code) ? RefusedStart : StoreAway)(refusal(database.name, error));
  }
  return database;
}
