import { RefusedStart } from '../files/refused-start.js';
import type { Migration, MigrationContext } from '../migrations/migration.js';
import { lostAfterMs } from '../records/nodes.js';
import type { Database, Sql, Transaction } from './connection/driver.js';
import { databaseNow } from './database-clock.js';

/** Migrations already applied. Made with the database itself: every migration writes its line here. */
export const versionTable =
  'CREATE TABLE IF NOT EXISTS schema_version (version integer PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)';

/** From this version on `schema_version` has `compatible_from`. */
const firstWithCompatible = 10;

/** What a store is, as far as a program's right to use it goes. */
export interface SchemaState {
  /** 0: there is no store yet. */
  readonly version: number;
  /** The oldest version whose programs may use it. */
  readonly compatibleFrom: number;
}

export async function schemaState(sql: Sql): Promise<SchemaState> {
  if (!(await sql.schema.hasTable('schema_version'))) return { version: 0, compatibleFrom: 0 };
  const row = await sql('schema_version').orderBy('version', 'desc').first();
  const version = Number(row?.version ?? 0);
  return { version, compatibleFrom: Number(row?.compatible_from ?? version) };
}

/** Why a program whose newest version is `newest` may not use the store; null: it may. */
export function refusalOf({ version, compatibleFrom }: SchemaState, newest: number): string | null {
  if (version <= newest || compatibleFrom <= newest) return null;
  return `The store is at version ${version}, usable from version ${compatibleFrom} on, and this program knows versions up to ${newest}: start the newer program, or restore a backup from before its upgrade.`;
}

export const newestOf = (migrations: readonly Migration[]): number => migrations.at(-1)?.version ?? 0;

/** The version of a store. Throws RefusedStart where it is too new for this program. */
async function usable(database: Database, migrations: readonly Migration[]): Promise<number> {
  const state = await database.read(schemaState);
  const refusal = refusalOf(state, newestOf(migrations));
  if (refusal !== null) throw new RefusedStart(refusal);
  return state.version;
}

/**
 * Throws RefusedStart for a store that would have to be made or migrated first, and for a newer one, `orNewer` alone
 * excepted: then it may be one that this program can use.
 */
export async function requireCurrent(
  database: Database,
  migrations: readonly Migration[],
  orNewer = false,
): Promise<void> {
  const found = await usable(database, migrations);
  const newest = newestOf(migrations);
  if (found === newest || (found > newest && orNewer)) return;
  if (found === 0)
    throw new RefusedStart(`There is no store in ${database.name}: start the gateway there once.`);
  throw new RefusedStart(
    found < newest
      ? `The store is at version ${found} and this program works on ${newest}: start the gateway once, which brings it there.`
      : `The store is at version ${found} and this program knows versions up to ${newest}: use the newer program.`,
  );
}

/** Throws RefusedStart where nodes run that could not use the store afterwards. */
async function refuseOlderNodes(sql: Transaction, version: number): Promise<void> {
  if (!(await sql.schema.hasTable('nodes'))) return;
  const names: string[] = await sql('nodes')
    .where('schema_version', '<', version)
    .whereNot({ state: 'left' })
    .andWhere('last_seen_at', '>=', (await databaseNow(sql)) - lostAfterMs)
    .orderBy('name')
    .pluck('name');
  if (names.length === 0) return;
  throw new RefusedStart(
    `Version ${version} of the store is not for the programs of ${names.join(', ')}, which run on it: upgrade or stop them first.`,
  );
}

/** The oldest version whose programs may use a store at `version`. */
function compatibleFrom(migrations: readonly Migration[], version: number): number {
  const last = migrations.findLast((one) => one.version <= version && one.kind === 'contract');
  return last?.version ?? 1;
}

/**
 * Brings a store up to `migrations`, each in a transaction together with its line in `schema_version`: killed at any
 * moment, it goes on from the last complete step. A newer store is left as it is, or refused where its version is not compatible.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[],
  context: MigrationContext,
  now: () => number,
): Promise<void> {
  await usable(database, migrations);
  // Not up to the newest alone: a version may have come to the list after a higher one was applied.
  const applied = new Set(await database.read<number[]>((sql) => sql('schema_version').pluck('version')));
  for (const { version, name, kind, up } of migrations) {
    if (applied.has(version)) continue;
    await database.write(async (sql) => {
      // Another process may have made this step while this one waited for the lock.
      if ((await sql('schema_version').where({ version }).first()) !== undefined) return;
      if (kind === 'contract' && database.dialect === 'postgres') await refuseOlderNodes(sql, version);
      await up(sql, context);
      await sql('schema_version').insert({
        ...{ version, name, applied_at: now() },
        ...(version >= firstWithCompatible && { compatible_from: compatibleFrom(migrations, version) }),
      });
    });
  }
}
