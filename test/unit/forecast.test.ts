import { expect } from 'chai';
import { type Course, forecastOf } from '../../src/control-plane/administration/usage/forecast.js';

const hour = 3_600_000;
const day = 24 * hour;
const monday = Date.UTC(2026, 5, 1);

/** A course whose usage in each hour or day, from the start on, is given. */
function course(
  pointMs: number,
  days: number | null,
  parts: readonly number[],
  more: Partial<Course> = {},
): Course {
  let used = 0;
  const points = parts.flatMap((part, i) => {
    used += part;
    return part === 0 ? [] : [{ at: monday + (i + 1) * pointMs, used }];
  });
  const endsAt = days === null ? null : monday + days * day;
  return { startsAt: monday, endsAt, limit: 1000, used, resetAt: null, before: 0, points, ...more };
}

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

describe('forecast of a budget', () => {
  it('goes on with the rate of a steady course', () => {
    const steady = course(day, 30, times(10, 20));
    const { usage, exhaustedAt } = forecastOf(steady, monday + 10 * day);
    expect(usage).to.be.closeTo(600, 1e-6);
    expect(exhaustedAt).to.equal(null);
  });

  it('names the time at which the limit is reached, if that is within the period', () => {
    const now = monday + 10 * day;
    const fast = forecastOf(course(day, 30, times(10, 50)), now);
    expect(fast.usage).to.be.closeTo(1500, 1e-6);
    expect(fast.exhaustedAt).to.equal(now + 10 * day);
    const justEnough = forecastOf(course(day, 30, times(10, 50), { limit: 1500 }), now);
    expect(justEnough.exhaustedAt).to.equal(monday + 30 * day);
    expect(forecastOf(course(day, 30, times(10, 50), { limit: 1501 }), now).exhaustedAt).to.equal(null);
  });

  it('counts a burst that is over for less, and one of now for more, than the mean does', () => {
    const now = monday + 20 * day;
    const over = forecastOf(course(day, 30, [200, ...times(19, 0)]), now);
    const mean = 300;
    expect(over.usage).to.be.greaterThan(200).and.lessThan(mean);
    const fresh = forecastOf(course(day, 30, [...times(19, 0), 200]), now);
    expect(fresh.usage).to.be.greaterThan(mean);
  });

  it('stays between what was used and the mean while nothing is used any more', () => {
    const now = monday + 20 * day;
    const idle = forecastOf(course(day, 30, [...times(10, 10), ...times(10, 0)]), now);
    expect(idle.usage).to.be.closeTo(100 + (100 / 20 / 2) * 10, 1e-6);
  });

  it('looks at the last day of a week, and at the last week of a month', () => {
    const now = monday + 4 * day;
    const hours = [...times(72, 1), ...times(24, 3)];
    const week = forecastOf(course(hour, 7, hours), now);
    const [perHour, recent] = [144 / 96, 3];
    expect(week.usage).to.be.closeTo(144 + ((perHour + recent) / 2) * 72, 1e-6);
    // Weekdays alone are used: a week has two free days, whichever day is today.
    const workdays = times(3, [...times(5, 14), 0, 0]).flat();
    const month = forecastOf(course(day, 28, workdays), monday + 21 * day);
    expect(month.usage).to.be.closeTo(280, 1e-6);
  });

  it('takes an hour or a day that is not over yet for the part that is', () => {
    const now = monday + 9 * day + 12 * hour;
    const half = course(day, 30, [...times(9, 20), 10]);
    expect(forecastOf(half, now).usage).to.be.closeTo(600, 1e-6);
  });

  it('takes a period that has just begun for an hour old, or for a hundredth of its length', () => {
    const one = course(hour, 7, [5]);
    const least = 1.68;
    for (const age of [0.01, 0.5, least])
      expect(forecastOf(one, monday + age * hour).usage).to.be.closeTo(5 + (5 / least) * (168 - age), 1e-6);
    expect(forecastOf(one, monday + 2 * hour).usage).to.be.closeTo(5 * 84, 1e-6);
    const short = course(hour, 1, [5]);
    expect(forecastOf(short, monday + hour / 2).usage).to.be.closeTo(5 + 5 * 23.5, 1e-6);
  });

  it('is 0 where nothing was used', () => {
    const none = { usage: 0, exhaustedAt: null };
    expect(forecastOf(course(day, 30, []), monday + 20 * day)).to.deep.equal(none);
    expect(forecastOf(course(day, null, []), monday)).to.deep.equal({ ...none, usage: null });
  });

  it('starts again with a reset within the period', () => {
    const now = monday + 12 * day;
    // 500 were used and taken away: 20 a day since.
    const points = [
      { at: monday + 10 * day, used: 0 },
      { at: monday + 12 * day, used: 40 },
    ];
    const reset = course(day, 30, [], { points, used: 40, resetAt: monday + 10 * day });
    expect(forecastOf(reset, now).usage).to.be.closeTo(40 + 20 * 18, 21);
  });

  it('has no usage to name where the period never ends, but the day on which the limit is reached', () => {
    const now = monday + 10 * day;
    const { usage, exhaustedAt } = forecastOf(course(day, null, times(10, 10)), now);
    expect(usage).to.equal(null);
    expect(exhaustedAt).to.equal(now + 90 * day);
    expect(forecastOf(course(day, null, times(10, 1)), now).exhaustedAt).to.equal(null);
  });
});
