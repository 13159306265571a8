import type { Transaction } from '../sql/connection/driver.js';
import type { DataKeys } from '../sql/keys/data-keys.js';
import type { SystemKeys } from '../sql/keys/system-keys.js';
import type { AuditChain } from '../sql/records/audit-chain.js';

/** What a migration may need besides the database. */
export interface MigrationContext {
  readonly storeName: string;
  readonly systemKeys: SystemKeys;
  readonly dataKeys: DataKeys;
  readonly chain: AuditChain;
}

export interface Migration {
  /** Counts up from 1. */
  readonly version: number;
  readonly name: string;
  /**
   * `expand`: programs of the version before go on working on the store, beside newer ones. `contract`: only
   * programs of this version do, and newer ones.
   */
  readonly kind: 'expand' | 'contract';
  up(sql: Transaction, context: MigrationContext): Promise<void>;
}
