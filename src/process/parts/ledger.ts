import type { BudgetLedger } from '../../control-plane/ledger/ledger.js';
import type { PostgresLedger } from '../../control-plane/ledger/postgres/ledger.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { DataDirectory } from './data-directory.js';

export interface LedgerGiven {
  readonly ledger: BudgetLedger;
  /** null: the ledger is in SQLite. */
  readonly sharedLedger: PostgresLedger | null;
}

export const ledgerPart: ProcessPart<Base & DataDirectory, LedgerGiven> = {
  name: 'ledger',
  async start({ settings, nodeId, log }) {
    const { dataDir, databaseUrl, ledgerDatabaseUrl } = settings;
    const url = ledgerDatabaseUrl ?? databaseUrl;
    if (url === null) {
      const [{ openLedger }, { upgradeReport }] = await Promise.all([
        import('../../control-plane/ledger/sql.js'),
        import('../../control-plane/ledger/upgrade-report.js'),
      ]);
      return { ledger: await openLedger({ dataDir, onUpgrade: upgradeReport(log) }), sharedLedger: null };
    }
    const { openSharedLedger } = await import('./shared-ledger.js');
    const ledger = await openSharedLedger({ settings, url, node: nodeId, log });
    return { ledger, sharedLedger: ledger };
  },
  stop: ({ ledger }) => ledger.close(),
};
