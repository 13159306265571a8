import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SqliteConnection } from '../../database/sqlite.js';
import { RefusedStart } from '../files/refused-start.js';
import { migrations } from '../migrations/list.js';
import { MasterKey } from '../secrets/master-key.js';
import { databasePath, openSqlite } from './connection/sqlite.js';
import { DataKeys } from './keys/data-keys.js';
import { SystemKeys } from './keys/system-keys.js';
import { migrate } from './migrate.js';
import { AuditChain } from './records/audit-chain.js';

interface SchemaRow {
  readonly type: string;
  readonly name: string;
  readonly sql: string | null;
}

/** SQLite's own: indexes of keys and unique columns, counters, statistics. Not by name alone: a trigger may have one of theirs. */
const ofSqlite = `(type = 'index' AND sql IS NULL)
  OR (type = 'table' AND name IN ('sqlite_sequence', 'sqlite_stat1', 'sqlite_stat4') AND sql LIKE 'CREATE TABLE sqlite%')`;

/** Tables, indexes, views and triggers by name, as their statements. SQLite's own are left out. */
async function schemaOf(
  path: string,
): Promise<{ readonly version: number; readonly parts: Map<string, string> }> {
  const database = await SqliteConnection.open(path, ['query_only = ON']);
  try {
    const rows = await database.all<SchemaRow>(
      `SELECT type, name, sql FROM sqlite_master WHERE NOT (${ofSqlite})`,
    );
    const hasVersions = rows.some(({ type, name }) => type === 'table' && name === 'schema_version');
    const [row] = hasVersions
      ? await database.all<{ version: number | null }>('SELECT max(version) AS version FROM schema_version')
      : [];
    const parts = rows.map(({ type, name, sql }) => [`${type} ${name}`, plain(sql)] as const);
    return { version: row?.version ?? 0, parts: new Map(parts) };
  } finally {
    await database.close();
  }
}

/** Versions of SQLite differ in white space and quotes where they rewrite a statement after ALTER TABLE. */
const plain = (sql: string | null): string => (sql ?? '').replace(/[\s"`]+/g, '').toLowerCase();

/**
 * Compares the schema of the SQLite store in `folder` with what the migrations up to its version make. A trigger or a
 * view that is not theirs would act when the store is opened: this reads the file without opening it as a store.
 * Throws RefusedStart, which names the first difference.
 */
export async function checkSchema(folder: string, shown: string): Promise<void> {
  const found = await schemaOf(databasePath(folder));
  const newest = migrations.at(-1)?.version ?? 0;
  if (found.version > newest) {
    throw new RefusedStart(
      `${shown} is at version ${found.version} and this program supports versions up to ${newest}: restore it with the newer program.`,
    );
  }
  const reference = mkdtempSync(join(folder, 'reference-'));
  try {
    await makeStore(reference, found.version);
    const wanted = await schemaOf(databasePath(reference));
    for (const [name, sql] of found.parts) {
      if (wanted.parts.get(name) === sql) continue;
      throw new RefusedStart(
        `${shown} was altered: its ${name} is not as this program makes it. Restore another backup.`,
      );
    }
    for (const name of wanted.parts.keys()) {
      if (!found.parts.has(name))
        throw new RefusedStart(`${shown} was altered: it has no ${name}. Restore another backup.`);
    }
  } finally {
    rmSync(reference, { recursive: true, force: true });
  }
}

/** An empty store as it was at `version`. */
async function makeStore(folder: string, version: number): Promise<void> {
  const masterKey = new MasterKey(randomBytes(32));
  const systemKeys = new SystemKeys(masterKey, Date.now);
  const database = await openSqlite(folder);
  try {
    await migrate(
      database,
      migrations.filter((migration) => migration.version <= version),
      {
        storeName: database.name,
        systemKeys,
        dataKeys: new DataKeys(masterKey, Date.now),
        chain: new AuditChain(() => systemKeys.audit),
      },
      Date.now,
    );
  } finally {
    await database.close();
  }
}
