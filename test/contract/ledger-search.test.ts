import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { allLogs, type LogFilters } from '../../src/common/ledger/log-filters.js';
import type { TraceFeedback } from '../../src/common/ledger/logs/feedback.js';
import { type LogQuery, logOrders, newestFirst } from '../../src/common/ledger/logs/log-query.js';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import type { BudgetLedger } from '../../src/control-plane/ledger/ledger.js';
import { openPostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import { settlementOf } from '../fault/journal-records.js';
import { eventually } from '../support/gateway.js';
import { isLong } from '../support/long-forms.js';
import { pageOfRows } from '../support/rows-in-sight.js';
import { seeded } from '../support/seeded.js';
import { forEachStore, server } from '../support/stores.js';

const node = '0190a1b2-0000-7000-8000-0000000000a1';
const orgs = ['org-a', 'org-b'];
const rowCount = isLong ? 20_000 : 600;
const filterCount = isLong ? 500 : 120;

/** The same choices in each run. */
class Dice {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = seeded(seed);
  }

  below(limit: number): number {
    return Math.floor(this.#next() * limit);
  }

  of<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }

  maybe<T>(value: T, chance = 0.5): T | null {
    return this.#next() < chance ? value : null;
  }
}

const start = Date.UTC(2026, 9, 1);
const models = ['gpt-4o', 'gpt-4o-mini', 'claude'];
const teams = ['a', 'b', "c'd", 'é"\\'];
const metadataNames = ['team', 'the team', '$.team', 'a"b', '[0]', 'x.y'];

function randomRow(dice: Dice, i: number): LedgerRow {
  const id = `row-${String(i).padStart(6, '0')}`;
  return {
    ...settlementOf(id),
    state: 'settled',
    node,
    at: start + dice.below(3 * 86_400_000),
    org: dice.of(orgs),
    workspace: dice.maybe(dice.of(['w1', 'w2', 'w3']), 0.95),
    key: dice.maybe(dice.of(['k1', 'k2', 'k3']), 0.95),
    provider: dice.of(['openai', 'anthropic']),
    slug: dice.maybe(dice.of(['main', 'spare'])),
    modelUsed: dice.maybe(dice.of(models), 0.8),
    modelAsked: dice.of(models),
    config: dice.maybe(dice.of(['pc-a', 'pc-b'])),
    prompt: dice.maybe('pp-a', 0.1),
    status: dice.of([200, 200, 200, 429, 500]),
    cost: dice.maybe(dice.below(50) * 1_000_000, 0.9),
    usage: { ...settlementOf(id).usage, input: dice.below(100), output: dice.below(100) },
    totalMs: dice.below(1000),
    trace: dice.maybe(`trace-${dice.below(rowCount / 4)}`) ?? id,
    span: dice.maybe(`span-${dice.below(20)}`),
    cache: dice.of(['DISABLED', 'HIT', 'MISS', 'SEMANTIC HIT']),
    metadata: Object.fromEntries(
      metadataNames.filter(() => dice.below(2) === 0).map((name) => [name, dice.of(teams)]),
    ),
  };
}

/** One to three filters, so that most leave something. */
function randomFilters(dice: Dice, rows: readonly LedgerRow[]): LogFilters {
  const row = dice.of(rows);
  const low = dice.below(100);
  const choices: Partial<LogFilters>[] = [
    { at: { min: row.at, max: row.at + dice.below(86_400_000) } },
    { totalTokens: { min: low, max: low + 60 } },
    { inputTokens: { max: low } },
    { outputTokens: { min: low } },
    { cost: { min: dice.below(50) * 1_000_000 } },
    { cost: { max: dice.below(50) * 1_000_000 } },
    { weightedFeedback: { min: dice.below(20) - 10 } },
    { weightedFeedback: { min: -10, max: dice.below(20) - 10 } },
    { statuses: [429, 500] },
    { models: [dice.of(models), 'none'] },
    { providerModels: [{ provider: 'openai', model: dice.of(models) }] },
    { providerSlugs: ['main'] },
    { configs: ['pc-a', "x' OR 1=1 --"] },
    { prompts: ['pp-a'] },
    { keys: ['k1', 'k3'] },
    { traces: [row.trace, dice.of(rows).trace] },
    { spans: [`span-${dice.below(20)}`] },
    { cacheStatuses: ['HIT', 'SEMANTIC HIT'] },
    { metadata: { [dice.of(metadataNames)]: dice.of(teams) } },
  ];
  const chosen = Array.from({ length: 1 + dice.below(3) }, () => dice.of(choices));
  return Object.assign({}, allLogs, ...chosen);
}

