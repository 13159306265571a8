import { createHash, randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { Secret } from '../../src/common/access/secret.js';
import { MasterKey } from '../../src/control-plane/store/secrets/master-key.js';
import type { Database } from '../../src/control-plane/store/sql/connection/driver.js';
import { openPostgres } from '../../src/control-plane/store/sql/connection/postgres.js';
import { databasePath, openSqlite } from '../../src/control-plane/store/sql/connection/sqlite.js';
import {
  type AuditEntry,
  openStore,
  type Store,
  type StoreOptions,
} from '../../src/control-plane/store/store.js';
import { cleanUpLater } from './clean-up.js';
import { isWhole } from './long-forms.js';

/** The same in all processes of a run: they copy one database, in which there are keys under it. */
export const masterKey = new MasterKey(createHash('sha256').update('The master key of tests').digest());

/** URL of the PostgreSQL server that tests use. */
export const server = process.env['TEST_DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';

/** One kind of store, for tests that must hold on each. What belongs to a data directory is of that test alone. */
export interface StoreKind {
  readonly name: string;
  readonly dialect: Database['dialect'];
  options(dataDir: string): Promise<StoreOptions>;
  open(dataDir: string, clock?: () => number): Promise<Store>;
  /** The bare database under a store. */
  database(dataDir: string): Promise<Database>;
}

const folders: string[] = [];
/** An empty data directory, removed afterwards. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'headgate-store-'));
  if (folders.length === 0)
    cleanUpLater(() => {
      for (const each of folders.splice(0)) rmSync(each, { recursive: true, force: true });
    });
  folders.push(path);
  return path;
}

/** A database without records: to make one takes the migrations a tenth of a second, which no test of records is about. */
let made: Promise<string> | null = null;

async function makeEmpty(): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'headgate-empty-store-'));
  process.once('exit', () => rmSync(dataDir, { recursive: true, force: true }));
  const store = await openStore({ dataDir, masterKey });
  await store.close();
  return databasePath(dataDir);
}

/** A store on SQLite under `masterKey`. */
export async function openSqliteStore(dataDir: string, clock?: () => number): Promise<Store> {
  made ??= makeEmpty();
  const file = databasePath(dataDir);
  if (!existsSync(file)) copyFileSync(await made, file);
  return openStore({ dataDir, masterKey, ...(clock && { clock }) });
}

const sqlite: StoreKind = {
  name: 'SQLite',
  dialect: 'sqlite',
  options: async (dataDir) => ({ dataDir, masterKey }),
  open: openSqliteStore,
  database: openSqlite,
};

async function connected<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: server, connectionTimeoutMillis: 3000 });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const ask = (...statements: readonly string[]): Promise<void> =>
  connected(async (client) => {
    for (const statement of statements) await client.query(statement);
  });

/** What was made on the server for a data directory, by the directory. `drop`: the statement that removes it. */
const places = new Map<string, Promise<{ readonly url: Secret; readonly drop: string }>>();

async function dropPlaces(): Promise<void> {
  const made = await Promise.all(places.values());
  places.clear();
  if (templateOfRun === undefined) template = null;
  await ask(...made.map(({ drop }) => drop));
}

/** The equivalent of a data directory on the server: an empty schema, or `make`. */
async function urlOf(dataDir: string, make = makeSchema): Promise<Secret> {
  if (places.size === 0) cleanUpLater(dropPlaces);
  const name = `headgate_${createHash('sha256').update(dataDir).digest('hex').slice(0, 20)}`;
  const place = places.get(dataDir) ?? make(name);
  places.set(dataDir, place);
  return (await place).url;
}

/** `name` also names its connections, which distinguishes them from those of other tests. */
function urlWith(name: string, change: (url: URL) => void): Secret {
  const url = new URL(server);
  change(url);
  url.searchParams.set('application_name', name);
  return new Secret(url.href);
}

async function makeSchema(name: string) {
  await ask(`CREATE SCHEMA ${name}`);
  const url = urlWith(name, ({ searchParams }) => searchParams.set('options', `-csearch_path=${name}`));
  return { url, drop: `DROP SCHEMA ${name} CASCADE` };
}

