import { createHash, randomBytes, randomUUID } from 'node:crypto';
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

export const masterKey = new MasterKey(randomBytes(32));

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

async function ask(...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: server, connectionTimeoutMillis: 3000 });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

const schemas = new Set<string>();

async function dropSchemas(): Promise<void> {
  const made = [...schemas];
  schemas.clear();
  await ask(...made.map((schema) => `DROP SCHEMA ${schema} CASCADE`));
}

/** URL of the schema that stands for a data directory. */
async function urlOf(dataDir: string): Promise<Secret> {
  const schema = `headgate_${createHash('sha256').update(dataDir).digest('hex').slice(0, 20)}`;
  if (!schemas.has(schema)) {
    if (schemas.size === 0) cleanUpLater(dropSchemas);
    schemas.add(schema);
    await ask(`CREATE SCHEMA ${schema}`);
  }
  const url = new URL(server);
  url.searchParams.set('options', `-csearch_path=${schema}`);
  // Its connections can be told from those of other tests.
  url.searchParams.set('application_name', schema);
  return new Secret(url.href);
}

const postgres: StoreKind = {
  name: 'PostgreSQL',
  dialect: 'postgres',
  options: async (dataDir) => ({ dataDir, masterKey, databaseUrl: await urlOf(dataDir) }),
  open: async (dataDir, clock) =>
    openStore({ ...(await postgres.options(dataDir)), ...(clock && { clock }) }),
  database: async (dataDir) => openPostgres(await urlOf(dataDir)),
};

let unanswered: Promise<string | null> | null = null;

/** Runs `suite` once for each kind of store. Without a PostgreSQL server that part is skipped, and in CI fails. */
export function forEachStore(suite: (stores: StoreKind) => void): void {
  for (const kind of [sqlite, postgres]) {
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
