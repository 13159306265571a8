import { expect } from 'chai';
import type { Grant, LimitRefusal, WantedBudget } from '../../plugins/limits/channel.js';
import { BudgetCounters } from '../../plugins/limits/control/budget-counters.js';
import { RedisBudgets } from '../../plugins/limits/control/redis-budgets.js';
import { Secret } from '../../src/common/access/secret.js';
import type { CounterSums } from '../../src/common/ledger/budgets.js';
import type { Nodes, SpentListener } from '../../src/common/plugin-host/control.js';
import { Redis } from '../../src/control-plane/shared-state/redis.js';
import { nodesOf } from '../../src/process/stage-parts.js';
import { eventually, pause } from '../support/gateway.js';
import { RedisServer } from '../support/redis.js';

const silent = { info() {}, warn() {}, error() {} };
const budget = 'org/api_key/1/cost';
const startsAt = 5;
const counter = `${budget}@${startsAt}`;
/** Nanodollars: more than Redis's own JSON would have exactly. */
const dollar = 1_000_000_000;
const limit = 300_001 * dollar + 7;

const wanted = (amount: number, more: Partial<WantedBudget> = {}): WantedBudget => ({
  ...{ counter, budget, startsAt, endsAt: null, limit, amount, needed: amount, shadow: false },
  ...more,
});

/** The ledger that the nodes share: what was ingested, by node. */
const sums = new Map<string, number>();
let isLedgerAway = false;

class Shared {
  readonly isShared = true;
  listener!: SpentListener;

  constructor(readonly node: string) {}

  listen(listener: SpentListener): void {
    this.listener = listener;
  }

  async sums(): Promise<readonly CounterSums[]> {
    if (isLedgerAway) throw new Error('away');
    return [{ budget, startsAt, byNode: new Map(sums) }];
  }

  charge(pid: number, amount: number): void {
    sums.set(this.node, (sums.get(this.node) ?? 0) + amount);
    this.listener.charged(pid, [{ budget, startsAt, amount }]);
  }
}

