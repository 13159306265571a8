import { expect } from 'chai';
import fc from 'fast-check';
import type { Grant, LimitRefusal, WantedBudget } from '../../plugins/limits/channel.js';
import { BudgetCounters } from '../../plugins/limits/control/budget-counters.js';
import { CounterMap } from '../../plugins/limits/control/counter-map.js';
import type { CounterSums } from '../../src/common/ledger/budgets.js';
import type { SpentListener } from '../../src/common/plugin-host/control.js';

const budget = 'org/api_key/1/tokens';
const startsAt = 5;
const counter = `${budget}@${startsAt}`;
const wanted = (amount: number, limit: number): WantedBudget => ({
  counter,
  budget,
  startsAt,
  endsAt: null,
  limit,
  amount,
  needed: amount,
  shadow: false,
});

/** A ledger of one counter. */
class OneCounter {
  readonly node = 'a';
  isShared = false;
  used = 0;
  others = 0;
  listener!: SpentListener;

  listen(listener: SpentListener): void {
    this.listener = listener;
  }

  async sums(): Promise<readonly CounterSums[]> {
    const byNode = new Map([
      ['a', this.used],
      ['b', this.others],
    ]);
    return [{ budget, startsAt, byNode }];
  }

  charge(pid: number, amount: number): void {
    this.used += amount;
    this.listener.charged(pid, [{ budget, startsAt, amount }]);
  }
}

const isRefused = (answer: unknown): answer is LimitRefusal => 'refused' in (answer as object);

describe('the counters of budgets', () => {
  it('begin with what the ledger has, of all nodes', async () => {
    const spent = new OneCounter();
    spent.used = 30;
    spent.others = 50;
    const counters = new BudgetCounters({ workers: 1, spent });
    const from = { worker: 0, pid: 1 };
    expect(await counters.take(from, [wanted(30, 100)])).to.deep.equal({
      refused: 0,
      remaining: 20,
      waitMs: null,
      used: 80,
    });
    expect(await counters.take(from, [wanted(20, 100)])).to.have.length(1);
  });

  it('see what other nodes have used after the clock was set back', async () => {
    const spent = new OneCounter();
    spent.isShared = true;
    let now = 10_000_000;
    const counters = new BudgetCounters({ workers: 1, spent, now: () => now });
    const take = () => counters.take({ worker: 0, pid: 1 }, [wanted(1, 100)]);
    expect(await take()).to.have.length(1);
    now -= 3_600_000;
    spent.others = 100;
    // The first one has it read again.
    await take();
    await new Promise((turn) => setImmediate(turn));
    expect(await take()).to.include({ refused: 0, used: 102 });
  });

  it('reject where the ledger is needed and does not answer, and read it later', async () => {
    const spent = new OneCounter();
    const sums = spent.sums.bind(spent);
    spent.sums = () => Promise.reject(new Error('away'));
    const counters = new BudgetCounters({ workers: 1, spent });
    const take = () => counters.take({ worker: 0, pid: 1 }, [wanted(1, 100)]);
    expect(await take().catch(({ message }) => message)).to.equal('away');
    spent.sums = sums;
    expect(await take()).to.have.length(1);
  });

  it('grant all budgets of a request or none', async () => {
    const spent = new OneCounter();
    const counters = new BudgetCounters({ workers: 1, spent });
    const other = { ...wanted(1, 100), counter: `org/b@${startsAt}`, budget: 'org/b' };
    const from = { worker: 0, pid: 1 };
    expect(isRefused(await counters.take(from, [wanted(60, 100), { ...other, limit: 0 }]))).to.equal(true);
    expect(counters.peek(counter)!.used).to.equal(0);
  });

  it('count what a process was granted that has ended, until the ledger has what it used', async () => {
    const spent = new OneCounter();
    const counters = new BudgetCounters({ workers: 1, spent });
    await counters.take({ worker: 0, pid: 1 }, [wanted(60, 100)]);
    counters.gone(0);
    expect(counters.peek(counter)!.used).to.equal(60);
    spent.charge(1, 25);
    expect(counters.peek(counter)!.used).to.equal(60);
    spent.listener.ended(1);
    expect(counters.peek(counter)!.used).to.equal(25);
    // What arrives late from such a process changes nothing.
    counters.back({ worker: 0, pid: 1 }, [{ counter, isBudget: true, windowMs: null, slot: 0, amount: 35 }]);
    expect(counters.peek(counter)!.used).to.equal(25);
  });

  it('add what processes of an earlier run have used', async () => {
    const spent = new OneCounter();
    const counters = new BudgetCounters({ workers: 1, spent });
    await counters.take({ worker: 0, pid: 2 }, [wanted(10, 100)]);
    spent.charge(1, 40);
    expect(counters.peek(counter)!.used).to.equal(50);
  });

  it('never let what is used pass the limit, in any order of grants, ends and deaths', async () => {
    const step = fc.oneof(
      fc.record({
        do: fc.constant('take' as const),
        worker: fc.nat(2),
        amount: fc.integer({ min: 1, max: 40 }),
      }),
      fc.record({
        do: fc.constant('end' as const),
        which: fc.nat(50),
        used: fc.nat(100),
        isLate: fc.boolean(),
      }),
      fc.record({ do: fc.constant('kill' as const), worker: fc.nat(2) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 80 }),
        fc.integer({ min: 20, max: 300 }),
        async (steps, limit) => {
          const spent = new OneCounter();
          const counters = new BudgetCounters({ workers: 3, spent, now: () => 1000 });
          const pids = [1, 2, 3];
          let next = 4;
          const open: { pid: number; worker: number; held: number }[] = [];
          for (const one of steps) {
            if (one.do === 'take') {
              const from = { worker: one.worker, pid: pids[one.worker]! };
              const answer = await counters.take(from, [wanted(one.amount, limit)]);
              if (isRefused(answer)) continue;
              const [{ taken, extra }] = answer as readonly [Grant];
              open.push({ ...from, held: taken });
              counters.back(from, [{ counter, isBudget: true, windowMs: null, slot: 0, amount: extra }]);
            } else if (one.do === 'end') {
              const at = one.which % Math.max(1, open.length);
              const request = open[at];
              if (request === undefined) continue;
              open.splice(at, 1);
              const used = Math.floor((request.held * one.used) / 100);
              const back = [
                { counter, isBudget: true, windowMs: null, slot: 0, amount: request.held - used },
              ];
              // The ledger and the worker's message come in any order.
              if (one.isLate) spent.charge(request.pid, used);
              counters.back(request, back);
              if (!one.isLate) spent.charge(request.pid, used);
            } else {
              const pid = pids[one.worker]!;
              pids[one.worker] = next++;
              counters.gone(one.worker);
              // Its open requests stand at what was held back.
              for (const request of open.filter((request) => request.pid === pid))
                spent.charge(pid, request.held);
              for (let i = open.length - 1; i >= 0; i--) if (open[i]!.pid === pid) open.splice(i, 1);
              spent.listener.ended(pid);
            }
            const held = open.reduce((sum, request) => sum + request.held, 0);
            expect(spent.used + held).to.be.at.most(limit);
            const known = counters.peek(counter);
            if (known !== undefined) expect(known.used).to.equal(spent.used + held);
          }
        },
      ),
    );
  });
});

