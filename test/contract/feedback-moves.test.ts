import { expect } from 'chai';
import pg from 'pg';
import type { Secret } from '../../src/common/access/secret.js';
import { allLogs, type LogFilters } from '../../src/common/ledger/log-filters.js';
import type { TraceFeedback } from '../../src/common/ledger/logs/feedback.js';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { dayMs } from '../../src/control-plane/analytics/buckets.js';
import { rebuildAnalytics } from '../../src/control-plane/analytics/rollups/postgres-rebuild.js';
import type { BudgetLedger } from '../../src/control-plane/ledger/ledger.js';
import { openPostgresLedger, type PostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { org, randomRows } from '../support/analytics-rows.js';
import { type AskedLedger, batchOf, openAskedLedger } from '../support/asked-ledgers.js';
import { folder, forEachStore } from '../support/stores.js';

/** A late request may become the first of its trace: its feedback then counts there, and no longer on the later day. */
describe('feedback whose trace begins earlier than was known', () => {
  const start = Date.parse('2026-09-01T00:00:00Z');
  const at = (day: number, hour: number): number => start + day * dayMs + hour * 3_600_000;
  const others = randomRows(4, 30, at(9, 0), dayMs - 1).map(
    (row): LedgerRow => ({ ...row, org, workspace: 'w-1', state: 'settled' }),
  );
  const request = (trace: string, day: number, hour: number): LedgerRow => ({
    ...{ ...others[0]!, id: `${trace}-${day}`, trace, at: at(day, hour), cost: 5e12 },
  });
  const feedbackOf = (trace: string): TraceFeedback => ({
    ...{ id: `of-${trace}`, org, workspace: 'w-1', trace, key: null, guardrail: null, metadata: {} },
    ...{ value: 4, weight: 0.5, createdAt: at(9, 0), updatedAt: Date.now(), rowId: null, rowAt: null },
  });
  const range = { min: start, max: at(25, 0) };

  forEachStore(({ dialect, options }) => {
    let asked: AskedLedger;
    let url: Secret;
    let ledger: BudgetLedger;
    const rollUp = () => asked.rollUp(at(40, 0));

    beforeEach(async () => {
      const dataDir = folder();
      url = (await options(dataDir)).databaseUrl!;
      asked = await openAskedLedger(dataDir, dialect === 'sqlite' ? null : url);
      ledger = asked.ledger;
      await ledger.apply(batchOf(others));
    });
    afterEach(() => asked.close());

    /** Numbers by day. */
    async function days(
      graph: 'requests' | 'feedbacks',
      filters: Partial<LogFilters>,
    ): Promise<Readonly<Record<string, number>>> {
      const sight = { org, workspaces: ['w-1'], except: [], keys: null };
      const about = { range, sight, filters: { ...allLogs, ...filters, at: range } };
      const { summary, points } = await asked.analytics.ask({
        kind: 'graph',
        graph,
        groupBy: null,
        ...about,
      });
      const counted = points.flatMap(({ timestamp, total }) =>
        Number(total) === 0 ? [] : [[String((Number(timestamp) - start) / dayMs), Number(total)]],
      );
      return { ...Object.fromEntries(counted), total: Number(summary['total']) };
    }
    /** From rollups, and from single requests or their copies. */
    const found = async () => [await days('feedbacks', {}), await days('feedbacks', { cost: { min: 0 } })];
    const expectDays = async (wanted: Readonly<Record<string, number>>): Promise<void> => {
      expect(await found()).to.deep.equal([wanted, wanted]);
    };

    for (const isRolledUp of [true, false])
      it(`counts once, ${isRolledUp ? 'rolled up after each' : 'and after several'} of its late requests`, async () => {
        await ledger.apply(batchOf([request('a', 9, 1), request('b', 11, 2)]));
        await ledger.feedbacks.add([feedbackOf('a'), feedbackOf('b')]);
        await rollUp();
        await expectDays({ 9: 1, 11: 1, total: 2 });
        for (const day of [6, 3, 2]) {
          await ledger.apply(batchOf([request('a', day, 5)]));
          if (isRolledUp) {
            await expectDays({ [day]: 1, 11: 1, total: 2 });
            await rollUp();
            await expectDays({ [day]: 1, 11: 1, total: 2 });
          }
        }
        await expectDays({ 2: 1, 11: 1, total: 2 });
        await rollUp();
        await expectDays({ 2: 1, 11: 1, total: 2 });
      });

    for (const [how, skewMs] of [
      ['commits more than ten seconds after its time', 60_000],
      ['comes from a node whose clock is an hour behind', 3_600_000],
    ] as const)
      it(`is counted when its change ${how}, once`, async () => {
        await ledger.apply(batchOf([request('a', 9, 1), request('b', 11, 2)]));
        await ledger.feedbacks.add([feedbackOf('b')]);
        await rollUp();
        await expectDays({ 11: 1, total: 1 });
        const { now } = Date;
        Date.now = () => now() - skewMs;
        await ledger.feedbacks.add([{ ...feedbackOf('a'), updatedAt: Date.now() }]).finally(() => {
          Date.now = now;
        });
        await expectDays({ 9: 1, 11: 1, total: 2 });
        await rollUp();
        await expectDays({ 9: 1, 11: 1, total: 2 });
      });

    if (dialect === 'sqlite') return;
    const query = (text: string) =>
      (ledger as PostgresLedger).statements.apart(async (client) => (await client.query(text)).rows);

    it('is counted though its transaction was open while the day was rolled up', async () => {
      await ledger.apply(batchOf([request('a', 9, 1)]));
      await ledger.feedbacks.add([feedbackOf('a')]);
      await rollUp();
      const client = new pg.Client({ connectionString: url.reveal() });
      await client.connect();
      await client.query('BEGIN; UPDATE feedbacks SET row_at = NULL, row_id = NULL, updated_at = 1');
      await rollUp();
      await expectDays({ 9: 1, total: 1 });
      await client.query('ROLLBACK');
      await client.query(`BEGIN; INSERT INTO feedbacks SELECT (jsonb_populate_record(feedbacks, '{"id":"second","updated_at":1}')).*
        FROM feedbacks`);
      await rollUp();
      await client.query('COMMIT');
      await client.end();
      await expectDays({ 9: 2, total: 2 });
      await rollUp();
      await expectDays({ 9: 2, total: 2 });
    });

    it('is found in rollups of an earlier version, which counted it twice', async () => {
      await ledger.apply(batchOf([request('a', 9, 1), request('b', 11, 2)]));
      await ledger.feedbacks.add([feedbackOf('a'), feedbackOf('b')]);
      await rollUp();
      await ledger.apply(batchOf([request('a', 6, 5)]));
      // Neither that note nor any other was taken.
      await query('DELETE FROM feedback_moves');
      expect((await found())[0]).to.deep.equal({ 6: 1, 9: 1, 11: 1, total: 3 });
      await rollUp();
      await expectDays({ 6: 1, 11: 1, total: 2 });
      expect(await query('SELECT day FROM feedback_moves WHERE day >= 0')).to.deep.equal([]);
    });

    it('is noted in tables of an earlier version, which each node adds to', async () => {
      await ledger.apply(batchOf([request('a', 9, 1)]));
      await ledger.feedbacks.add([feedbackOf('a')]);
      await rollUp();
      await query('DROP TABLE feedback_moves');
      await query('DROP TRIGGER feedbacks_tx ON feedbacks; ALTER TABLE feedbacks DROP COLUMN tx');
      const other = await openPostgresLedger({ url, node: 'other', makes: false });
      expect((await days('feedbacks', {}))['total']).to.equal(1);
      await other.apply(batchOf([request('a', 6, 5)]));
      await expectDays({ 6: 1, total: 1 });
      await rollUp();
      await expectDays({ 6: 1, total: 1 });
      await other.close();
    });

    it('stays as long as the requests of its day, whose figures may be made again', async () => {
      await ledger.apply(batchOf([request('a', 9, 1), request('b', 11, 2)]));
      await ledger.feedbacks.add([feedbackOf('a'), feedbackOf('b')]);
      await rollUp();
      const shared = ledger as PostgresLedger;
      await shared.expire({ rowsBefore: at(11, 12), bodiesBefore: null, workspaces: [] });
      expect(await query('SELECT id FROM feedbacks')).to.deep.equal([{ id: 'of-b' }]);
      await rebuildAnalytics(
        (work) => shared.statements.apart(work),
        at(40, 0),
        () => {},
      );
      expect(await days('feedbacks', {})).to.deep.equal({ 9: 1, 11: 1, total: 2 });
    });

    it('leaves the figures of a day whose requests were dropped as they are', async () => {
      await ledger.apply(batchOf([request('a', 9, 1), request('b', 11, 2)]));
      await ledger.feedbacks.add([feedbackOf('a'), feedbackOf('b')]);
      await rollUp();
      await (ledger as PostgresLedger).dropPartitions(at(15, 0), 5, Number.POSITIVE_INFINITY);
      const kept = { 9: others.length + 1, 11: 1, total: others.length + 2 };
      expect(await days('requests', {})).to.deep.equal(kept);
    });
  });
});