function randomQuery(dice: Dice, rows: readonly LedgerRow[]): LogQuery {
  return {
    sight: {
      org: dice.of(orgs),
      workspaces: dice.maybe(dice.of([['w1'], ['w1', 'w2']]), 0.4),
      except: dice.maybe(['w3'], 0.2) ?? [],
      keys: dice.maybe(['k1', 'k2'], 0.2),
    },
    filters: randomFilters(dice, rows),
    order: { by: dice.of(logOrders), isAscending: dice.below(2) === 0 },
    offset: dice.below(2) * dice.below(10),
    limit: 1 + dice.below(30),
    isCounted: true,
  };
}

function randomFeedback(dice: Dice, rows: readonly LedgerRow[], i: number): TraceFeedback {
  const row = dice.of(rows.filter(({ workspace }) => workspace !== null));
  return {
    id: `feedback-${i}`,
    org: row.org,
    workspace: row.workspace!,
    trace: row.trace,
    key: 'k1',
    guardrail: null,
    value: dice.below(21) - 10,
    weight: dice.of([0, 0.1, 0.25, 1]),
    metadata: {},
    createdAt: start,
    updatedAt: start,
    rowId: null,
    rowAt: null,
  };
}

/** By plain computation: the average at the first request of each trace in its workspace. */
function averages(rows: readonly LedgerRow[], feedbacks: readonly TraceFeedback[]): Map<string, number> {
  const sums = new Map<string, { value: number; weight: number }>();
  for (const { org, workspace, trace, value, weight } of feedbacks) {
    const [first] = rows
      .filter((row) => row.org === org && row.workspace === workspace && row.trace === trace)
      .sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
    const sum = sums.get(first!.id) ?? { value: 0, weight: 0 };
    sum.value += value * Math.round(weight * 100);
    sum.weight += Math.round(weight * 100);
    sums.set(first!.id, sum);
  }
  return new Map([...sums].flatMap(([id, { value, weight }]) => (weight > 0 ? [[id, value / weight]] : [])));
}

const nothing = { settled: null, unknown: [], positions: new Map(), opened: [], closed: [] };

