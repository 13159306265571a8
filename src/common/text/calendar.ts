/** Dates on which periods begin, in UTC. Unix milliseconds. */

export const dayMs = 86_400_000;

export type Period = 'weekly' | 'monthly';

/** 00:00 of the day. */
export const dayOf = (at: number): number => Math.floor(at / dayMs) * dayMs;

/** 00:00 of the next Monday. */
function nextMonday(at: number): number {
  // 1970-01-01 was a Thursday: the Monday before it is three days back.
  const days = Math.floor(at / dayMs) + 3;
  return (days - (days % 7) + 4) * dayMs;
}

function nextFirst(at: number): number {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** When the period after the one of `at` begins: Monday, or the first of the month. */
export const nextPeriod = (period: Period, at: number): number =>
  period === 'weekly' ? nextMonday(at) : nextFirst(at);

/** 00:00 of the day that many days later. */
export const daysLater = (days: number, at: number): number => dayOf(at) + days * dayMs;
