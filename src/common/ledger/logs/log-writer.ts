import type { Bodies, LedgerRow } from '../record.js';

/** Takes requests into the ledger that no data worker has served. They are not charged to budgets. */
export interface LogWriter {
  /** All or none; a row whose id is there stays as it is. Returns how many were not there. */
  addRows(rows: readonly LedgerRow[]): Promise<number>;
  addBodies(bodies: readonly Bodies[]): Promise<void>;
}
