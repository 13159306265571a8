import type { FilterBounds, LogFilters } from '../../src/common/ledger/log-filters.js';
import type { LogFollowing, LogOrder, LogQuery } from '../../src/common/ledger/logs/log-query.js';
import type { LogSight } from '../../src/common/ledger/logs/log-sight.js';
import type { LedgerPage, LedgerRow, LogPage } from '../../src/common/ledger/record.js';

/** Plain computations of what a search of the ledger gives. */

const within = (value: number | null, { min, max }: FilterBounds): boolean =>
  (min === undefined && max === undefined) ||
  (value !== null &&
    value >= (min ?? Number.NEGATIVE_INFINITY) &&
    value <= (max ?? Number.POSITIVE_INFINITY));

const among = <T>(value: T | null, values: readonly T[]): boolean =>
  values.length === 0 || (value !== null && values.includes(value));

export const isInSight = ({ org, workspace, key }: LedgerRow, sight: LogSight): boolean =>
  org === sight.org &&
  (sight.workspaces === null || (workspace !== null && sight.workspaces.includes(workspace))) &&
  (workspace === null || !sight.except.includes(workspace)) &&
  (sight.keys === null || (key !== null && sight.keys.includes(key)));

/** `feedback`: the weighted average of the feedback at the row; null: none. */
export function matches(row: LedgerRow, filters: LogFilters, feedback: number | null = null): boolean {
  const model = row.modelUsed ?? row.modelAsked;
  const { input, output } = row.usage;
  return (
    within(row.at, filters.at) &&
    within(input + output, filters.totalTokens) &&
    within(input, filters.inputTokens) &&
    within(output, filters.outputTokens) &&
    within(row.cost, filters.cost) &&
    within(feedback, filters.weightedFeedback) &&
    among(row.status, filters.statuses) &&
    among(model, filters.models) &&
    (filters.providerModels.length === 0 ||
      filters.providerModels.some((pair) => pair.provider === row.provider && pair.model === model)) &&
    among(row.slug, filters.providerSlugs) &&
    among(row.config, filters.configs) &&
    among(row.prompt, filters.prompts) &&
    among(row.key, filters.keys) &&
    among(row.trace, filters.traces) &&
    among(row.span, filters.spans) &&
    among(row.cache, filters.cacheStatuses) &&
    Object.entries(filters.metadata).every(([name, value]) => row.metadata[name] === value)
  );
}

const sortValue = (row: LedgerRow, by: LogOrder['by']): number | null => {
  if (by === 'cost') return row.cost;
  if (by === 'total_units') return row.usage.input + row.usage.output;
  return by === 'response_time' ? row.totalMs : row.at;
};

/** `rows`: in the order in which they came in. */
export function pageOfRows(
  rows: readonly LedgerRow[],
  { sight, filters, order, offset, limit, isCounted }: LogQuery,
  feedback: (row: LedgerRow) => number | null = () => null,
): LogPage {
  const way = order.isAscending ? 1 : -1;
  const found = [...rows.entries()].filter(
    ([, row]) => isInSight(row, sight) && matches(row, filters, feedback(row)),
  );
  found.sort(([i, a], [j, b]) => {
    const [x, y] = [sortValue(a, order.by), sortValue(b, order.by)];
    if (x !== y && (x === null || y === null)) return x === null ? 1 : -1;
    return way * ((x ?? 0) - (y ?? 0) || a.at - b.at || i - j);
  });
  return {
    rows: found.slice(offset, offset + limit).map(([, row]) => row),
    total: isCounted ? found.length : null,
    cursor: String(rows.length),
  };
}

/** `rows`: as above; a cursor is a number of rows. */
export function rowsAfter(
  rows: readonly LedgerRow[],
  { sight, filters, after, limit }: LogFollowing,
): LedgerPage {
  const found = [...rows.entries()].filter(
    ([i, row]) => i >= Number(after) && isInSight(row, sight) && matches(row, filters),
  );
  const next = found[limit];
  return {
    rows: found.slice(0, limit).map(([, row]) => row),
    cursor: String(next === undefined ? rows.length : next[0]),
  };
}
