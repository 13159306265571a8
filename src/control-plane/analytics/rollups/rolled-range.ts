import { dayMs } from '../buckets.js';
import type { AnalyticsQuestion, TimeRange } from '../question.js';

export type Stretch = readonly [first: number, last: number];

/** Which part of a range has cells: whole days, and the times of the requests that are counted one by one besides. */
export interface RolledRange {
  /** First and last day of each stretch. */
  readonly days: readonly Stretch[];
  /** First and last moment of each stretch. */
  readonly times: readonly Stretch[];
  /** The same days where cells of weeks are used; null: there are none. */
  readonly inWeeks: DaysInWeeks | null;
}

export interface DaysInWeeks {
  /** First days of the weeks: the first and the last one of each stretch. */
  readonly weeks: readonly Stretch[];
  /** The days in these weeks, and all others. */
  readonly daysOfWeeks: readonly Stretch[];
  readonly otherDays: readonly Stretch[];
}

/** Cells are of workspaces: they have nothing of single keys, nor of what other filters leave. */
export function isAboutCells({ sight, filters }: Pick<AnalyticsQuestion, 'sight' | 'filters'>): boolean {
  const {
    at: _,
    metadata,
    totalTokens,
    inputTokens,
    outputTokens,
    cost,
    weightedFeedback,
    ...lists
  } = filters;
  const bounds = [totalTokens, inputTokens, outputTokens, cost, weightedFeedback];
  return (
    sight.keys === null &&
    Object.keys(metadata).length === 0 &&
    bounds.every(({ min, max }) => min === undefined && max === undefined) &&
    Object.values(lists).every((values) => values.length === 0)
  );
}

/** The whole days of a range: the only ones whose cells can be used. */
export const wholeDays = ({ min, max }: TimeRange): { readonly first: number; readonly last: number } => ({
  first: Math.ceil(min / dayMs),
  last: Math.floor((max + 1) / dayMs) - 1,
});

/**
 * `rolled`: the days that have cells, ascending; `weeks`: first days of weeks that have. null: there are none, so that all requests are
 * counted one by one.
 */
export function rolledRange(
  { min, max }: TimeRange,
  rolled: readonly number[],
  weeks: readonly number[] = [],
): RolledRange | null {
  if (rolled.length === 0) return null;
  const days = stretchesOf(rolled);
  const times: [number, number][] = [];
  let from = min;
  for (const [first, last] of days) {
    if (from < first * dayMs) times.push([from, first * dayMs - 1]);
    from = (last + 1) * dayMs;
  }
  if (from <= max) times.push([from, max]);
  return { days, times, inWeeks: daysInWeeks(rolled, weeks) };
}

const weekDays = 7;

function daysInWeeks(days: readonly number[], weeks: readonly number[]): DaysInWeeks | null {
  const all = new Set(days);
  const daysOf = (first: number): number[] => Array.from({ length: weekDays }, (_, i) => first + i);
  const whole = weeks.filter((first) => daysOf(first).every((day) => all.has(day)));
  if (whole.length === 0) return null;
  const inWeeks = new Set(whole.flatMap(daysOf));
  return {
    weeks: stretchesOf(whole, weekDays),
    daysOfWeeks: stretchesOf([...inWeeks]),
    otherDays: stretchesOf(days.filter((day) => !inWeeks.has(day))),
  };
}

/** `days`: ascending. `step`: between those of one stretch. */
function stretchesOf(days: readonly number[], step = 1): readonly Stretch[] {
  const stretches: [number, number][] = [];
  for (const day of days) {
    const last = stretches.at(-1);
    if (last !== undefined && last[1] === day - step) last[1] = day;
    else stretches.push([day, day]);
  }
  return stretches;
}