describe('the counters of budgets of several nodes', function () {
  this.timeout(30_000);
  let server: RedisServer;
  let redis: Redis[];
  let all: { readonly spent: Shared; readonly own: BudgetCounters; readonly budgets: RedisBudgets }[];

  const made: RedisBudgets[] = [];
  /** Answers of Redis arrive so much later. Milliseconds. */
  let lateMs = 0;
  /** By so much the clock of the nodes is ahead. Milliseconds. */
  let aheadMs = 0;

  const node = (i: number, without: 'local_share' | 'closed'): (typeof all)[number] => {
    const spent = new Shared(`node${i}`);
    const usual = nodesOf(redis[i]!);
    // Of a Redis that is there: the usual time limit is one for a quiet machine.
    const nodes: Nodes = {
      ...usual,
      async script<T>(lua: string, keys: readonly string[], args: readonly string[]): Promise<T> {
        const answer = await usual.script<T>(lua, keys, args, 2000);
        if (lateMs > 0) await pause(lateMs);
        return answer;
      },
    };
    const own: BudgetCounters = new BudgetCounters({
      workers: 1,
      spent,
      now: () => Date.now() + aheadMs,
      onChange: (changed, amount) => budgets.changed(changed, amount),
      onReset: (name, takenAway) => budgets.reset(name, takenAway),
    });
    const budgets = new RedisBudgets({ nodes, own, spent, workers: 1, without, count: () => 3 });
    made.push(budgets);
    return { spent, own, budgets };
  };
  const start = async (without: 'local_share' | 'closed' = 'local_share'): Promise<void> => {
    redis = [0, 1, 2].map(
      () => new Redis({ url: new Secret(server.url), prefix: 'headgate:test:', log: silent }),
    );
    await eventually('all are connected', async () => redis.every(({ up }) => up));
    all = [0, 1, 2].map((i) => node(i, without));
  };

  beforeEach(async () => {
    sums.clear();
    isLedgerAway = false;
    lateMs = aheadMs = 0;
    server = await RedisServer.start();
  });
  afterEach(async () => {
    // Those as well that a test has started again.
    for (const budgets of made.splice(0)) budgets.close();
    for (const connection of redis) connection.close();
    await server.remove();
  });

  const from = { worker: 0, pid: 1 };
  const isGranted = (answer: readonly Grant[] | LimitRefusal | null): answer is readonly Grant[] =>
    answer !== null && !('refused' in answer);
  /** Takes on a node, and gives back what it was granted ahead; true: it was let through. */
  const take = async (i: number, amount: number): Promise<boolean> => {
    const answer = await all[i]!.budgets.take(from, [wanted(amount)]);
    if (!isGranted(answer)) return false;
    const { extra } = answer[0]!;
    if (extra > 0)
      all[i]!.own.back(from, [{ counter, isBudget: true, windowMs: null, slot: 0, amount: extra }]);
    return true;
  };
  const passed = async (requests: number, amount: number): Promise<number> => {
    let count = 0;
    for (let i = 0; i < requests; i++) if (await take(i % 3, amount)) count++;
    return count;
  };

  /** Without Redis requests wait a second for it, which takes no time here. */
  const hurried = async <T>(work: () => Promise<T>): Promise<T> => {
    const clock = setInterval(() => {
      aheadMs += 1000;
    }, 20);
    const result = await work();
    clearInterval(clock);
    return result;
  };

  it('spend together no more than the budget, to the nanodollar', async () => {
    await start();
    expect(await passed(5, 100_000 * dollar)).to.equal(3);
    expect(await take(0, dollar + 8)).to.equal(false);
    expect(await take(1, dollar + 7)).to.equal(true);
    expect(await all[2]!.budgets.take(from, [wanted(1)])).to.include({
      refused: 0,
      remaining: 0,
      used: limit,
    });
  });

  it('begin with what the ledger has of every node', async () => {
    sums.set('node1', 100_000 * dollar).set('gone', 100_000 * dollar);
    await start();
    expect(await passed(3, 100_000 * dollar)).to.equal(1);
  });

  it('free on all nodes what one gives back, and add what it used beyond', async () => {
    await start();
    expect(await passed(3, 100_000 * dollar)).to.equal(3);
    const back = (amount: number) => [{ counter, isBudget: true, windowMs: null, slot: 0, amount }];
    all[0]!.own.back(from, back(50_000 * dollar));
    await eventually('the others have it', () => take(1, 50_000 * dollar));
    all[0]!.own.back(from, back(-dollar));
    await eventually('the others count it', async () => !(await take(2, 7)));
  });

  it('keep what is used where Redis is flushed', async () => {
    await start();
    expect(await passed(2, 100_000 * dollar)).to.equal(2);
    all[0]!.spent.charge(1, 100_000 * dollar);
    // What the second node has under way is in no ledger yet.
    await server.command('FLUSHALL');
    expect(await take(0, 100_000 * dollar)).to.equal(true);
    expect(await take(0, 100_000 * dollar)).to.equal(false);
    expect(await take(2, 100_000 * dollar)).to.equal(false);
  });

  it('keep what Redis granted while another node has them write what they have used', async () => {
    await start();
    expect(await passed(3, 50_000 * dollar)).to.equal(3);
    lateMs = 30;
    const granted = take(0, 100_000 * dollar);
    await pause(lateMs / 2);
    await redis[1]!.publish('limits-budgets', counter);
    expect(await granted).to.equal(true);
    await pause(3 * lateMs);
    lateMs = 0;
    expect(await take(1, 50_001 * dollar + 8)).to.equal(false);
    expect(await take(1, 50_001 * dollar + 7)).to.equal(true);
  });

  it('ask Redis again when it is back, also a node whose share was used up', async () => {
    await start();
    expect(await passed(3, 40_000 * dollar)).to.equal(3);
    for (const { spent } of all) spent.charge(1, 40_000 * dollar);
    await server.kill();
    await hurried(async () => {
      for (let i = 0; i < 7; i++) expect(await take(0, 10_000 * dollar)).to.equal(i < 6);
    });
    await server.start();
    await eventually('it takes of what the others have left', () => {
      aheadMs += 1000;
      return take(0, 10_000 * dollar);
    });
  });

  it('keep what is used where a node starts again, whose last run had requests under way', async () => {
    await start();
    expect(await passed(3, 100_000 * dollar)).to.equal(3);
    // Two of them were ingested.
    sums.set('node0', 100_000 * dollar).set('node1', 100_000 * dollar);
    all[2] = node(2, 'local_share');
    sums.set('node2', 100_000 * dollar);
    expect(await take(2, 100_000 * dollar)).to.equal(false);
  });

  it('are 0 on all nodes once they were reset on one', async () => {
    await start();
    expect(await passed(3, 100_000 * dollar)).to.equal(3);
    for (const { spent } of all) spent.charge(1, 100_000 * dollar);
    sums.set('-', -300_000 * dollar);
    all[1]!.spent.listener.reset('org', { budget, startsAt });
    await eventually('all know of it', () => take(2, 100_000 * dollar));
    expect(await take(0, 100_000 * dollar)).to.equal(true);
  });

  it('grant their share of what was left while Redis is away, and nothing where that is closed', async () => {
    for (const without of ['local_share', 'closed'] as const) {
      sums.clear();
      await start(without);
      await server.command('FLUSHALL');
      expect(await passed(3, 40_000 * dollar)).to.equal(3);
      for (const { spent } of all) spent.charge(1, 40_000 * dollar);
      await server.kill();
      const away = await hurried(() => passed(60, 10_000 * dollar));
      if (without === 'closed') expect(away).to.equal(0);
      else expect(away).to.be.within(15, 18);
      await server.start();
      await eventually('Redis answers', async () => redis.every(({ up }) => up));
      const back = await passed(60, 10_000 * dollar);
      // Nodes that are back keep to their shares: none grants what another has not written yet.
      expect(away + back).to.equal(18);
      for (const connection of redis) connection.close();
    }
  });

  it('count what the others have under way when Redis goes away: the ledger does not have it yet', async () => {
    await start();
    expect(await passed(6, 40_000 * dollar)).to.equal(6);
    // Each has an answer that has all of them.
    expect(await passed(3, 1)).to.equal(3);
    await server.kill();
    // 60,001 dollars were left: 20,000 for each.
    expect(await hurried(() => passed(60, 10_000 * dollar))).to.be.within(4, 6);
  });

  it('refuse what they cannot know while the ledger is away', async () => {
    isLedgerAway = true;
    await start();
    const error = await all[0]!.budgets.take(from, [wanted(1)]).catch(({ message }) => message);
    expect(error).to.equal('away');
  });
});
