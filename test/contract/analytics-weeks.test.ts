import { expect } from 'chai';
import { allLogs } from '../../src/common/ledger/log-filters.js';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { dayMs } from '../../src/control-plane/analytics/buckets.js';
import { PostgresAnalytics } from '../../src/control-plane/analytics/postgres.js';
import type { AnalyticsQuestion } from '../../src/control-plane/analytics/question.js';
import { PostgresRollups } from '../../src/control-plane/analytics/rollups/postgres-rollups.js';
import { openPostgresLedger, type PostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { org, randomRows } from '../support/analytics-rows.js';
import { batchOf } from '../support/asked-ledgers.js';
import { folder, forEachStore } from '../support/stores.js';

/** What groups over months are made of, with a ledger in PostgreSQL. */
describe('rollups of weeks', () => {
  const start = Date.parse('2026-09-01T07:00:00Z');
  const rows = randomRows(7, 600, start, 30 * dayMs).map(
    (row): LedgerRow => ({ ...row, org, workspace: 'w-1', state: 'settled' }),
  );
  const sight = { org, workspaces: ['w-1'], except: [], keys: null };
  const range = { min: start + dayMs / 3, max: start + 30 * dayMs };
  const about = { sight, filters: { ...allLogs, at: range } };
  const page = { orderBy: 'requests', isDescending: true, offset: 0, limit: 100, hasTotal: true } as const;
  const questions: readonly AnalyticsQuestion[] = [
    { kind: 'graph', graph: 'users', groupBy: null, range, ...about },
    { kind: 'graph', graph: 'users/requests', groupBy: null, range, ...about },
    { kind: 'groups', by: { user: true }, figures: ['cost', 'last_seen'], ...page, ...about },
    { kind: 'groups', by: { column: 'api_key' }, figures: ['cost', 'p95_latency'], ...page, ...about },
    { kind: 'groups', by: { column: 'workspace' }, figures: ['p99_latency'], ...page, ...about },
  ];

  forEachStore(({ dialect, options }) => {
    if (dialect === 'sqlite') return;
    let ledger: PostgresLedger;
    const query = (text: string) =>
      ledger.statements.apart(async (client) => (await client.query(text)).rows);
    const rollUp = async () => {
      const rollups = new PostgresRollups((work) => ledger.statements.apart(work));
      await rollups.rollUp(start + 60 * dayMs);
      return rollups.rollUpWeeks();
    };
    const answers = () => {
      const analytics = new PostgresAnalytics(ledger.statements);
      return Promise.all(questions.map((question) => analytics.ask(question)));
    };
    /** By days alone. */
    async function answersByDays() {
      await query('CREATE TABLE kept AS SELECT * FROM rolled_weeks; DELETE FROM rolled_weeks');
      const found = await answers();
      await query('INSERT INTO rolled_weeks SELECT * FROM kept; DROP TABLE kept');
      return found;
    }

    beforeEach(async () => {
      const { databaseUrl } = await options(folder());
      ledger = await openPostgresLedger({ url: databaseUrl!, node: 'n' });
      await ledger.apply(batchOf(rows));
      await rollUp();
    });
    afterEach(() => ledger.close());

    it('give the same answers as those of days', async () => {
      expect(await query('SELECT * FROM rolled_weeks')).to.have.length.greaterThan(2);
      expect(await answers()).to.deep.equal(await answersByDays());
    });

    it('are read in place of those of days, until one of their days changes', async () => {
      const byDays = await answers();
      await query(`UPDATE week_users SET of_users = of_users + 1000, requests = requests + 1000;
        UPDATE week_durations SET bin = bin + 40; UPDATE week_days SET users = users + 1000`);
      for (const [i, answer] of (await answers()).entries())
        expect(answer, questions[i]!.kind).to.not.deep.equal(byDays[i]);
      // A request that comes late, on a day of each week.
      const late = Array.from({ length: 30 }, (_, i): LedgerRow => {
        const at = start + i * dayMs;
        return { ...rows[0]!, id: `late-${i}`, at };
      });
      await ledger.apply(batchOf(late));
      expect(await answers()).to.deep.equal(await answersByDays());
      expect(await rollUp()).to.equal((await query('SELECT * FROM rolled_weeks')).length);
      expect(await rollUp()).to.equal(0);
      expect(await answers()).to.deep.equal(await answersByDays());
    });
  });
});
