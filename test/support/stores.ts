import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { Secret } from '../../src/core/secret.js';
import { MasterKey } from '../../src/store/master-key.js';
import type { Database } from '../../src/store/sql/driver.js';
import { openPostgres } from '../../src/store/sql/postgres.js';
import { openSqlite } from '../../src/store/sql/sqlite.js';
import { type AuditEntry, openStore, type Store, type StoreOptions } from '../../src/store/store.js';

export const masterKey = new MasterKey(randomBytes(32));

const server = process.env['TEST_DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';

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
  folders.push(path);
  return path;
}

const sqlite: StoreKind = {
  name: 'SQLite',
  dialect: 'sqlite',
  options: async (dataDir) => ({ dataDir, masterKey }),
  open: (dataDir, clock) => openStore({ dataDir, masterKey, ...(clock && { clock }) }),
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

/** URL of the schema that stands for a data directory. */
async function urlOf(dataDir: string): Promise<Secret> {
  const schema = `headgate_${createHash('sha256').update(dataDir).digest('hex').slice(0, 20)}`;
  if (!schemas.has(schema)) {
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

after(async () => {
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true });
  const made = [...schemas];
  schemas.clear();
  if (made.length > 0) await ask(...made.map((schema) => `DROP SCHEMA ${schema} CASCADE`));
});

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
