import type { CoursePoint } from '../../../common/ledger/budgets.js';
import { dayMs } from '../../../common/text/calendar.js';

const hourMs = 3_600_000;

/** What is known of a budget's period. Amounts in the unit of the budget, times in Unix milliseconds. */
export interface Course {
  readonly startsAt: number;
  /** null: it never ends. */
  readonly endsAt: number | null;
  readonly limit: number;
  readonly used: number;
  /** When its usage was set to 0 within the period; null: never. */
  readonly resetAt: number | null;
  /** What was used before the first of the points. */
  readonly before: number;
  /** As `LedgerBudgets.courses` gives them. */
  readonly points: readonly CoursePoint[];
}

export interface Forecast {
  /** At the end of the period, if usage goes on as before; null: the period has no end. */
  readonly usage: number | null;
  /** When the limit will be reached; null: not in this period (without an end: not within a year). */
  readonly exhaustedAt: number | null;
}

/** How far ahead the limit of a period without an end is looked for. */
const longestMs = 365 * dayMs;

/** A course shorter than this part of its period, or than an hour, is taken to be so long: its first requests are no rate. */
const leastPart = 0.01;

/** Up to this length periods have a point for each hour, others one for each day. */
const shortMs = 8 * dayMs;

/**
 * Usage goes on at the mean of two rates: that of the period so far, and that of its last 7 days (of periods of at most 8 days:
 * of its last 24 hours). A burst that is over counts less and less, and a week has each of its days once.
 */
export function forecastOf(course: Course, now: number): Forecast {
  const { startsAt, endsAt, limit, used, resetAt } = course;
  const from = Math.max(startsAt, resetAt ?? startsAt);
  const least = Math.max(hourMs, endsAt === null ? 0 : (endsAt - startsAt) * leastPart);
  if (used <= 0) return { usage: endsAt === null ? null : 0, exhaustedAt: null };
  const rate = (used / Math.max(least, now - from) + recentRate(course, from, now, least)) / 2;
  const usage = endsAt === null ? null : used + rate * Math.max(0, endsAt - now);
  const reachedAt = now + Math.max(0, limit - used) / rate;
  const isReached = reachedAt <= (endsAt ?? now + longestMs);
  return { usage, exhaustedAt: isReached ? Math.round(reachedAt) : null };
}

const isShort = ({ startsAt, endsAt }: Pick<Course, 'startsAt' | 'endsAt'>): boolean =>
  endsAt !== null && endsAt - startsAt <= shortMs;

/** From when on a forecast needs the course of a period. Unix milliseconds. */
export const recentSince = (period: Pick<Course, 'startsAt' | 'endsAt'>, now: number): number =>
  Math.max(period.startsAt, now - (isShort(period) ? dayMs : 7 * dayMs));

function recentRate(course: Course, from: number, now: number, least: number): number {
  const { before, points } = course;
  const since = Math.max(from, recentSince(course, now));
  const all = points.at(-1)?.used ?? before;
  return Math.max(0, all - usedBy(course, since, now)) / Math.max(least, now - since);
}

/** Usage up to `at`: within the hour or day of a point it grew evenly, up to `now` in that of now. */
function usedBy(course: Course, at: number, now: number): number {
  const pointMs = isShort(course) ? hourMs : dayMs;
  let { before } = course;
  for (const point of course.points) {
    const begin = point.at - pointMs;
    const end = Math.min(point.at, now);
    if (at <= begin) return before;
    if (at < end) return before + ((point.used - before) * (at - begin)) / (end - begin);
    before = point.used;
  }
  return before;
}
