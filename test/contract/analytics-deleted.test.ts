import { expect } from 'chai';
import { allLogs, type LogFilters } from '../../src/common/ledger/log-filters.js';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { dayMs } from '../../src/control-plane/analytics/buckets.js';
import type { AnalyticsQuestion } from '../../src/control-plane/analytics/question.js';
import { rebuildAnalytics } from '../../src/control-plane/analytics/rollups/postgres-rebuild.js';
import type { PostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { org, randomRows } from '../support/analytics-rows.js';
import { type AskedLedger, batchOf, openAskedLedger } from '../support/asked-ledgers.js';
import { folder, forEachStore } from '../support/stores.js';

/** Retention deletes requests; what graphs and groups of whole days show of them stays. */
describe('figures of deleted requests', () => {
  const start = Date.parse('2026-09-01T00:00:00Z');
  const after = start + 40 * dayMs;
  const days = 3;
  const rows = randomRows(17, 120, start, days * dayMs - 1).map(
    (row): LedgerRow => ({ ...row, org, workspace: row.workspace ?? 'w-1', state: 'settled' }),
  );
  const range = { min: start - dayMs, max: start + 20 * dayMs - 1 };
  const about = (filters: Partial<LogFilters> = {}) => ({
    sight: { org, workspaces: null, except: [], keys: null },
    filters: { ...allLogs, ...filters, at: range },
  });
  const page = { orderBy: 'requests', isDescending: true, offset: 0, limit: 100, hasTotal: true } as const;
  const questions: readonly AnalyticsQuestion[] = [
    { kind: 'graph', graph: 'cost', groupBy: 'model', range, ...about() },
    { kind: 'graph', graph: 'users', groupBy: null, range, ...about() },
    { kind: 'graph', graph: 'latency', groupBy: null, range, ...about() },
    { kind: 'graph', graph: 'requests/rescued', groupBy: null, range, ...about() },
    { kind: 'graph', graph: 'requests', groupBy: null, range, ...about({ models: ['model-1'] }) },
    { kind: 'groups', by: { user: true }, figures: ['cost'], ...page, ...about() },
    { kind: 'groups', by: { metadata: 'team' }, figures: ['cost'], ...page, ...about() },
    { kind: 'groups', by: { metadata: 'new name' }, figures: ['cost'], ...page, ...about() },
  ];
  const inDay = (day: number, workspace: string): readonly LedgerRow[] =>
    rows.filter((row) => Math.floor((row.at - start) / dayMs) === day && row.workspace === workspace);

  forEachStore(({ dialect, options }) => {
    let asked: AskedLedger;
    const rollUp = () => asked.rollUp(after);
    const answers = async (of = asked): Promise<unknown[]> => {
      const found: unknown[] = [];
      for (const question of questions) found.push(await of.analytics.ask(question));
      return found;
    };
    const open = async (): Promise<AskedLedger> => {
      const dataDir = folder();
      return openAskedLedger(dataDir, dialect === 'sqlite' ? null : (await options(dataDir)).databaseUrl!);
    };
    /** What a ledger of which nothing is deleted shows. */
    const whole = async (given: readonly LedgerRow[]): Promise<unknown[]> => {
      const other = await open();
      await other.ledger.apply(batchOf(given));
      await other.rollUp(after);
      const found = await answers(other);
      await other.close();
      return found;
    };
    const expire = async (workspace: string, before: number): Promise<void> => {
      await rollUp();
      const own = { org, workspace, rowsBefore: before, bodiesBefore: null };
      await asked.ledger.expire({ rowsBefore: null, bodiesBefore: null, workspaces: [own] });
    };

    beforeEach(async () => {
      asked = await open();
      await asked.ledger.apply(batchOf(rows));
    });
    afterEach(() => asked.close());

    it('stay when as many requests or more arrive late, which are added to them', async () => {
      const noon = start + 1.5 * dayMs;
      const expected = await whole(rows);
      await expire('w-2', noon);
      expect(await answers()).to.deep.equal(expected);
      const late = [...inDay(1, 'w-2'), ...inDay(0, 'w-2')].map(
        (row, i): LedgerRow => ({
          ...{ ...row, id: `late-${i}`, trace: `late-${i}`, user: `user-${i % 7}`, cost: 1e12 + i },
          metadata: { ...row.metadata, 'new name': `v${i % 3}`, _user: `user-${i % 7}` },
        }),
      );
      const all = [...rows];
      for (const part of [late.slice(0, 3), late.slice(3)]) {
        await asked.ledger.apply(batchOf(part));
        all.push(...part);
        await rollUp();
        expect(await answers()).to.deep.equal(await whole(all));
      }
      await expire('w-2', noon + 1000);
      await rollUp();
      expect(await answers()).to.deep.equal(await whole(all));
      if (dialect === 'sqlite') return;
      await rebuildAnalytics(
        (work) => (asked.ledger as PostgresLedger).statements.apart(work),
        after,
        () => {},
      );
      expect(await answers()).to.deep.equal(await whole(all));
    });
  });
});
