import { RefusedStart } from '../files/refused-start.js';
import type { Migration, MigrationContext } from '../migrations/migration.js';
import type { Database } from './connection/driver.js';

/** Migrations already applied. Made with the database itself: every migration writes its line here. */
export const versionTable =
  'CREATE TABLE IF NOT EXISTS schema_version (version integer PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)';

/** The version of a store, and the newest that this program supports. Throws RefusedStart where the store is newer. */
async function versions(
  database: Database,
  migrations: readonly Migration[],
): Promise<{ readonly found: number; readonly newest: number }> {
  const newest = migrations.at(-1)?.version ?? 0;
  const found = await database.read(async (sql) => {
    if (!(await sql.schema.hasTable('schema_version'))) return 0;
    const row = await sql('schema_version').max('version as version').first();
    return Number(row?.['version'] ?? 0);
  });
  if (found > newest) {
    throw new RefusedStart(
      `The store is at version ${found} and this program knows versions up to ${newest}: start the newer program, or restore a backup from before its upgrade.`,
    );
  }
  return { found, newest };
}

/** Throws RefusedStart for a store that would have to be made or migrated first. */
export async function requireCurrent(database: Database, migrations: readonly Migration[]): Promise<void> {
  const { found, newest } = await versions(database, migrations);
  if (found === newest) return;
  throw new RefusedStart(
    found === 0
      ? `There is no store in ${database.name}: start the gateway there once.`
      : `The store is at version ${found} and this program works on ${newest}: start the gateway once, which brings it there.`,
  );
}

/**
 * Brings a store up to `migrations`, each in a transaction together with its line in `schema_version`: killed at any
 * moment, it goes on from the last complete step. A store newer than the program is refused.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[],
  context: MigrationContext,
  now: () => number,
): Promise<void> {
  const { found } = await versions(database, migrations);
  for (const { version, name, up } of migrations) {
    if (version <= found) continue;
    await database.write(async (sql) => {
      // Another process may have made this step while this one waited for the lock.
      if ((await sql('schema_version').where({ version }).first()) !== undefined) return;
      await up(sql, context);
      await sql('schema_version').insert({ version, name, applied_at: now() });
    });
  }
}
