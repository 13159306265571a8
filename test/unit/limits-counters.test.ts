import { expect } from 'chai';
import fc from 'fast-check';
import type { Grant, LimitRefusal, Wanted } from '../../plugins/limits/channel.js';
import { Counters } from '../../plugins/limits/control/counters.js';
import { slotsPerWindow } from '../../plugins/limits/control/window.js';

const wanted = (more: Partial<Wanted> = {}): Wanted => ({
  counter: 'org/api_key/1/requests/rpm',
  windowMs: 60_000,
  value: 10,
  amount: 1,
  isBounded: true,
  shadow: false,
  ...more,
});

const isGranted = (answer: readonly Grant[] | LimitRefusal): answer is readonly Grant[] =>
  !('refused' in answer);

describe('the counters of limits', () => {
  let now = 1_000_000_000_000;
  const open = (workers = 1): Counters => new Counters({ workers, now: () => now });
  /** Takes one request at a time and gives back what was granted ahead. */
  const takeOne = (counters: Counters, one: Wanted, worker = 0): boolean => {
    const answer = counters.take(worker, [one]);
    if (!isGranted(answer)) return false;
    for (const { extra, slot } of answer)
      if (extra > 0)
        counters.back(worker, [{ counter: one.counter, windowMs: one.windowMs, slot, amount: extra }]);
    return true;
  };

  it('grant as much as the limit within its window, and know when there is room again', () => {
    const counters = open();
    for (let i = 0; i < 10; i++) expect(takeOne(counters, wanted())).to.equal(true);
    const refusal = counters.take(0, [wanted()]) as LimitRefusal;
    expect(refusal).to.include({ refused: 0, remaining: 0 });
    now += refusal.waitMs! - 1;
    expect(takeOne(counters, wanted())).to.equal(false);
    now += 1;
    expect(takeOne(counters, wanted())).to.equal(true);
  });

  it('never let a span of the length of the window hold more than the limit, whatever the times', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 9000 }), fc.integer({ min: 1, max: 4 })), {
      maxLength: 120,
    });
    fc.assert(
      fc.property(steps, (given) => {
        const counters = open();
        const taken: { readonly at: number; readonly amount: number }[] = [];
        for (const [later, amount] of given) {
          now += later;
          if (takeOne(counters, wanted({ amount }))) taken.push({ at: now, amount });
        }
        for (const { at: from } of taken) {
          const inSpan = taken.filter(({ at }) => at >= from && at < from + 60_000);
          expect(inSpan.reduce((sum, { amount }) => sum + amount, 0)).to.be.at.most(10);
        }
        now += 200_000;
      }),
      { numRuns: 200 },
    );
  });

  it('refuse nothing that a count by sixtieths of the window has room for', () => {
    const counters = open();
    const slotMs = 60_000 / slotsPerWindow;
    const slots = new Map<number, number>();
    for (let i = 0; i < 5000; i++) {
      now += (i * 7919) % 3000;
      const slot = Math.floor(now / slotMs);
      let sum = 0;
      for (const [at, count] of slots) if (at >= slot - slotsPerWindow) sum += count;
      expect(takeOne(counters, wanted())).to.equal(sum < 10);
      if (sum < 10) slots.set(slot, (slots.get(slot) ?? 0) + 1);
    }
  });

  it('grant all limits of a request or none', () => {
    const counters = open();
    const full = wanted({ counter: 'b', value: 0 });
    const answer = counters.take(0, [wanted(), full]);
    expect(answer).to.include({ refused: 1 });
    for (let i = 0; i < 10; i++) expect(takeOne(counters, wanted())).to.equal(true);
  });

  it('count a limit in shadow mode, and refuse nothing for it', () => {
    const counters = open();
    const shadow = wanted({ value: 1, shadow: true });
    const within = [1, 2, 3].map(() => (counters.take(0, [shadow]) as readonly Grant[])[0]!.isWithin);
    expect(within).to.deep.equal([true, false, false]);
  });

  it('grant permits ahead to a worker that asks often, fewer as less is left', () => {
    const counters = open(2);
    const many = wanted({ value: 100_000 });
    const extras: number[] = [];
    for (let i = 0; i < 40; i++) {
      const answer = counters.take(0, [many]) as readonly Grant[];
      extras.push(answer[0]!.extra);
    }
    expect(extras.slice(0, 4)).to.deep.equal([0, 1, 3, 7]);
    expect(Math.max(...extras)).to.be.at.most(100_000 / 16);
    const last = extras.at(-1)!;
    expect(last).to.be.below(Math.max(...extras));
  });

  it('name the workers that hold permits before a request is refused for want of them', () => {
    const counters = open(2);
    const one = wanted({ value: 1000 });
    for (let i = 0; i < 8; i++) counters.take(0, [one]);
    let answer = counters.take(1, [one]);
    while (isGranted(answer)) answer = counters.take(1, [one]);
    expect(counters.holders(1, one)).to.deep.equal([0]);
    counters.back(0, [{ counter: one.counter, windowMs: 60_000, slot: Math.floor(now / 1000), amount: 5 }]);
    for (let i = 0; i < 5; i++) expect(isGranted(counters.take(1, [one]))).to.equal(true);
    expect(isGranted(counters.take(1, [one]))).to.equal(false);
    expect(counters.holders(1, one)).to.deep.equal([]);
  });

  it('limit requests under way, and free those of a worker that has ended', () => {
    const counters = open(2);
    const one = wanted({ counter: 'c', windowMs: null, value: 3 });
    for (const worker of [0, 0, 1]) expect(isGranted(counters.take(worker, [one]))).to.equal(true);
    expect(isGranted(counters.take(1, [one]))).to.equal(false);
    counters.back(1, [{ counter: 'c', windowMs: null, slot: 0, amount: 1 }]);
    expect(isGranted(counters.take(1, [one]))).to.equal(true);
    counters.gone(0);
    for (let i = 0; i < 2; i++) expect(isGranted(counters.take(1, [one]))).to.equal(true);
    expect(isGranted(counters.take(1, [one]))).to.equal(false);
  });

  it('take what is left for a request that sets itself no limit, and count what it used beyond', () => {
    const counters = open();
    const tokens = (amount: number, isBounded: boolean): Wanted =>
      wanted({ counter: 't', value: 1000, amount, isBounded });
    expect(counters.take(0, [tokens(4000, true)])).to.include({ refused: 0, waitMs: null });
    const [grant] = counters.take(0, [tokens(4000, false)]) as readonly Grant[];
    expect(grant).to.include({ taken: 1000, extra: 0 });
    const { slot } = grant!;
    counters.back(0, [{ counter: 't', windowMs: 60_000, slot, amount: 900 }]);
    expect(counters.take(0, [tokens(901, true)])).to.include({ remaining: 900 });
    counters.back(0, [{ counter: 't', windowMs: 60_000, slot, amount: -400 }]);
    expect(counters.take(0, [tokens(501, true)])).to.include({ remaining: 500 });
  });

  it('go on with what was counted before a restart, and with a clock that was set back', () => {
    const before = open();
    for (let i = 0; i < 10; i++) takeOne(before, wanted());
    const after = open();
    for (const { name, windowMs, text } of before.changes()) after.restore(name, windowMs, JSON.parse(text));
    expect(isGranted(after.take(0, [wanted()]))).to.equal(false);
    now -= 3_600_000;
    expect(isGranted(after.take(0, [wanted()]))).to.equal(false);
    now += 3_600_000;
  });

  describe('while the clock of the system is set back by an hour', () => {
    const { now: system } = Date;
    afterEach(() => {
      Date.now = system;
    });
    const perSecond = wanted({ windowMs: 1000, value: 2 });
    const taken = (counters: Counters): number => [1, 2, 3].filter(() => takeOne(counters, perSecond)).length;

    it('have room again after their window, and not before', async () => {
      const counters = new Counters({ workers: 1 });
      expect(taken(counters)).to.equal(2);
      Date.now = () => system() - 3_600_000;
      expect(taken(counters)).to.equal(0);
      await new Promise((later) => setTimeout(later, 1100));
      expect(taken(counters)).to.equal(2);
    });

    it('count what was counted before a restart for no longer than their window', async () => {
      const before = new Counters({ workers: 1 });
      expect(taken(before)).to.equal(2);
      Date.now = () => system() - 3_600_000;
      const after = new Counters({ workers: 1 });
      for (const { name, windowMs, text } of before.changes())
        after.restore(name, windowMs, JSON.parse(text));
      expect(taken(after)).to.equal(0);
      await new Promise((later) => setTimeout(later, 1100));
      expect(taken(after)).to.equal(2);
    });
  });
});
