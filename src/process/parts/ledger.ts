import type { Ledger } from '../../control-plane/ledger/ledger.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';

export interface LedgerGiven {
  readonly ledger: Ledger;
}

export const ledgerPart: ProcessPart<Base, LedgerGiven> = {
  name: 'ledger',
  async start({ settings: { dataDir }, log }) {
    const [{ openLedger }, { upgradeReport }] = await Promise.all([
      import('../../control-plane/ledger/sql.js'),
      import('../../control-plane/ledger/upgrade-report.js'),
    ]);
    return { ledger: await openLedger({ dataDir, onUpgrade: upgradeReport(log) }) };
  },
  stop: ({ ledger }) => ledger.close(),
};
