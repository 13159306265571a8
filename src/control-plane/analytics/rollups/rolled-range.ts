import { dayMs } from '../buckets.js';
import type { AnalyticsQuestion, TimeRange } from '../question.js';

/** Which part of a range has cells: whole days, and the times of the requests that are counted one by one besides. */
export interface RolledRange {
  /** First and last day of each stretch. */
  readonly days: readonly (readonly [first: number, last: number])[];
  /** First and last moment of each stretch. */
  readonly times: readonly (readonly [min: number, max: number])[];
}

/** Shorter ranges have buckets of hours or minutes. */
const longMs = 14 * dayMs;

/** Cells are of workspaces: they have nothing of single keys, nor of what other filters leave. */
export function isAboutCells(
  { sight, filters }: Pick<AnalyticsQuestion, 'sight' | 'filters'>,
  range: TimeRange,
): boolean {
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
    range.max - range.min > longMs &&
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

/** `rolled`: the days that have cells, ascending. null: there are none, so that all requests are counted one by one. */
export function rolledRange({ min, max }: TimeRange, rolled: readonly number[]): RolledRange | null {
  if (rolled.length === 0) return null;
  const days: [number, number][] = [];
  for (const day of rolled) {
    const last = days.at(-1);
    if (last !== undefined && last[1] === day - 1) last[1] = day;
    else days.push([day, day]);
  }
  const times: [number, number][] = [];
  let from = min;
  for (const [first, last] of days) {
    if (from < first * dayMs) times.push([from, first * dayMs - 1]);
    from = (last + 1) * dayMs;
  }
  if (from <= max) times.push([from, max]);
  return { days, times };
}