describe('a search of the ledger', function () {
  this.timeout(isLong ? 600_000 : 20_000);

  forEachStore(({ dialect, options }) => {
    let dataDir: string;
    let ledger: BudgetLedger;
    before(async () => {
      dataDir = mkdtempSync(join(tmpdir(), 'ledger-search-'));
      if (dialect === 'sqlite') ledger = await openLedger({ dataDir });
      else ledger = await openPostgresLedger({ url: (await options(dataDir)).databaseUrl!, node });
    });
    after(async () => {
      await ledger.close();
      rmSync(dataDir, { recursive: true, force: true });
    });

    it('finds what a plain computation finds, for any filters, order and page', async () => {
      const dice = new Dice(7);
      const rows = Array.from({ length: rowCount }, (_, i) => randomRow(dice, i));
      const feedbacks = Array.from({ length: rowCount / 6 }, (_, i) => randomFeedback(dice, rows, i));
      const half = rows.length / 2;
      // Some feedback is there before its requests, or before the earlier ones of its trace.
      await ledger.apply({ ...nothing, settled: { packed: null, rows: rows.slice(0, half) } });
      await ledger.feedbacks.add(feedbacks);
      await ledger.apply({ ...nothing, settled: { packed: null, rows: rows.slice(half) } });
      const average = averages(rows, feedbacks);
      let found = 0;
      for (let i = 0; i < filterCount; i++) {
        const query = randomQuery(dice, rows);
        const expected = pageOfRows(rows, query, ({ id }) => average.get(id) ?? null);
        const page = await ledger.page(query);
        const shown = JSON.stringify(query);
        expect(
          page.rows.map(({ id }) => id),
          shown,
        ).to.deep.equal(expected.rows.map(({ id }) => id));
        expect(page.total, shown).to.equal(expected.total);
        if ((expected.total ?? 0) > 0) found++;
      }
      expect(found).to.be.above(filterCount / 4);
    });

    it('follows with filters: what came in after a cursor, each once', async () => {
      const sight = { org: 'org-c', workspaces: null, except: [], keys: null };
      const filters = { ...allLogs, metadata: { team: 'x' } };
      const row = (id: string, team: string): LedgerRow => ({
        ...randomRow(new Dice(1), 0),
        id,
        org: 'org-c',
        metadata: { team },
      });
      const put = (rows: LedgerRow[]) => ledger.apply({ ...nothing, settled: { packed: null, rows } });
      await put([row('f-1', 'x')]);
      const { cursor } = await ledger.page({
        sight,
        filters,
        order: newestFirst,
        offset: 0,
        limit: 1,
        isCounted: false,
      });
      await put([row('f-2', 'x'), row('f-3', 'y'), row('f-4', 'x')]);
      // Another transaction on the same server may keep them back for a while.
      const first = await eventually('the first', async () => {
        const page = await ledger.follow({ sight, filters, after: cursor, limit: 1 });
        return page.rows.length > 0 && page;
      });
      expect(first.rows.map(({ id }) => id)).to.deep.equal(['f-2']);
      const second = await ledger.follow({ sight, filters, after: first.cursor, limit: 9 });
      expect(second.rows.map(({ id }) => id)).to.deep.equal(['f-4']);
    });

    it('follows in steps of so many rows that are looked at, and comes forward where none of them matches', async () => {
      const of = (i: number): LedgerRow => ({
        ...randomRow(new Dice(i), i),
        ...{
          id: `s-${i}`,
          org: 'org-s',
          workspace: 'w1',
          key: 'k1',
          modelUsed: i % 40 === 7 ? 'rare' : 'usual',
        },
      });
      // Of others too, which are between them.
      for (let i = 0; i < 200; i += 20)
        await ledger.addRows([
          ...Array.from({ length: 20 }, (_, n) => of(i + n)),
          ...Array.from({ length: 5 }, (_, n) => ({ ...of(i + n), id: `t-${i + n}`, org: 'org-t' })),
        ]);
      const sight = { org: 'org-s', workspaces: null, except: [], keys: null };
      const filters = { ...allLogs, models: ['rare'] };
      for (const [limit, scan] of [
        [1, 3],
        [2, 50],
        [10, 1000],
      ] as const) {
        const ids: string[] = [];
        let after = '0';
        let pages = 0;
        for (;;) {
          const page = await ledger.follow({ sight, filters, after, limit, scan, isOnce: true });
          ids.push(...page.rows.map(({ id }) => id));
          pages++;
          if (page.rows.length < limit && page.isCut !== true) break;
          after = page.cursor;
        }
        expect(ids, `limit ${limit}, scan ${scan}`).to.deep.equal(['s-7', 's-47', 's-87', 's-127', 's-167']);
        if (scan === 3) expect(pages).to.be.greaterThan(30);
      }
    });

    it('gives a reader who does not come back all rows that are there, whatever transactions are under way', async () => {
      const client = new pg.Client({ connectionString: server });
      await client.connect();
      try {
        // A number of its own, as one that has written something.
        await client.query('BEGIN; SELECT pg_current_xact_id();');
        await ledger.addRows([{ ...randomRow(new Dice(1), 0), id: 'o-1', org: 'org-o' }]);
        const sight = { org: 'org-o', workspaces: null, except: [], keys: null };
        const whole = { sight, filters: allLogs, after: '0', limit: 9, isOnce: true } as const;
        for (const scan of [{}, { scan: 5000 }]) {
          const { rows } = await ledger.follow({ ...whole, ...scan });
          expect(rows.map(({ id }) => id)).to.deep.equal(['o-1']);
        }
      } finally {
        await client.end();
      }
    });

    it('has the feedback of guardrails at the first request of the trace, once', async () => {
      const org = 'org-d';
      const row = (id: string, at: number, feedback: string | null): LedgerRow => ({
        ...randomRow(new Dice(1), 0),
        id,
        at: start + at,
        org,
        workspace: 'w1',
        trace: 'guarded',
        stages: feedback === null ? null : { guardrails: { verdict: true, feedback } },
      });
      const rows = [row('g-1', 5, null), row('g-2', 9, 'pg-a 5 * 1; pg-b -4 * 0.5')];
      await ledger.apply({ ...nothing, settled: { packed: null, rows } });
      await ledger.apply({ ...nothing, settled: { packed: null, rows } });
      await ledger.apply({ ...nothing, settled: { packed: null, rows: [row('g-0', 1, null)] } });
      const given = await ledger.feedbacks.ofTrace(org, 'w1', 'guarded');
      expect(
        given.map(({ guardrail, value, weight, rowId }) => [guardrail, value, weight, rowId]),
      ).to.deep.equal([
        ['pg-a', 5, 1, 'g-0'],
        ['pg-b', -4, 0.5, 'g-0'],
      ]);
      expect(await ledger.feedbacks.ofTrace(org, 'w2', 'guarded')).to.deep.equal([]);
    });

    it('takes rows of other programs in once, and leaves those that are there as they are', async () => {
      const row = { ...randomRow(new Dice(1), 0), id: 'i-1', org: 'org-e' };
      expect(await ledger.addRows([row, { ...row, id: 'i-2' }, { ...row, status: 1 }])).to.equal(2);
      expect(
        await ledger.addRows([
          { ...row, status: 503 },
          { ...row, id: 'i-3' },
        ]),
      ).to.equal(1);
      expect((await ledger.get('org-e', 'i-1'))?.status).to.equal(row.status);
      await ledger.addBodies([
        {
          id: 'i-1',
          at: row.at,
          org: 'org-e',
          workspace: row.workspace,
          request: 'é',
          response: null,
          cut: false,
          headers: { request: { accept: 'é/*' } },
        },
      ]);
      const bodies = await ledger.bodies('org-e', 'i-1');
      if (dialect === 'sqlite') return;
      expect(bodies).to.deep.include({ request: 'é', headers: { request: { accept: 'é/*' } } });
    });
  });
});
