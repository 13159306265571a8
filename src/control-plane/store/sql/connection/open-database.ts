import { existsSync } from 'node:fs';
import type { Secret } from '../../../../common/access/secret.js';
import { RefusedStart } from '../../files/refused-start.js';
import type { MasterKey } from '../../secrets/master-key.js';
import type { Database } from './driver.js';
import { openPostgres } from './postgres.js';
import { databasePath, openSqlite } from './sqlite.js';

export interface StoreOptions {
  /** Where SQLite keeps the records. */
  readonly dataDir: string;
  /** A postgres:// URL: the records are kept there instead. */
  readonly databaseUrl?: Secret | null;
  readonly masterKey: MasterKey;
  /**
   * Only one that is there already: nothing is made, nothing migrated. `same`: of this program's version; `usable`: or a
   * newer one that this program can use.
   */
  readonly existing?: 'same' | 'usable';
  /** Unix milliseconds; stood in for by tests. */
  readonly clock?: () => number;
}

/** Opens the bare database of a store. `patient`: its statements may take their time. */
export async function openDatabase(options: StoreOptions, patient: boolean): Promise<Database> {
  const { dataDir, databaseUrl } = options;
  const existing = options.existing !== undefined;
  if (databaseUrl) return openPostgres(databaseUrl, patient, existing);
  if (existing && !existsSync(databasePath(dataDir))) {
    throw new RefusedStart(`There is no store in ${dataDir}: name its directory with --data-dir.`);
  }
  return openSqlite(dataDir);
}
