import { expect } from 'chai';
import { fromUnits, toUnits } from '../../src/common/core/budget-rules.js';
import {
  broughtTo,
  currentPeriod,
  startedAgain,
} from '../../src/control-plane/store/records/budget-periods.js';
import type { UsageLimits } from '../../src/control-plane/store/records/usage-limits.js';

const day = 86_400_000;
const created = Date.UTC(2026, 5, 3, 12);
const monday = Date.UTC(2026, 5, 8);

const weekly: UsageLimits = {
  type: 'cost',
  creditLimit: 10,
  alertThreshold: null,
  periodicReset: 'weekly',
  periodicResetDays: null,
  nextUsageResetAt: monday,
  lastResetAt: null,
};

describe('periods of budgets', () => {
  it('begin with what the budget is set on, and then at each reset', () => {
    expect(currentPeriod(weekly, created, monday - 1)).to.deep.equal({ startsAt: created, endsAt: monday });
    expect(currentPeriod(weekly, created, monday + 15 * day)).to.deep.equal({
      startsAt: monday + 14 * day,
      endsAt: monday + 21 * day,
    });
  });

  it('stay the same when another period is set after some have ended', () => {
    const now = monday + 15 * day;
    const current = broughtTo(weekly, created, now);
    expect(current).to.deep.include({ lastResetAt: monday + 14 * day, nextUsageResetAt: monday + 21 * day });
    const first = Date.UTC(2026, 6, 1);
    const monthly = { ...current, periodicReset: 'monthly' as const, nextUsageResetAt: first };
    expect(currentPeriod(monthly, created, now)).to.deep.equal({
      startsAt: monday + 14 * day,
      endsAt: first,
    });
  });

  it('are stored as they were where none has ended', () => {
    expect(broughtTo(weekly, created, monday - 1)).to.equal(weekly);
  });

  it('start again by hand, and end when they would have ended', () => {
    const now = monday + 15 * day;
    const again = startedAgain(weekly, created, now);
    expect(currentPeriod(again, created, now)).to.deep.equal({ startsAt: now, endsAt: monday + 21 * day });
    // Twice in a millisecond: each has a counter of its own.
    const twice = startedAgain(again, created, now);
    expect(twice.lastResetAt).to.equal(now + 1);
  });

  it('end for good with a reset that is to be the only one', () => {
    const once = { ...weekly, periodicReset: null };
    expect(broughtTo(once, created, monday)).to.deep.include({ lastResetAt: monday, nextUsageResetAt: null });
  });

  it('count money in nanodollars', () => {
    expect(toUnits('cost', 10.5)).to.equal(10_500_000_000);
    expect(fromUnits('cost', 123_456_789)).to.equal(0.123456789);
    expect([toUnits('tokens', 7), fromUnits('requests', 7)]).to.deep.equal([7, 7]);
  });
});