const urlOfDatabase = (name: string): Secret =>
  urlWith(name, (url) => {
    url.pathname = `/${name}`;
  });

/** Given by `npm test`, which drops it at the end (tools/test/template.mjs). */
const templateOfRun = process.env['TEST_TEMPLATE'];

/**
 * A database with a store without records, for the run, else for the tests that run now; null: this server's user may make
 * none. To copy it takes a twentieth of a second, where the migrations take half of one.
 */
let template: Promise<string | null> | null = null;

async function makeTemplate(): Promise<string | null> {
  const database = templateOfRun ?? `headgate_template_${randomUUID().slice(0, 8)}`;
  if (templateOfRun === undefined) {
    const drop = `DROP DATABASE IF EXISTS ${database} WITH (FORCE)`;
    places.set(database, Promise.resolve({ url: urlOfDatabase(database), drop }));
  }
  return connected(async (client) => {
    // Until the connection ends: the first process to need it makes it, and the others wait.
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [database]);
    const made = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database]);
    if (made.rowCount !== 0) return database;
    const unfinished = `${database}_new`;
    try {
      await client.query(`CREATE DATABASE ${unfinished}`);
    } catch {
      return null;
    }
    const databaseUrl = urlOfDatabase(unfinished);
    const store = await openStore({ dataDir: folder(), masterKey, databaseUrl });
    await store.close();
    await client.query(`ALTER DATABASE ${unfinished} RENAME TO ${database}`);
    return database;
  });
}

/** A store without records, in a database of its own. */
async function makeCopy(name: string) {
  template ??= makeTemplate();
  const from = await template;
  if (from === null) return makeSchema(name);
  await ask(`CREATE DATABASE ${name} TEMPLATE ${from}`);
  return { url: urlOfDatabase(name), drop: `DROP DATABASE ${name} WITH (FORCE)` };
}

const postgres: StoreKind = {
  name: 'PostgreSQL',
  dialect: 'postgres',
  options: async (dataDir) => ({ dataDir, masterKey, databaseUrl: await urlOf(dataDir) }),
  open: async (dataDir, clock) => {
    const databaseUrl = await urlOf(dataDir, makeCopy);
    return openStore({ dataDir, masterKey, databaseUrl, ...(clock && { clock }) });
  },
  database: async (dataDir) => openPostgres(await urlOf(dataDir)),
};

let unanswered: Promise<string | null> | null = null;

/** As `forEachStore`; where the run is not a whole one, only on SQLite: what holds of a started gateway with either. */
export const forEachStoreInWhole = (suite: (stores: StoreKind) => void): void =>
  forEachStore(suite, isWhole ? [sqlite, postgres] : [sqlite]);

/** Runs `suite` once for each kind of store. Without a PostgreSQL server that part is skipped, and in CI fails. */
export function forEachStore(suite: (stores: StoreKind) => void, kinds = [sqlite, postgres]): void {
  for (const kind of kinds) {
    describe(`on ${kind.name}`, () => {
      before(async function () {
        if (kind === sqlite) return;
        unanswered ??= ask('SELECT 1').then(
          () => null,
          (error: Error) => error.message || 'no connection',
        );
        const why = await unanswered;
        if (why === null) return;
        if (process.env['CI'] === 'true') throw new Error(`PostgreSQL does not answer: ${why}`);
        console.error(`\n!!! NOT TESTED ON POSTGRESQL: it does not answer (${why}) !!!\n`);
        this.skip();
      });
      suite(kind);
    });
  }
}

/** A row for the audit log, as a caller would write it. */
export const entryOf = (organisationId: string, more: Partial<AuditEntry> = {}): AuditEntry => ({
  organisationId,
  workspaceId: null,
  method: 'POST',
  uri: '/v1/configs',
  requestId: randomUUID(),
  requestBody: '{}',
  queryParams: '{}',
  requestHeaders: '{}',
  userId: 'key-1',
  userType: 'api_key',
  actorName: 'Deploy',
  responseStatusCode: 200,
  resourceType: 'config',
  resourceId: null,
  action: 'create',
  clientIp: '127.0.0.1',
  country: null,
  allowed: true,
  ...more,
});
