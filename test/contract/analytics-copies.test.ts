import { expect } from 'chai';
import { allLogs } from '../../src/common/ledger/log-filters.js';
import { newestFirst } from '../../src/common/ledger/logs/log-query.js';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { dayMs } from '../../src/control-plane/analytics/buckets.js';
import { PostgresAnalytics } from '../../src/control-plane/analytics/postgres.js';
import type { AnalyticsQuestion } from '../../src/control-plane/analytics/question.js';
import { copyDay } from '../../src/control-plane/analytics/rollups/copied-requests.js';
import { PostgresCopies } from '../../src/control-plane/analytics/rollups/postgres-copies.js';
import { openPostgresLedger, type PostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { org, randomRows } from '../support/analytics-rows.js';
import { batchOf } from '../support/asked-ledgers.js';
import { folder, forEachStore } from '../support/stores.js';

/** With a ledger in PostgreSQL, wide ranges with filters are read from these. */
describe('copies of requests', () => {
  const start = Date.parse('2026-09-01T00:00:00Z');
  const days = 6;
  const rows = randomRows(9, 600, start, days * dayMs).map(
    (row): LedgerRow => ({ ...row, org, state: 'settled' }),
  );
  const sight = { org, workspaces: ['w-1', 'w-2'], except: [], keys: null };
  const range = { min: start + dayMs / 3, max: start + 20 * dayMs };
  const about = { sight, filters: { ...allLogs, cost: { min: 1e12 }, at: range } };
  const page = { orderBy: 'requests', isDescending: true, offset: 0, limit: 100, hasTotal: true } as const;
  const questions: readonly AnalyticsQuestion[] = [
    { kind: 'graph', graph: 'cost', groupBy: 'model', range, ...about },
    { kind: 'graph', graph: 'latency', groupBy: null, range, ...about },
    { kind: 'graph', graph: 'feedbacks/scores', groupBy: null, range, ...about },
    { kind: 'groups', by: { column: 'status_code' }, figures: ['cost', 'p95_latency'], ...page, ...about },
    { kind: 'groups', by: { metadata: 'team' }, figures: ['cost'], ...page, ...about },
    { kind: 'usage', longInputs: [], ...about },
    { kind: 'cache', sight, filters: { ...about.filters, traces: ['trace-1', 'trace-2'] } },
  ];
  /** Those that copies answer: the others are about scores, prices or traces. */
  const byCopies = [0, 1, 3, 4];

  forEachStore(({ dialect, options }) => {
    if (dialect === 'sqlite') return;
    let ledger: PostgresLedger;
    let analytics: PostgresAnalytics;
    const query = (text: string) =>
      ledger.statements.apart(async (client) => (await client.query(text)).rows);
    const copy = () =>
      new PostgresCopies((work) => ledger.statements.apart(work)).copy(start + 30 * dayMs, 60_000);
    const answers = () => Promise.all(questions.map((question) => analytics.ask(question)));

    beforeEach(async () => {
      const { databaseUrl } = await options(folder());
      ledger = await openPostgresLedger({ url: databaseUrl!, node: 'n' });
      await ledger.apply(batchOf(rows));
      analytics = new PostgresAnalytics(ledger.statements);
    });
    afterEach(() => ledger.close());

    it('are read in place of the requests, until those of their day change', async () => {
      const wanted = await answers();
      expect(await copy()).to.equal(days);
      expect(await copy()).to.equal(0);
      expect(await answers()).to.deep.equal(wanted);
      await query('UPDATE copied_requests SET cost = cost * 2');
      for (const [i, answer] of (await answers()).entries())
        if (byCopies.includes(i)) expect(answer, questions[i]!.kind).to.not.deep.equal(wanted[i]);
        else expect(answer, questions[i]!.kind).to.deep.equal(wanted[i]);
      // A request that comes late, on each day but one.
      const late = Array.from(
        { length: days - 1 },
        (_, i): LedgerRow => ({ ...rows[0]!, id: `late-${i}`, at: start + i * dayMs }),
      );
      await ledger.apply(batchOf(late));
      await query(`DELETE FROM copied_requests WHERE at >= ${start + (days - 1) * dayMs}`);
      expect((await answers())[0]).to.not.deep.equal(wanted[0]);
      expect(await copy()).to.equal(days - 1);
      await query('DELETE FROM copied_days');
      const withLate = await answers();
      expect(await copy()).to.equal(days);
      expect(await answers()).to.deep.equal(withLate);
    });

    it('count pages of logs, and are deleted with expired requests', async () => {
      const sights = [sight, { ...sight, workspaces: null, except: ['w-2'] }, { ...sight, keys: ['k-1'] }];
      const totals = async () => {
        const found: unknown[] = [];
        for (const one of sights)
          for (const filters of [allLogs, { ...allLogs, metadata: { team: 'v1' } }, about.filters]) {
            const wanted = { order: newestFirst, offset: 0, limit: 1, isCounted: true };
            found.push((await ledger.page({ sight: one, filters, ...wanted })).total);
          }
        return found;
      };
      const counted: unknown[] = [];
      const copiesCount = () => {
        ledger.reading.counter = async (query) => {
          const count = await analytics.count(query);
          counted.push(count);
          return count;
        };
        return totals();
      };
      const requestsCount = () => {
        ledger.reading.counter = async () => null;
        return totals();
      };
      expect(await copiesCount()).to.deep.equal(await requestsCount());
      expect(new Set(counted.splice(0))).to.deep.equal(new Set([null]));
      await copy();
      const before = await requestsCount();
      expect(await copiesCount()).to.deep.equal(before);
      expect(counted).to.deep.equal(before);
      const workspaces = [{ org, workspace: 'w-1', rowsBefore: start + 3.5 * dayMs, bodiesBefore: null }];
      await ledger.expire({ rowsBefore: start + 2 * dayMs, bodiesBefore: null, workspaces });
      const left = await requestsCount();
      expect(left).to.not.deep.equal(before);
      expect(await copiesCount()).to.deep.equal(left);
      const [{ of_all: ofAll }] = await query(`SELECT count(*)::int AS of_all FROM copied_requests`);
      const [{ of_rows: ofRows }] = await query(`SELECT count(*)::int AS of_rows FROM exchanges`);
      expect(ofAll).to.equal(ofRows);
      const copied = await query('SELECT day FROM copied_days ORDER BY day');
      expect(copied.map(({ day }) => day - start / dayMs)).to.deep.equal([2, 3, 4, 5]);
    });

    it('go with requests that are deleted while their day is copied', async () => {
      await copy();
      await query('DELETE FROM copied_requests');
      const before = start + 3.5 * dayMs;
      const expire = (rowsBefore: number) =>
        ledger.expire({
          rowsBefore: null,
          bodiesBefore: null,
          workspaces: [{ org, workspace: 'w-1', rowsBefore, bodiesBefore: null }],
        });
      const left = async () => {
        const [row] = await query(
          `SELECT count(*)::int AS found FROM copied_requests WHERE workspace = 'w-1' AND at < ${before}`,
        );
        return row.found;
      };
      await ledger.statements.apart(async (client) => {
        const [begin, ...others] = copyDay(start / dayMs + 3, PostgresAnalytics.sourceOf);
        await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ; ${begin}`);
        expect(await expire(before)).to.be.greaterThan(0);
        for (const statement of others) await client.query(statement);
        await client.query('COMMIT');
      });
      expect(await left()).to.be.greaterThan(0);
      await expire(before + 60_000);
      expect(await left()).to.equal(0);
    });
  });
});
