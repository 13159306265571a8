import type { LogFilters } from '../../../common/ledger/log-filters.js';
import { dayMs } from '../buckets.js';
import type { AnalyticsQuestion, GroupName, TimeRange } from '../question.js';

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

/** A filter by a group that has cells of its own. `keys`: the keys of the group that match. */
export interface CellFilter {
  readonly by: Exclude<GroupName, 'workspace'>;
  readonly keys: readonly string[];
}

/** Filters by lists that cells are grouped by. */
const groupsOfLists = {
  models: 'model',
  providerSlugs: 'provider',
  configs: 'config',
  prompts: 'prompt',
  keys: 'api_key',
  statuses: 'status_code',
} as const satisfies Partial<Record<keyof LogFilters, CellFilter['by']>>;

/** What is common to all cells that a question may be answered by. `filter` null: it has no filter. */
export interface FilteredCells {
  readonly filter: CellFilter | null;
}

/** Each cell is of one workspace and one group, so that it cannot answer other filters, or several. null: requests are counted. */
export function filteredCells({
  sight,
  filters,
}: Pick<AnalyticsQuestion, 'sight' | 'filters'>): FilteredCells | null {
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
  if (Object.keys(metadata).length > 0) return null;
  if (bounds.some(({ min, max }) => min !== undefined || max !== undefined)) return null;
  const given = Object.entries(lists).filter(([, values]) => values.length > 0);
  if (sight.keys !== null) {
    const { keys } = lists;
    if (given.some(([name]) => name !== 'keys')) return null;
    const own = sight.keys.filter((key) => keys.length === 0 || keys.includes(key));
    return { filter: { by: 'api_key', keys: own } };
  }
  const [first] = given;
  if (first === undefined) return { filter: null };
  const [name, values] = first;
  if (given.length > 1 || !Object.hasOwn(groupsOfLists, name)) return null;
  return { filter: { by: groupsOfLists[name as keyof typeof groupsOfLists], keys: values.map(String) } };
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
export function stretchesOf(days: readonly number[], step = 1): readonly Stretch[] {
  const stretches: [number, number][] = [];
  for (const day of days) {
    const last = stretches.at(-1);
    if (last !== undefined && last[1] === day - step) last[1] = day;
    else stretches.push([day, day]);
  }
  return stretches;
}
