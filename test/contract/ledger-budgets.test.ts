import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { Secret } from '../../src/common/access/secret.js';
import { budgetName } from '../../src/common/core/budget-rules.js';
import type { Charge } from '../../src/common/core/charges.js';
import type { BudgetAlert } from '../../src/common/ledger/alerts.js';
import {
  type BudgetCounter,
  type BudgetUsageRow,
  type ChargedBudget,
  type CoursePoint,
  resetsNode,
} from '../../src/common/ledger/budgets.js';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { unknownRow } from '../../src/common/ledger/rows.js';
import { SqliteConnection } from '../../src/control-plane/database/sqlite.js';
import { startIngestion } from '../../src/control-plane/ingestion/ingest.js';
import { budgetTableNames } from '../../src/control-plane/ledger/budgets/tables.js';
import type { BudgetLedger, LedgerBatch } from '../../src/control-plane/ledger/ledger.js';
import { openPostgresLedger } from '../../src/control-plane/ledger/postgres/ledger.js';
import { openLedger } from '../../src/control-plane/ledger/sql.js';
import { openJournal } from '../../src/data-plane/journal/journal.js';
import { intentOf, org, settlementOf, workspace } from '../fault/journal-records.js';
import { FaultyProxy } from '../support/faulty-proxy.js';
import { eventually } from '../support/gateway.js';
import { seeded } from '../support/seeded.js';
import { forEachStore } from '../support/stores.js';
import { scaled } from '../support/time-limits.js';

const node = '0190a1b2-0000-7000-8000-0000000000a1';
const otherNode = '0190a1b2-0000-7000-8000-0000000000a2';
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A Monday. */
const monday = Date.UTC(2026, 10, 2);
const nextMonday = monday + 7 * dayMs;

const keyBudget = budgetName(org, 'api_key', 'k1', 'cost');
const uuid = (n: number): string => `0190a1b2-0000-7000-8000-${String(n).padStart(12, '0')}`;

const charge = (
  amount: number,
  {
    budget = keyBudget,
    startsAt = monday,
    endsAt = nextMonday as number | null,
    limit = 1000,
    threshold = 800 as number | null,
  } = {},
): Charge => [budget, startsAt, endsAt, limit, threshold, amount];

const settled = (
  id: string,
  charges: readonly Charge[] | null,
  change: Partial<LedgerRow> = {},
): LedgerRow => ({
  ...settlementOf(id, { at: monday + hourMs, charges }),
  state: 'settled',
  node,
  ...change,
});

const nothing: LedgerBatch = { settled: null, unknown: [], positions: new Map(), opened: [], closed: [] };

