import { createHmac, timingSafeEqual } from 'node:crypto';
import { migrations } from '../migrations/list.js';
import type { MasterKey } from '../secrets/master-key.js';
import type { Database, Sql } from './connection/driver.js';
import { openSqlite } from './connection/sqlite.js';
import { SystemKeys } from './keys/system-keys.js';
import { requireCurrent } from './migrate.js';

/** Row of `meta` in a backup; a store in use has none. */
const name = 'backup';

interface End {
  readonly organisation_id: string;
  readonly seq: number;
  readonly hash: string;
}

const endsOf = async (sql: Sql): Promise<End[]> =>
  (await sql('audit_heads').select('organisation_id', 'seq', 'hash').orderBy('organisation_id')).map(
    ({ organisation_id, seq, hash }: End) => ({ organisation_id, seq: Number(seq), hash }),
  );

const macOf = (key: Buffer, madeAt: string, ends: readonly End[]): Buffer =>
  createHmac('sha256', key)
    .update(JSON.stringify(['headgate backup v1', madeAt, ends]))
    .digest();

/**
 * Records in the copy of a SQLite store where its audit logs end, authenticated with the store's audit key: an older
 * end that is put in its place, together with the rows after it removed, is noticed. Throws RefusedStart.
 */
export async function writeManifest(folder: string, masterKey: MasterKey): Promise<void> {
  const database = await openSqlite(folder);
  try {
    await requireCurrent(database, migrations);
    const keys = new SystemKeys(masterKey, Date.now);
    await keys.load(database);
    const madeAt = new Date().toISOString();
    await database.write(async (sql) => {
      const mac = macOf(keys.audit, madeAt, await endsOf(sql)).toString('hex');
      await sql('meta').where({ name }).delete();
      await sql('meta').insert({ name, value: JSON.stringify({ made_at: madeAt, mac }) });
    });
  } finally {
    await database.close();
  }
}

/** Takes the manifest out of the store and returns whether its audit logs end where they did when it was written. */
export function takeManifest(
  database: Database,
  auditKey: Buffer,
): Promise<'intact' | 'altered' | 'missing'> {
  return database.write(async (sql) => {
    const row: { value: string } | undefined = await sql('meta').where({ name }).first();
    if (row === undefined) return 'missing';
    await sql('meta').where({ name }).delete();
    const manifest = read(row.value);
    if (manifest === null) return 'altered';
    const found = Buffer.from(manifest.mac, 'hex');
    const wanted = macOf(auditKey, manifest.madeAt, await endsOf(sql));
    return found.length === wanted.length && timingSafeEqual(found, wanted) ? 'intact' : 'altered';
  });
}

function read(value: string): { readonly madeAt: string; readonly mac: string } | null {
  try {
    const { made_at, mac } = JSON.parse(value);
    return typeof made_at === 'string' && typeof mac === 'string' ? { madeAt: made_at, mac } : null;
  } catch {
    return null;
  }
}
