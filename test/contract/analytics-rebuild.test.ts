// lane: slow
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import pg from 'pg';
import type { Secret } from '../../src/common/access/secret.js';
import { allLogs } from '../../src/common/ledger/log-filters.js';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { dayMs } from '../../src/control-plane/analytics/buckets.js';
import { PostgresAnalytics } from '../../src/control-plane/analytics/postgres.js';
import type { AnalyticsQuestion } from '../../src/control-plane/analytics/question.js';
import { PostgresCopies } from '../../src/control-plane/analytics/rollups/postgres-copies.js';
import { PostgresCounts } from '../../src/control-plane/analytics/rollups/postgres-counts.js';
import {
  RebuildIsRunning,
  rebuildAnalytics,
} from '../../src/control-plane/analytics/rollups/postgres-rebuild.js';
import { PostgresRollups } from '../../src/control-plane/analytics/rollups/postgres-rollups.js';
import { openPostgresLedger, type PostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { org, randomRows } from '../support/analytics-rows.js';
import { batchOf } from '../support/asked-ledgers.js';
import { headgateHere } from '../support/cli-bench.js';
import { eventually } from '../support/gateway.js';
import { loadedFile, loading } from '../support/loading.js';
import { folder, forEachStore } from '../support/stores.js';
import { scaled } from '../support/time-limits.js';

describe('a rebuild of analytics of a ledger in PostgreSQL', function () {
  this.timeout(scaled(120_000));
  const start = Date.parse('2026-09-01T00:00:00Z');
  const days = 12;
  const after = start + 40 * dayMs;
  const rows = randomRows(31, 240, start, days * dayMs).map(
    (row): LedgerRow => ({ ...row, org, workspace: row.workspace ?? 'w-1', state: 'settled' }),
  );
  const sight = { org, workspaces: null, except: [], keys: null };
  const range = { min: start, max: start + 30 * dayMs };
  const about = { sight, filters: { ...allLogs, at: range } };
  const page = { orderBy: 'requests', isDescending: true, offset: 0, limit: 100, hasTotal: true } as const;
  const questions: readonly AnalyticsQuestion[] = [
    { kind: 'graph', graph: 'cost', groupBy: 'model', range, ...about },
    { kind: 'graph', graph: 'users', groupBy: null, range, ...about },
    { kind: 'graph', graph: 'latency', groupBy: null, range, ...about },
    { kind: 'groups', by: { user: true }, figures: ['cost'], ...page, ...about },
    { kind: 'groups', by: { metadata: 'team' }, figures: ['cost'], ...page, ...about },
    { kind: 'cache', sight, filters: { ...about.filters, cost: { min: 1e12 } } },
  ];

  forEachStore(({ dialect, options }) => {
    if (dialect === 'sqlite') return;
    let url: Secret;
    let ledger: PostgresLedger;
    let analytics: PostgresAnalytics;
    const query = (text: string) =>
      ledger.statements.apart(async (client) => (await client.query(text)).rows);
    const rebuild = () =>
      rebuildAnalytics(
        (work) => ledger.statements.apart(work),
        after,
        () => {},
      );
    const answers = async () => [
      ...(await Promise.all(questions.map((question) => analytics.ask(question)))),
      await analytics.count(about),
    ];

    beforeEach(async () => {
      url = (await options(folder())).databaseUrl!;
      ledger = await openPostgresLedger({ url, node: 'n' });
      await ledger.apply(batchOf(rows));
      await new PostgresRollups((work) => ledger.statements.apart(work)).rollUp(after);
      await new PostgresRollups((work) => ledger.statements.apart(work)).rollUpWeeks();
      await new PostgresCopies((work) => ledger.statements.apart(work)).copy(after, 600_000);
      await new PostgresCounts((work) => ledger.statements.apart(work)).count(after, 600_000);
      analytics = new PostgresAnalytics(ledger.statements);
    });
    afterEach(() => ledger.close());

    it('corrects what is wrong, and keeps what only rollups still have', async () => {
      const whole = await answers();
      await query(`UPDATE day_sums SET cost = cost * 2, requests = requests + 5; DELETE FROM day_users WHERE "key" = 'user-1';
        DELETE FROM day_durations; UPDATE day_values SET requests = 1; UPDATE copied_requests SET cost = 2 * cost + 1e12;
        UPDATE day_counts SET requests = requests + 1000`);
      const wrong = await answers();
      for (const [i, answer] of wrong.entries()) expect(answer, String(i)).to.not.deep.equal(whole[i]);
      expect(await rebuild()).to.equal(days);
      expect(await answers()).to.deep.equal(whole);
      const expired = { org, workspace: 'w-2', rowsBefore: start + 4.5 * dayMs, bodiesBefore: null };
      const left = await ledger.expire({
        ...{ rowsBefore: start + 2 * dayMs, bodiesBefore: null, workspaces: [expired] },
      });
      expect(left).to.be.greaterThan(0);
      expect(await rebuild()).to.equal(days - 2);
      expect((await answers()).slice(0, 5)).to.deep.equal(whole.slice(0, 5));
    });

    it('keeps cells of deleted requests, and adds an even earlier one of their day that has arrived since', async () => {
      const requests: AnalyticsQuestion = {
        kind: 'graph',
        graph: 'requests',
        groupBy: null,
        range,
        ...about,
      };
      const total = async () => (await analytics.ask(requests)).summary['total'];
      expect(await total()).to.equal(rows.length);
      const own = { org, workspace: 'w-2', rowsBefore: start + 5 * dayMs, bodiesBefore: null };
      await ledger.expire({ rowsBefore: start + 2 * dayMs, bodiesBefore: null, workspaces: [own] });
      const late = [0, 1, 4].map((day): LedgerRow => {
        const workspace = day === 4 ? 'w-2' : 'w-1';
        return { ...rows[0]!, workspace, id: `late-${day}`, at: start + day * dayMs };
      });
      await ledger.apply(batchOf(late));
      await rebuild();
      expect(await total()).to.equal(rows.length + late.length);
      await rebuild();
      expect(await total()).to.equal(rows.length + late.length);
    });

    it('may be killed at any time, lets questions be answered, and runs once at a time', async () => {
      const whole = await answers();
      for (const killedAt of [0, 2, 7]) {
        const child = fork(loadedFile('test/support/rebuild-process.ts'), [url.reveal(), String(after)], {
          execArgv: [...loading],
        });
        child.on('message', ({ done }: { done: number }) => {
          if (done === killedAt) child.kill('SIGKILL');
        });
        const ended = once(child, 'exit');
        const first = await Promise.race([once(child, 'message'), ended]);
        expect(first[0]).to.deep.equal({ done: 0, total: days });
        if (killedAt > 1) {
          const other = await rebuild().catch((error: unknown) => error);
          expect(other).to.be.instanceOf(RebuildIsRunning);
          expect(await answers()).to.deep.equal(whole);
        }
        expect(await ended).to.deep.equal([null, 'SIGKILL']);
        expect(await answers()).to.deep.equal(whole);
      }
      await eventually('the server has noticed that the process is gone', () =>
        rebuild().then(
          () => true,
          () => false,
        ),
      );
      expect(await answers()).to.deep.equal(whole);
    });

    it('is run by a command, one at a time', async () => {
      const dataDir = folder();
      const run = () =>
        headgateHere(['analytics', 'rebuild'], {
          ...{ HEADGATE_DATA_DIR: dataDir, LEDGER_DATABASE_URL: url.reveal() },
        });
      await query('UPDATE day_counts SET requests = requests + 1000');
      const wrong = await analytics.count(about);
      const done = await run();
      expect(done).to.deep.include({
        code: 0,
        stdout: `Rebuilt the analytics of ${days} days from the ledger.\n`,
      });
      expect(await analytics.count(about)).to.be.lessThan(wrong!);
      const other = new pg.Client({ connectionString: url.reveal() });
      await other.connect();
      await other.query("SELECT pg_advisory_lock(hashtext('headgate rebuild'), hashtext(current_schema()))");
      const refused = await run();
      await other.end();
      expect(refused.code).to.equal(1);
      expect(refused.stderr).to.contain('Another process is already rebuilding analytics of this ledger');
    });

    it('runs beside the schedule of a gateway, and requests that arrive', async () => {
      const late = Array.from(
        { length: days },
        (_, i): LedgerRow => ({ ...rows[0]!, id: `late-${i}`, at: start + i * dayMs }),
      );
      const schedule = async (): Promise<void> => {
        for (const row of late) {
          await ledger.apply(batchOf([row]));
          const work: ConstructorParameters<typeof PostgresRollups>[0] = (of) => ledger.statements.apart(of);
          await new PostgresRollups(work).rollUp(after);
          await new PostgresCounts(work).count(after, 1000);
          await new PostgresCopies(work).copy(after, 1000);
        }
      };
      const [rebuilt] = await Promise.all([rebuild(), schedule()]);
      expect(rebuilt).to.equal(days);
      expect(await analytics.count(about)).to.equal(rows.length + days);
      const found = await answers();
      await query(`TRUNCATE rolled_days, copied_days, counted_days, rolled_weeks, day_sums, day_users, day_durations, day_values,
        day_names, day_counts, copied_requests`);
      await rebuild();
      expect(found).to.deep.equal(await answers());
    });
  });
});