/** What the budgets of any ledger do. `open`: for a node. */
function contract(open: (dataDir: string, ofNode: string) => Promise<BudgetLedger>): void {
  let dataDir: string;
  let ledger: BudgetLedger;

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'ledger-budgets-'));
    ledger = await open(dataDir, node);
  });
  afterEach(async () => {
    await ledger.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const settle = (...rows: LedgerRow[]): Promise<readonly ChargedBudget[]> =>
    ledger.apply({ ...nothing, settled: { packed: null, rows } });
  const usage = async (budget = keyBudget, startsAt = monday): Promise<BudgetUsageRow | undefined> =>
    (await ledger.budgets.usage(org, [{ budget, startsAt }]))[0];
  const used = async (budget = keyBudget, startsAt = monday): Promise<number | undefined> =>
    (await usage(budget, startsAt))?.used;
  const course = async (counter: BudgetCounter): Promise<readonly CoursePoint[] | undefined> =>
    (await ledger.budgets.courses(org, [{ ...counter, since: counter.startsAt }]))[0]?.points;
  /** The addressees of all alerts are filled in. */
  const alerts = async (): Promise<BudgetAlert[]> => {
    for (const { id } of await ledger.alerts.unaddressed(1000)) {
      await ledger.alerts.address(id, { name: null, recipients: [] }, true);
    }
    const { alerts: listed } = await ledger.alerts.list(org, {}, { offset: 0, limit: 1000 });
    return listed.flatMap((alert) => (alert.event === 'anomaly' ? [] : [alert])).reverse();
  };
  const events = async (): Promise<unknown[]> =>
    (await alerts()).map(({ event, used: at, limit }) => [event, at, limit]);

  it('add up what the journals of workers have, by node', async () => {
    const dir = join(dataDir, 'journal');
    const problems: unknown[] = [];
    const onProblem = (error: Error): void => void problems.push(error.message);
    const tokens = budgetName(org, 'usage_limits_policy', 'p1', 'tokens', 'model:é"\\');
    for (const [ofNode, worker] of [
      [node, '0'],
      [otherNode, '1'],
    ] as const) {
      const journal = openJournal({ dir, worker, node: ofNode, maxBodyFileBytes: 4000, onProblem });
      for (let i = 0; i < 300; i++) {
        const id = uuid(i + 1000 * Number(worker));
        const charges = [charge(i), charge(2, { budget: tokens, endsAt: null, threshold: null })];
        journal.intend(intentOf(id, { at: monday, charges: [charge(5000)] }));
        // A field of a stage may have the same name.
        const stages = { mine: { charges: [[i]] } };
        journal.settle(settlementOf(id, { at: monday + i, charges: i % 3 === 0 ? null : charges, stages }));
      }
      await new Promise((turn) => setImmediate(turn));
      journal.close();
    }
    const ingestion = startIngestion({ dir, ledger, onProblem, intervalMs: 60_000 });
    await ingestion.flush();
    await ingestion.stop();
    expect(problems).to.deep.equal([]);
    const counters = [
      { budget: keyBudget, startsAt: monday },
      { budget: tokens, startsAt: monday },
      { budget: tokens, startsAt: nextMonday },
    ];
    const cost = (299 * 300) / 2 - 3 * ((99 * 100) / 2);
    expect(await ledger.budgets.sums(org, counters)).to.deep.equal([
      {
        ...counters[0],
        byNode: new Map([
          [node, cost],
          [otherNode, cost],
        ]),
      },
      {
        ...counters[1],
        byNode: new Map([
          [node, 400],
          [otherNode, 400],
        ]),
      },
    ]);
    const [ofKey, ofPolicy, ...others] = await ledger.budgets.usage(org, counters);
    expect(others).to.deep.equal([]);
    expect([ofKey, ofPolicy].sort((a, b) => b!.used - a!.used)).to.containSubset([
      { holder: 'api_key', holderId: 'k1', valueKey: null, measure: 'cost', used: 2 * cost, limit: 1000 },
      { holder: 'usage_limits_policy', valueKey: 'model:é"\\', measure: 'tokens', used: 800, endsAt: null },
    ]);
  });

  it('add up many batches of a journal as they add up their rows', async () => {
    const random = seeded(12);
    const below = (most: number): number => Math.floor(random() * most);
    const budgets = [keyBudget, budgetName(org, 'workspace', 'w1', 'cost')];
    const valued = (value: number): string =>
      budgetName(org, 'usage_limits_policy', 'p2', 'cost', `user:${value}`);
    const chargesOf = (batch: number): readonly Charge[] | null => {
      if (below(10) === 0) return null;
      const terms = { limit: batch < 5 ? 60_000 : 90_000, threshold: below(20) === 0 ? null : 50_000 };
      const kinds = [
        () => [charge(below(200), terms)],
        () => budgets.map((budget) => charge(below(200), { ...terms, budget })),
        () => [charge(below(200), { ...terms, budget: valued(below(30)), endsAt: null })],
        () => [charge(below(200) / 2, terms), charge(-1, { ...terms, startsAt: nextMonday })],
        () => [charge(1e15 + below(9), { ...terms, budget: valued(1000) })],
      ];
      return kinds[below(10) < 6 ? below(2) : below(kinds.length)]!();
    };
    const other = await open(join(dataDir, 'other'), node);
    const dir = join(dataDir, 'journal');
    const problems: unknown[] = [];
    const onProblem = (error: Error): void => void problems.push(error.message);
    const ingestion = startIngestion({ dir, ledger, onProblem, intervalMs: 60_000 });
    const journal = openJournal({ dir, worker: '0', node, onProblem });
    for (let batch = 0; batch < 8; batch++) {
      const rows = Array.from({ length: 120 }, (_, i) => {
        const change = {
          at: monday + below(dayMs),
          charges: chargesOf(batch),
          status: below(3) === 0 ? 429 : 200,
        };
        // Steps come after the charges, and a stage's field may have both names.
        const stages = below(8) === 0 ? { mine: { charges: [[i]], steps: [1] } } : {};
        const steps = below(2) === 0 ? ([20, 0, below(9) + 0.5, 16] as const) : null;
        return settled(uuid(batch * 1000 + i), change.charges, { ...change, steps, stages });
      });
      for (const row of rows) journal.settle(row);
      await new Promise((turn) => setImmediate(turn));
      await ingestion.flush();
      await other.apply({ ...nothing, settled: { packed: null, rows } });
    }
    journal.close();
    await ingestion.stop();
    expect(problems).to.deep.equal([]);
    const counters = [...budgets, ...Array.from({ length: 30 }, (_, i) => valued(i)), valued(1000)].flatMap(
      (budget) => [monday, nextMonday].map((startsAt) => ({ budget, startsAt, since: startsAt })),
    );
    const of = async ({ budgets: kept, alerts: sent }: BudgetLedger): Promise<unknown[]> => [
      (await kept.usage(org, counters)).map(({ used: all, limit, threshold }) => [all, limit, threshold]),
      await kept.sums(org, counters),
      await kept.courses(org, counters),
      ((await sent.unaddressed(1000)) as BudgetAlert[]).map(({ event, budget, used: at, limit, threshold }) =>
        [event, budget, at, limit, threshold].join(' '),
      ),
    ];
    expect(await ledger.alerts.unaddressed(1000)).to.have.lengthOf.above(3);
    expect(await of(ledger)).to.deep.equal(await of(other));
    await other.close();
  });

  it('count a row once, however often its journal is read', async () => {
    const rows = [settled(uuid(1), [charge(10)]), settled(uuid(2), [charge(20)])];
    await settle(...rows, rows[0]!);
    await settle(...rows);
    await settle(rows[1]!, settled(uuid(3), [charge(5)]));
    expect(await used()).to.equal(35);
  });

  it('charge an unknown row what its intent held back, and then the difference to what it did use', async () => {
    const intent = (id: string): LedgerRow =>
      unknownRow(intentOf(id, { at: monday + hourMs, charges: [charge(500)] }), node);
    await ledger.apply({ ...nothing, unknown: [intent(uuid(1)), intent(uuid(2)), intent(uuid(3))] });
    expect(await used()).to.equal(1500);
    await settle(settled(uuid(1), [charge(120)]));
    expect(await used()).to.equal(1120);
    await ledger.apply({ ...nothing, unknown: [intent(uuid(1))] });
    await settle(settled(uuid(1), [charge(120)]));
    expect(await used()).to.equal(1120);
    // One that used nothing.
    await settle(settled(uuid(2), null));
    expect(await used()).to.equal(620);
    const [sums] = await ledger.budgets.sums(org, [{ budget: keyBudget, startsAt: monday }]);
    expect([...sums!.byNode]).to.deep.equal([[node, 620]]);
    expect(await course({ budget: keyBudget, startsAt: monday })).to.deep.equal([
      { at: monday + 2 * hourMs, used: 620 },
    ]);
  });

  it('take back what an unknown row held where the journal has its settlement without charges', async () => {
    const held = (n: number): LedgerRow =>
      unknownRow(intentOf(uuid(n), { at: monday, charges: [charge(500)] }), node);
    await ledger.apply({ ...nothing, unknown: [held(1), held(2)] });
    const dir = join(dataDir, 'journal');
    const problems: unknown[] = [];
    const onProblem = (error: Error): void => void problems.push(error.message);
    const journal = openJournal({ dir, worker: '0', node, onProblem });
    for (const n of [1, 3]) journal.settle(settlementOf(uuid(n), { at: monday, charges: null }));
    await new Promise((turn) => setImmediate(turn));
    journal.close();
    const ingestion = startIngestion({ dir, ledger, onProblem, intervalMs: 60_000 });
    await ingestion.flush();
    await ingestion.stop();
    expect(problems).to.deep.equal([]);
    expect(await used()).to.equal(500);
    for (const n of [1, 3]) expect((await ledger.get(org, uuid(n)))?.state).to.equal('settled');
  });

  it('are of their organisation alone', async () => {
    const stranger = 'a1b5c2de-0000-4000-8000-00000000dead';
    await settle(settled(uuid(1), [charge(10), charge(7, { budget: `${stranger}/api_key/k1/cost` })]));
    const asked = [
      { budget: keyBudget, startsAt: monday },
      { budget: `${stranger}/api_key/k1/cost`, startsAt: monday },
    ];
    expect(await ledger.budgets.usage(stranger, asked)).to.deep.equal([]);
    expect(await ledger.budgets.sums(stranger, asked)).to.deep.equal([]);
    expect(await ledger.budgets.sums(org, asked)).to.have.length(1);
    const since = monday;
    expect(await ledger.budgets.courses(stranger, [{ ...asked[0]!, since }])).to.deep.equal([]);
    expect(await ledger.budgets.reset(stranger, asked[0]!, monday)).to.equal('missing');
    await ledger.budgets.ended(stranger, keyBudget, nextMonday);
    expect(await events()).to.deep.equal([]);
    expect(await used()).to.equal(10);
  });

  it('take every value that a client may send, and skip what is no charge', async () => {
    const odd = ['\0', '\ud800', 'a\ud800b', '/x/', '"', "'; --", `${'x'.repeat(9000)}`, '😀'].map((value) =>
      budgetName(org, 'usage_limits_policy', 'p1', 'requests', `user:${value}`),
    );
    const broken = [
      ...['text', 7, null, {}, [], ['x'], [7, 1, 1, 1, 1, 1], [keyBudget, 'a', null, 'b', {}, []]],
      [keyBudget, monday, nextMonday, 1000, null, 'ten'],
      [`${org}/nothing/k1/cost`, monday, nextMonday, 1000, null, 1],
    ] as unknown as Charge[];
    await settle(
      settled(
        uuid(1),
        odd.map((budget) => charge(1, { budget })),
      ),
      settled(uuid(2), broken),
      settled(uuid(3), { charges: 1 } as never),
      settled(uuid(4), [charge(Number.MAX_SAFE_INTEGER), charge(Number.MAX_SAFE_INTEGER)]),
    );
    const found = await ledger.budgets.usage(
      org,
      odd.map((budget) => ({ budget, startsAt: monday })),
    );
    expect(found.map(({ used: each }) => each)).to.deep.equal(odd.map(() => 1));
    expect(await used()).to.equal(Number.MAX_SAFE_INTEGER);
    expect(await ledger.get(org, uuid(3))).to.include({ id: uuid(3) });
  });

  it('write an alert once when usage reaches the threshold, and once when it reaches the limit', async () => {
    await settle(settled(uuid(1), [charge(799)]));
    expect(await events()).to.deep.equal([]);
    await settle(settled(uuid(2), [charge(1)]));
    await settle(settled(uuid(3), [charge(50)]));
    expect(await events()).to.deep.equal([['threshold', 800, 1000]]);
    await settle(settled(uuid(4), [charge(200)]));
    await settle(settled(uuid(5), [charge(200)]), settled(uuid(6), [charge(200)]));
    expect(await events()).to.deep.equal([
      ['threshold', 800, 1000],
      ['exhausted', 1050, 1000],
    ]);
    expect(await usage()).to.include({ thresholdAlertOf: 800, exhaustedAlertOf: 1000 });
    const [alert] = await alerts();
    expect(alert).to.deep.include({
      ...{ org, event: 'threshold', budget: keyBudget, holder: 'api_key', holderId: 'k1', valueKey: null },
      ...{ measure: 'cost', used: 800, limit: 1000, threshold: 800, startsAt: monday, endsAt: nextMonday },
    });
    expect(alert?.budgetId).to.equal((await usage())?.id);
  });

  it('write the alert of the same threshold again for a higher limit, and not for a lower one', async () => {
    await settle(settled(uuid(1), [charge(850)]));
    await settle(settled(uuid(2), [charge(10, { limit: 2000, threshold: 800 })]));
    await settle(settled(uuid(3), [charge(10, { limit: 2000, threshold: 800 })]));
    await settle(settled(uuid(4), [charge(10, { limit: 1500, threshold: 800 })]));
    expect(await events()).to.deep.equal([
      ['threshold', 850, 1000],
      ['threshold', 860, 2000],
    ]);
    expect(await usage()).to.include({ thresholdAlertOf: 800, thresholdAlertLimit: 2000 });
  });

  it('write both alerts where one request passes both, and again for a raised limit or in the next period', async () => {
    await settle(settled(uuid(1), [charge(1200)]));
    expect(await events(), 'the threshold first').to.deep.equal([
      ['threshold', 1200, 1000],
      ['exhausted', 1200, 1000],
    ]);
    await settle(settled(uuid(2), [charge(100, { limit: 2000, threshold: 1900 })]));
    await settle(settled(uuid(3), [charge(600, { limit: 2000, threshold: 1900 })]));
    await settle(settled(uuid(4), [charge(100, { limit: 2000, threshold: 1900 })]));
    await settle(settled(uuid(5), [charge(1000, { startsAt: nextMonday, endsAt: null, threshold: null })]));
    expect(await events()).to.have.deep.members([
      ['exhausted', 1200, 1000],
      ['threshold', 1200, 1000],
      ['threshold', 1900, 2000],
      ['exhausted', 2000, 2000],
      ['exhausted', 1000, 1000],
    ]);
  });

  it('set a counter to 0 by hand, with alerts that go out again', async () => {
    const counter = { budget: keyBudget, startsAt: monday };
    await settle(settled(uuid(1), [charge(900)]));
    expect(await ledger.budgets.reset(org, counter, monday + 2 * hourMs)).to.equal(undefined);
    expect(await usage()).to.include({ used: 0, resetAt: monday + 2 * hourMs, thresholdAlertAt: null });
    const [sums] = await ledger.budgets.sums(org, [counter]);
    expect([...sums!.byNode].sort()).to.deep.equal([
      [resetsNode, -900],
      [node, 900],
    ]);
    await settle(settled(uuid(2), [charge(850)], { at: monday + 3 * hourMs }));
    expect(await used()).to.equal(850);
    expect((await alerts()).map(({ event, used: at }) => [event, at])).to.have.deep.members([
      ['threshold', 900],
      ['reset', 900],
      ['threshold', 850],
    ]);
    expect(await course(counter)).to.deep.equal([
      { at: monday + 2 * hourMs, used: 900 },
      { at: monday + 3 * hourMs, used: 0 },
      { at: monday + 4 * hourMs, used: 850 },
    ]);
  });

  it('write that usage has started again once for each period, ended by its time or by hand', async () => {
    await settle(
      settled(uuid(1), [charge(10), charge(3, { startsAt: monday - 7 * dayMs, endsAt: monday })]),
      settled(uuid(2), [charge(0, { budget: budgetName(org, 'api_key', 'k2', 'cost') })]),
      settled(uuid(3), [charge(4, { budget: budgetName(org, 'api_key', 'k3', 'cost'), endsAt: null })]),
    );
    expect(await ledger.alerts.closePeriods(monday)).to.equal(1);
    expect(await ledger.alerts.closePeriods(monday)).to.equal(0);
    await ledger.budgets.ended(org, keyBudget, monday + hourMs);
    await ledger.budgets.ended(org, keyBudget, monday + hourMs);
    expect(await ledger.alerts.closePeriods(nextMonday)).to.equal(1);
    const found = (await alerts()).map(({ event, used: at, startsAt }) => [event, at, startsAt]);
    expect(found).to.have.deep.members([
      ['reset', 3, monday - 7 * dayMs],
      ['reset', 10, monday],
    ]);
  });

  it('forget periods that ended more than 400 days ago', async () => {
    await settle(
      settled(uuid(1), [charge(900)]),
      settled(uuid(2), [charge(5, { endsAt: null, startsAt: 1 })]),
    );
    await ledger.alerts.closePeriods(nextMonday);
    await ledger.alerts.prune(nextMonday + 399 * dayMs);
    expect(await used()).to.equal(900);
    await ledger.alerts.prune(nextMonday + 401 * dayMs);
    expect(await usage()).to.equal(undefined);
    expect(await used(keyBudget, 1)).to.equal(5);
    expect(await course({ budget: keyBudget, startsAt: 1 })).to.deep.equal([]);
    // Its row is gone, and is written whole again beside one that is there.
    await settle(settled(uuid(3), [charge(7), charge(6, { endsAt: null, startsAt: 1 })]));
    expect(await usage()).to.include({ used: 7, limit: 1000, holder: 'api_key', endsAt: nextMonday });
    expect(await used(keyBudget, 1)).to.equal(11);
  });

  it('take the limit, the threshold and the end of the period from the last charge', async () => {
    await settle(settled(uuid(1), [charge(1)]));
    await settle(settled(uuid(2), [charge(1, { limit: 500, threshold: null })]));
    expect(await usage()).to.include({ used: 2, limit: 500, threshold: null, endsAt: nextMonday });
    await settle(settled(uuid(3), [charge(1, { endsAt: null })]));
    expect(await usage()).to.include({ used: 3, limit: 1000, threshold: 800, endsAt: null });
  });

  it('list those of a policy by value, status and search', async () => {
    const budgets = ['a', 'b%', 'B_c', 'd'].map((user) =>
      budgetName(org, 'usage_limits_policy', 'p1', 'requests', `user:${user}`),
    );
    await settle(
      settled(
        uuid(1),
        budgets.map((budget, i) => charge(i, { budget, limit: 2 })),
      ),
    );
    const list = async (filter: object, offset = 0, limit = 10) => {
      const { rows, total } = await ledger.budgets.ofPolicy(org, 'p1', monday, filter, { offset, limit });
      return [rows.map(({ valueKey }) => valueKey), total];
    };
    const all = ['user:a', 'user:b%', 'user:B_c', 'user:d'].sort();
    expect(await list({})).to.deep.equal([all, 4]);
    expect(await list({}, 1, 2)).to.deep.equal([all.slice(1, 3), 4]);
    expect(await list({ status: { is: 'exhausted', limit: 2 } })).to.deep.equal([['user:B_c', 'user:d'], 2]);
    expect(await list({ status: { is: 'active', limit: 2 }, search: 'USER:' })).to.deep.equal([
      ['user:a', 'user:b%'],
      2,
    ]);
    expect(await list({ search: '%' })).to.deep.equal([['user:b%'], 1]);
    expect(await list({ search: 'b_' })).to.deep.equal([['user:B_c'], 1]);
    expect(
      (await ledger.budgets.ofPolicy('other', 'p1', monday, {}, { offset: 0, limit: 10 })).total,
    ).to.equal(0);
    const d = await usage(budgets[3]);
    expect(await ledger.budgets.find(org, 'p1', monday, d!.id)).to.deep.equal(d);
    expect(await ledger.budgets.find(org, 'p2', monday, d!.id)).to.equal(null);
    expect(await ledger.budgets.find(org, 'p1', nextMonday, d!.id)).to.equal(null);
  });

  it('have the course of a period by hour or by day', async () => {
    const month = { budget: keyBudget, startsAt: Date.UTC(2026, 10, 1), endsAt: Date.UTC(2026, 11, 1) };
    const ats = [monday + 5, monday + 30 * 60_000, monday + hourMs, monday + 3 * dayMs];
    const amount = 10;
    await settle(...ats.map((at, i) => settled(uuid(i), [charge(amount), charge(amount, month)], { at })));
    expect(await course({ budget: keyBudget, startsAt: monday })).to.deep.equal([
      { at: monday + hourMs, used: 20 },
      { at: monday + 2 * hourMs, used: 30 },
      { at: monday + 3 * dayMs + hourMs, used: 40 },
    ]);
    expect(await course(month)).to.deep.equal([
      { at: monday + dayMs, used: 30 },
      { at: monday + 4 * dayMs, used: 40 },
    ]);
    const week = { budget: keyBudget, startsAt: monday };
    const none = { budget: budgetName(org, 'api_key', 'none', 'cost'), startsAt: monday };
    const since = monday + 3 * dayMs;
    const late = await ledger.budgets.courses(
      org,
      [week, none, month].map((one) => ({ ...one, since })),
    );
    expect(late).to.have.deep.members([
      { ...week, before: 30, points: [{ at: since + hourMs, used: 40 }] },
      {
        budget: month.budget,
        startsAt: month.startsAt,
        before: 30,
        points: [{ at: monday + 4 * dayMs, used: 40 }],
      },
    ]);
    const over = await ledger.budgets.courses(org, [{ ...week, since: nextMonday }]);
    expect(over).to.deep.equal([{ ...week, before: 40, points: [] }]);
  });

  it('show an alert once its addressees are filled in, and hand it out for sending to one caller at a time', async () => {
    await settle(settled(uuid(1), [charge(1200)]));
    const list = async (filter: object) =>
      (await ledger.alerts.list(org, filter, { offset: 0, limit: 10 })).alerts;
    expect(await list({})).to.deep.equal([]);
    expect(await ledger.alerts.claim(Date.now(), Date.now() + 1000, 10)).to.deep.equal([]);
    const [first, second] = await ledger.alerts.unaddressed(10);
    await ledger.alerts.address(first!.id, { name: 'n', recipients: ['a@b.c'] }, true);
    await ledger.alerts.address(second!.id, { name: null, recipients: [] }, false);
    expect(await ledger.alerts.unaddressed(10)).to.deep.equal([]);
    expect(
      (await list({ workspace, event: first!.event, keys: ['k1', 'k2'] })).map(({ id, recipients }) => [
        id,
        recipients,
      ]),
    ).to.deep.equal([[first!.id, ['a@b.c']]]);
    expect((await list({ event: second!.event })).map(({ id, delivery }) => [id, delivery])).to.deep.equal([
      [second!.id, 'none'],
    ]);
    for (const filter of [{ holder: 'workspace' }, { holderId: 'k' }, { workspace: 'w' }, { keys: [] }]) {
      expect(await list(filter), JSON.stringify(filter)).to.deep.equal([]);
    }
    expect(await list({ holder: 'api_key', holderId: 'k1', since: first!.at })).to.have.length(2);
    expect(await list({ since: first!.at + 1 })).to.deep.equal([]);
    const now = first!.at;
    const claims = await Promise.all([1, 2, 3].map(() => ledger.alerts.claim(now, now + 1000, 10)));
    expect(claims.flat().map(({ id, tries }) => [id, tries])).to.deep.equal([[first!.id, 1]]);
    expect(await ledger.alerts.claim(now + 999, now + 2000, 10)).to.deep.equal([]);
    expect(await ledger.alerts.claim(now + 1000, now + 2000, 10)).to.have.length(1);
    await ledger.alerts.settle(first!.id, { is: 'retry', notBefore: now + 5000 });
    expect(await ledger.alerts.claim(now + 4999, now + 6000, 10)).to.deep.equal([]);
    expect(await ledger.alerts.claim(now + 5000, now + 6000, 10)).to.have.length(1);
    await ledger.alerts.settle(first!.id, { is: 'sent', at: now + 5001 });
    await ledger.alerts.settle(first!.id, { is: 'failed' });
    expect((await list({ event: first!.event }))[0]).to.include({
      delivery: 'sent',
      tries: 3,
      sentAt: now + 5001,
    });
    expect(await ledger.alerts.claim(now + dayMs, now + 2 * dayMs, 10)).to.deep.equal([]);
  });
}

describe('budgets in the ledger', () => {
  forEachStore(({ dialect, options }) => {
    const open = async (dataDir: string, ofNode: string): Promise<BudgetLedger> => {
      if (dialect === 'sqlite') return openLedger({ dataDir });
      const { databaseUrl } = await options(dataDir);
      return openPostgresLedger({ url: databaseUrl!, node: ofNode });
    };
    contract(open);

    it('begin with no usage in a ledger of version 4', async () => {
      const dataDir = mkdtempSync(join(tmpdir(), 'ledger-budgets-'));
      const before = await open(dataDir, node);
      await before.apply({ ...nothing, settled: { packed: null, rows: [settled(uuid(1), null)] } });
      await before.close();
      const tables = budgetTableNames.map((name) => `DROP TABLE ${name};`).join(' ');
      if (dialect === 'sqlite') {
        const connection = await SqliteConnection.open(join(dataDir, 'ledger.db'), []);
        await connection.exec(`${tables} DROP TABLE feedbacks; PRAGMA user_version = 4;`);
        await connection.close();
      } else {
        const client = new pg.Client({ connectionString: (await options(dataDir)).databaseUrl!.reveal() });
        await client.connect();
        await client.query(
          `${tables} DROP TABLE feedbacks; ALTER TABLE exchange_bodies DROP COLUMN headers;
            UPDATE ledger_version SET version = 4`,
        );
        await client.end();
      }
      const ledger = await open(dataDir, node);
      const rows = [settled(uuid(1), [charge(7)]), settled(uuid(2), [charge(5)])];
      await ledger.apply({ ...nothing, settled: { packed: null, rows } });
      const [usage] = await ledger.budgets.usage(org, [{ budget: keyBudget, startsAt: monday }]);
      expect(usage?.used).to.equal(5);
      expect(await ledger.feedbacks.ofTrace(org, workspace, 't')).to.deep.equal([]);
      await ledger.close();
      rmSync(dataDir, { recursive: true, force: true });
    });

    if (dialect === 'postgres') {
      it('report what a commit charged whose answer was cut off, once its batch comes again', async () => {
        const dataDir = mkdtempSync(join(tmpdir(), 'ledger-budgets-'));
        const url = (await options(dataDir)).databaseUrl!.reveal();
        const { hostname, port } = new URL(url);
        const proxy = await FaultyProxy.start(Number(port || 5432), hostname);
        const ledger = await openPostgresLedger({ url: new Secret(proxy.through(url)), node });
        const apply = (...ids: number[]): Promise<readonly ChargedBudget[]> => {
          const rows = ids.map((id) => settled(uuid(id), [charge(id)]));
          return ledger.apply({ ...nothing, settled: { packed: null, rows } });
        };
        const counter = { budget: keyBudget, startsAt: monday };
        expect(await apply(1)).to.deep.equal([{ ...counter, amount: 1 }]);
        for (const [direction, added] of [
          ['toClient', [{ ...counter, amount: 10 }]],
          // It was not carried out: all of it is charged with the next.
          ['toServer', []],
        ] as const) {
          const id = direction === 'toClient' ? 10 : 20;
          proxy.rule = (piece, way) => (way === direction && piece.includes('COMMIT') ? 'reset' : 'pass');
          await apply(id).then(
            () => expect.fail('its answer did not arrive'),
            () => {},
          );
          proxy.rule = null;
          const charged = await eventually('it answers again', () =>
            apply(id, id + 1).catch((): null => null),
          );
          const sum = charged.reduce((all, { amount }) => all + amount, 0);
          expect(sum, direction).to.equal(2 * id + 1);
          expect(charged).to.deep.include.members([...added]);
          expect(await apply(id, id + 1)).to.deep.equal([]);
        }
        const [usage] = await ledger.budgets.usage(org, [counter]);
        expect(usage?.used).to.equal(1 + 10 + 11 + 20 + 21);
        await ledger.close();
        await proxy.close();
        rmSync(dataDir, { recursive: true, force: true });
      });

      it('are charged by several nodes at once: exactly, with each alert once, and without a deadlock', async function () {
        this.timeout(scaled(30_000));
        const dataDir = mkdtempSync(join(tmpdir(), 'ledger-budgets-'));
        const budgets = Array.from({ length: 40 }, (_, i) => budgetName(org, 'api_key', `k${i}`, 'cost'));
        const nodes = [1, 2, 3].map((n) => uuid(n));
        await options(dataDir);
        const ledgers = await Promise.all(nodes.map((ofNode) => open(dataDir, ofNode)));
        const rounds = 15;
        await Promise.all(
          ledgers.map(async (ledger, n) => {
            for (let round = 0; round < rounds; round++) {
              const order = n === 1 ? budgets : [...budgets].reverse();
              const charges = order.map((budget) => charge(10, { budget, limit: 300, threshold: 200 }));
              const row = settled(uuid(1000 * n + round), charges, { node: nodes[n]! });
              // Every other batch is one that might have been there already.
              const repeated = round % 2 === 0 ? [] : [row];
              await ledger.apply({ ...nothing, settled: { packed: null, rows: [row, ...repeated] } });
            }
          }),
        );
        const [ledger] = ledgers as [BudgetLedger];
        const counters = budgets.map((budget) => ({ budget, startsAt: monday }));
        const usage = await ledger.budgets.usage(org, counters);
        expect(usage.map(({ used }) => used)).to.deep.equal(budgets.map(() => 3 * rounds * 10));
        for (const { byNode } of await ledger.budgets.sums(org, counters)) {
          expect(byNode).to.deep.equal(new Map(nodes.map((each) => [each, rounds * 10])));
        }
        const alerts = await ledger.alerts.unaddressed(1000);
        expect(
          alerts.map((alert) => (alert.event === 'anomaly' ? '' : `${alert.budget} ${alert.event}`)),
        ).to.have.members(budgets.flatMap((budget) => [`${budget} threshold`, `${budget} exhausted`]));
        const claims = await Promise.all(
          alerts.map(({ id }) => ledger.alerts.address(id, { name: null, recipients: [] }, true)),
        ).then(() =>
          Promise.all(ledgers.map((each) => each.alerts.claim(Date.now(), Date.now() + 60_000, 50))),
        );
        const claimed = claims.flat().map(({ id }) => id);
        expect(new Set(claimed).size).to.equal(claimed.length);
        expect(claimed.length).to.be.greaterThan(50);
        for (const each of ledgers) await each.close();
        rmSync(dataDir, { recursive: true, force: true });
      });
    }
  });
});
