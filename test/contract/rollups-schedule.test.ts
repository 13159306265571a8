import { expect } from 'chai';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { dayMs } from '../../src/control-plane/analytics/buckets.js';
import { PostgresCopies } from '../../src/control-plane/analytics/rollups/postgres-copies.js';
import { PostgresCounts } from '../../src/control-plane/analytics/rollups/postgres-counts.js';
import { PostgresRollups } from '../../src/control-plane/analytics/rollups/postgres-rollups.js';
import type { InConnection } from '../../src/control-plane/analytics/rollups/postgres-work.js';
import { openPostgresLedger, type PostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { partitionsPart } from '../../src/process/parts/partitions.js';
import { org, randomRows } from '../support/analytics-rows.js';
import { batchOf } from '../support/asked-ledgers.js';
import { folder, forEachStore } from '../support/stores.js';
import { scaled } from '../support/time-limits.js';

describe('what analytics makes of days of a ledger in PostgreSQL', function () {
  this.timeout(scaled(60_000));
  const start = Date.parse('2026-09-01T00:00:00Z');
  const days = 6;
  const after = start + 20 * dayMs;
  const rows = randomRows(7, 120, start, days * dayMs).map(
    (row): LedgerRow => ({ ...row, org, workspace: 'w-1', state: 'settled' }),
  );

  forEachStore(({ dialect, options }) => {
    if (dialect === 'sqlite') return;
    let ledger: PostgresLedger;
    const work: InConnection = (of) => ledger.statements.apart(of);
    const numberOf = (table: string): Promise<number> =>
      ledger.statements.apart(
        async (client) => (await client.query(`SELECT count(*) AS n FROM ${table}`)).rows[0].n,
      );

    beforeEach(async () => {
      ledger = await openPostgresLedger({ url: (await options(folder())).databaseUrl!, node: 'n' });
      await ledger.apply(batchOf(rows));
    });
    afterEach(() => ledger.close());

    it('may be made by several nodes at a time', async () => {
      const atOnce = (make: () => Promise<number>) => Promise.all([make(), make(), make()]);
      await atOnce(() => new PostgresRollups(work).rollUp(after));
      await atOnce(() => new PostgresRollups(work).rollUpWeeks());
      await atOnce(() => new PostgresCounts(work).count(after, 60_000));
      await atOnce(() => new PostgresCopies(work).copy(after, 60_000));
      for (const table of ['rolled_days', 'counted_days', 'copied_days'])
        expect(await numberOf(table), table).to.equal(days);
      expect(await numberOf('copied_requests')).to.equal(rows.length);
    });

    it('is made of each kind in a run of the schedule, though one of them fails', async () => {
      const works = new Map<string, () => Promise<void>>();
      const schedules = { add: (name: string, run: () => Promise<void>) => works.set(name, run) };
      ledger.beforeExpiry = () => Promise.reject(new Error('no rollups'));
      await partitionsPart.start({ settings: {}, sharedLedger: ledger, schedules, log: {} } as never);
      const failed = await works.get('rollups')!().catch((error: Error) => error.message);
      expect(failed).to.equal('no rollups');
      expect(await numberOf('counted_days')).to.equal(days);
      expect(await numberOf('copied_days')).to.equal(days);
    });
  });
});
