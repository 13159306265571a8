import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { LedgerGiven } from './ledger.js';
import type { SchedulesGiven } from './schedules.js';

/** Requests of earlier days are counted, and copied, for so long in one run: a ledger of an earlier version may have many. Milliseconds. */
const copyingMs = 60_000;

/** Partitions of a ledger in PostgreSQL: those of the next days are made, old ones dropped. Days that have ended are rolled up. */
export const partitionsPart: ProcessPart<Base & LedgerGiven & SchedulesGiven, void> = {
  name: 'partitions of the ledger',
  async start({ settings, sharedLedger, schedules, log }) {
    if (sharedLedger === null) return;
    const { copiesOf, countsOf, maintainPartitions } = await import('./shared-ledger.js');
    const copies = copiesOf(sharedLedger);
    const counts = countsOf(sharedLedger);
    const rollUp = async (): Promise<void> => {
      const days = await sharedLedger.beforeExpiry();
      if (typeof days === 'number' && days > 0) log.info({ days }, 'Days of analytics were rolled up.');
    };
    schedules.add('rollups', async () => {
      await sharedLedger.prepare();
      const failures: unknown[] = [];
      // Each is of use without the others.
      for (const step of [
        rollUp,
        () => counts.count(Date.now(), copyingMs),
        () => copies.copy(Date.now(), copyingMs),
      ])
        await step().catch((error: unknown) => failures.push(error));
      if (failures.length > 0) throw failures[0];
    });
    schedules.add('partitions', () => maintainPartitions(sharedLedger, settings, Date.now(), log));
  },
};
