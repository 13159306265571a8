import { expect } from 'chai';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { dayMs } from '../../src/control-plane/analytics/buckets.js';
import { PostgresRollups } from '../../src/control-plane/analytics/rollups/postgres-rollups.js';
import { validDays } from '../../src/control-plane/analytics/rollups/valid-days.js';
import { openPostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { org, randomRows } from '../support/analytics-rows.js';
import { batchOf } from '../support/asked-ledgers.js';
import { folder, forEachStore } from '../support/stores.js';

describe('days whose rollups are valid', () => {
  forEachStore(({ dialect, options }) => {
    if (dialect === 'sqlite') return;

    it('are found by a look into the partition of each, not by a join with all rows', async () => {
      const { databaseUrl } = await options(folder());
      const ledger = await openPostgresLedger({ url: databaseUrl!, node: 'n' });
      const start = Date.parse('2026-09-01T00:00:00Z');
      const rows = randomRows(5, 300, start, 4 * dayMs).map(
        (row): LedgerRow => ({ ...row, org, state: 'settled' }),
      );
      await ledger.apply(batchOf(rows));
      const rollups = new PostgresRollups((work) => ledger.statements.apart(work));
      expect(await rollups.rollUp(start + 30 * dayMs)).to.equal(4);
      const first = start / dayMs;
      const { days, plan } = await ledger.statements.apart(async (client) => {
        await client.query('ANALYZE');
        const statement = validDays(first, first + 30, 'values');
        const found = await client.query<{ day: number }>(statement);
        const explained = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN (ANALYZE) ${statement}`);
        return {
          days: found.rows.map(({ day }) => day),
          plan: explained.rows.map((row) => row['QUERY PLAN']).join('\n'),
        };
      });
      expect(days).to.deep.equal([first, first + 1, first + 2, first + 3]);
      expect(plan).to.not.contain('Join');
      // Of the partitions of the four days, one is looked into for each.
      expect(plan).to.match(/on exchanges_20260901 .*loops=1\)/);
      await ledger.close();
    });
  });
});
