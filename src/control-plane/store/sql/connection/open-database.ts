import { existsSync } from 'node:fs';
import type { Secret } from '../../../../common/access/secret.js';
import { RefusedStart } from '../../files/refused-start.js';
import type { MasterKey } from '../../secrets/master-key.js';
import type { Database, DatabaseState } from './driver.js';
import { preparePostgres } from './postgres.js';
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
  /** Connections to PostgreSQL, at most. */
  readonly connections?: number;
  /** The keys of a store that was open before: with them it opens while PostgreSQL is away, and is used once it is back. */
  readonly known?: SystemKeyValues | null;
  onState?(state: DatabaseState): void;
  /** What keeps a store from being used that was away. */
  onProblem?(error: unknown): void;
  /** Unix milliseconds; stood in for by tests. */
  readonly clock?: () => number;
}

/** Keys that serve all organisations of a store (`keys/system-keys.ts`). */
export interface SystemKeyValues {
  readonly pepper: Buffer;
  readonly audit: Buffer;
}

/** Opens the bare database of a store; its statements may take their time. */
export async function openDatabase(options: StoreOptions): Promise<Database> {
  const { dataDir, databaseUrl } = options;
  const existing = options.existing !== undefined;
  if (databaseUrl) return preparePostgres(databaseUrl, existing);
  if (existing && !existsSync(databasePath(dataDir))) {
    throw new RefusedStart(`There is no store in ${dataDir}: name its directory with --data-dir.`);
  }
  return openSqlite(dataDir);
}