describe('the map of counters', () => {
  it('makes room among those of the organisation that has most, the least recently used first', () => {
    const gone: string[] = [];
    const map = new CounterMap<string>({ most: 10, mostLength: 1e6, dispose: (name) => gone.push(name) });
    map.set('small/a', 'small/a');
    for (let i = 0; i < 9; i++) map.set(`large/${i}`, `large/${i}`);
    map.get('large/0');
    for (let i = 9; i < 12; i++) map.set(`large/${i}`, `large/${i}`);
    expect(gone).to.deep.equal(['large/1', 'large/2', 'large/3']);
    expect([map.peek('small/a'), map.peek('large/0'), map.size]).to.deep.equal(['small/a', 'large/0', 10]);
  });

  it('is bounded by the length of the names', () => {
    const map = new CounterMap<number>({ most: 1000, mostLength: 10_000 });
    for (let i = 0; i < 100; i++) map.set(`org/${'x'.repeat(1000)}${i}`, i);
    expect(map.size).to.be.within(6, 8);
  });

  it('keeps what must stay, and refuses others', () => {
    const map = new CounterMap<number>({ most: 2, mostLength: 1e6, isIdle: (value) => value === 0 });
    expect([map.set('a/1', 1), map.set('a/2', 0), map.set('a/3', 1), map.set('a/4', 1)]).to.deep.equal([
      true,
      true,
      true,
      false,
    ]);
    expect([map.peek('a/1'), map.peek('a/2'), map.peek('a/3')]).to.deep.equal([1, undefined, 1]);
  });
});
