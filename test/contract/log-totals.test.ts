import { expect } from 'chai';
import pg from 'pg';
import type { Secret } from '../../src/common/access/secret.js';
import { allLogs, type LogFilters } from '../../src/common/ledger/log-filters.js';
import { newestFirst } from '../../src/common/ledger/logs/log-query.js';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { dayMs } from '../../src/control-plane/analytics/buckets.js';
import { PostgresAnalytics, type StatementReader } from '../../src/control-plane/analytics/postgres.js';
import { PostgresCopies } from '../../src/control-plane/analytics/rollups/postgres-copies.js';
import { PostgresCounts } from '../../src/control-plane/analytics/rollups/postgres-counts.js';
import { openPostgresLedger, type PostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { org, randomRange, randomRows, workspaces } from '../support/analytics-rows.js';
import { batchOf } from '../support/asked-ledgers.js';
import { eventually } from '../support/gateway.js';
import { seeded } from '../support/seeded.js';
import { folder, forEachStore } from '../support/stores.js';

/** Over a ledger in PostgreSQL, days that have ended are counted once, by workspace. */
describe('totals of pages of logs', () => {
  const start = Date.parse('2026-09-01T00:00:00Z');
  const days = 10;
  const after = start + 30 * dayMs;
  const seed = Number(process.env['TOTALS_SEED'] ?? 23);
  const rows = randomRows(seed, 900, start, days * dayMs).map(
    (row): LedgerRow => ({ ...row, state: 'settled' }),
  );
  type About = Parameters<PostgresAnalytics['count']>[0];
  const all = { org, workspaces: null, except: [], keys: null };

  forEachStore(({ dialect, options }) => {
    if (dialect === 'sqlite') return;
    let url: Secret;
    let ledger: PostgresLedger;
    let analytics: PostgresAnalytics;
    const query = (text: string) =>
      ledger.statements.apart(async (client) => (await client.query(text)).rows);
    const count = () =>
      new PostgresCounts((work) => ledger.statements.apart(work)).count(after, Number.POSITIVE_INFINITY);
    const copy = () =>
      new PostgresCopies((work) => ledger.statements.apart(work)).copy(after, Number.POSITIVE_INFINITY);

    beforeEach(async () => {
      url = (await options(folder())).databaseUrl!;
      ledger = await openPostgresLedger({ url, node: 'n' });
      await ledger.apply(batchOf(rows));
      analytics = new PostgresAnalytics(ledger.statements);
    });
    afterEach(() => ledger.close());

    async function plainTotal(about: About): Promise<number | null> {
      ledger.reading.counter = async () => null;
      const { total } = await ledger.page({
        ...{ order: newestFirst, offset: 0, limit: 1, isCounted: true, ...about },
      });
      return total;
    }

    const random = seeded(seed + 1);
    const someRange = (): LogFilters['at'] => {
      const range = randomRange(random, start, days * dayMs);
      const { min, max } = random() < 0.5 ? range : { min: range.min, max: start + days * dayMs };
      return { ...(random() < 0.8 && { min }), ...(random() < 0.8 && { max }) };
    };
    const someSight = (): About['sight'] => ({
      org,
      workspaces: random() < 0.4 ? null : ['w-1', ...workspaces.filter(() => random() < 0.5)],
      except: random() < 0.7 ? [] : ['w-3'],
      keys: random() < 0.85 ? null : ['k-1'],
    });
    const someFilters = (): LogFilters => ({
      ...allLogs,
      at: someRange(),
      ...(random() < 0.15 && { models: ['model-1', 'model-2'] }),
    });

    /** Random times and workspaces have the total that a plain count has. */
    async function expectTotals(what: string): Promise<void> {
      for (let i = 0; i < 20; i++) {
        const about: About = { sight: someSight(), filters: someFilters() };
        const total = await analytics.count(about);
        // null: there is no whole day, or there are other filters, so that requests are counted.
        if (total !== null)
          expect(total, `${what}: ${JSON.stringify(about)}`).to.equal(await plainTotal(about));
      }
    }
    const expire = (rowsBefore: number | null, workspace: string, before: number) => {
      const own = { org, workspace, rowsBefore: before, bodiesBefore: null };
      return ledger.expire({ rowsBefore, bodiesBefore: null, workspaces: [own] });
    };

    it('are what a plain count gives, whatever arrives late or is deleted', async () => {
      expect(await analytics.count({ sight: all, filters: allLogs })).to.equal(null);
      expect(await count()).to.equal(days);
      expect(await count()).to.equal(0);
      await expectTotals('counted');
      await copy();
      await expectTotals('counted and copied');
      const late = [1, 4, 8].map(
        (day): LedgerRow => ({ ...rows[0]!, org, id: `late-${day}`, at: start + day * dayMs }),
      );
      await ledger.apply(batchOf(late));
      await expectTotals('late requests');
      expect(await count()).to.equal(3);
      await expectTotals('late requests, counted');
      await expire(null, 'w-2', start + 5.5 * dayMs);
      await expectTotals('requests of a workspace deleted');
      await copy();
      await expire(start + 3 * dayMs, 'w-2', start + 6 * dayMs);
      await expectTotals('days deleted');
      expect(await query('SELECT min(day) AS day FROM day_counts')).to.deep.equal([
        { day: start / dayMs + 3 },
      ]);
      await ledger.dropPartitions(start + 9.5 * dayMs, 5, Number.POSITIVE_INFINITY);
      await expectTotals('partitions dropped');
      await ledger.apply(batchOf([{ ...rows[1]!, org, id: 'of-a-dropped-day', at: start + 1 }]));
      await count();
      await expectTotals('a request of a dropped day');
    });

    it('are read from the counts of days, and of the times around them', async () => {
      await count();
      await copy();
      await query('UPDATE day_counts SET requests = requests + 1000');
      const plain: About = {
        sight: { ...all, workspaces: ['w-1'] },
        filters: { ...allLogs, at: { min: start + 1.5 * dayMs, max: start + 5 * dayMs + 1 } },
      };
      expect(await analytics.count(plain)).to.equal(3000 + (await plainTotal(plain))!);
      const ofModel = { ...plain, filters: { ...plain.filters, models: ['model-1'] } };
      expect(await analytics.count(ofModel)).to.equal(await plainTotal(ofModel));
    });

    it('are exact while requests are being deleted', async () => {
      await count();
      const before = start + 7.5 * dayMs;
      const owned = ['w-1', 'w-2'].map((workspace) => ({
        org,
        workspace,
        rowsBefore: before,
        bodiesBefore: null,
      }));
      const totals = async () => {
        for (const workspace of [...workspaces, null])
          for (const at of [{}, { min: start + 2 * dayMs }, { max: start + 9.5 * dayMs }]) {
            const sight = { ...all, workspaces: workspace === null ? null : [workspace] };
            const about = { sight, filters: { ...allLogs, at } };
            expect(await analytics.count(about), JSON.stringify(about)).to.equal(await plainTotal(about));
          }
      };
      const other = new pg.Client({ connectionString: url.reveal() });
      await other.connect();
      await other.query(
        `BEGIN; SELECT 1 FROM exchanges WHERE org = '${org}' AND workspace = 'w-2' FOR UPDATE`,
      );
      const expired = ledger.expire({ rowsBefore: null, bodiesBefore: null, workspaces: owned });
      const filters = { ...allLogs, at: { max: before - 1 } };
      const ofFirst = { sight: { ...all, workspaces: ['w-1'] }, filters };
      await eventually(
        'the requests of the first are deleted',
        async () => (await plainTotal(ofFirst)) === 0,
      );
      await totals();
      await other.query('COMMIT');
      await other.end();
      expect(await expired).to.be.greaterThan(10);
      await totals();
    });

    it('are of one moment, though requests are deleted between its statements', async () => {
      await count();
      const about: About = { sight: all, filters: { ...allLogs, at: { min: start + dayMs / 2 } } };
      const before = await plainTotal(about);
      const { statements } = ledger;
      let isExpired = false;
      const besides = (reader: StatementReader): StatementReader => ({
        async read(text, values) {
          if (!isExpired && text.includes('AS total')) {
            isExpired = true;
            await expire(null, 'w-2', start + 5.5 * dayMs);
          }
          return reader.read(text, values);
        },
      });
      const reader = {
        ...besides(statements),
        snapshot: <T>(work: (reader: StatementReader) => Promise<T>) =>
          statements.snapshot((inner) => work(besides(inner))),
      };
      expect(await new PostgresAnalytics(reader).count(about)).to.equal(before);
      expect(isExpired).to.equal(true);
      const after = await plainTotal(about);
      expect(after).to.be.lessThan(before!);
      expect(await analytics.count(about)).to.equal(after);
    });

    it('are 0 of times before 1970, though the first day of it is counted', async () => {
      await ledger.apply(batchOf([{ ...rows[0]!, org, id: 'of-1970', at: 5 }]));
      await count();
      await copy();
      for (const max of [-1, -3 * dayMs, 4]) {
        const total = await analytics.count({ sight: all, filters: { ...allLogs, at: { max } } });
        expect(total ?? 0, String(max)).to.equal(0);
      }
      expect(await analytics.count({ sight: all, filters: { ...allLogs, at: { max: dayMs } } })).to.equal(1);
    });
  });
});
