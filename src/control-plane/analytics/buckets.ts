import type { TimeRange } from './question.js';

export const minuteMs = 60_000;
export const hourMs = 3_600_000;
export const dayMs = 86_400_000;

/** Beyond this many, days before the first request and after the last one are left out: eleven years. */
const mostBuckets = 4000;
/** With requests of more days than these, the oldest are left out: a century. */
const mostWithRequests = 36_525;

/** How wide the buckets of a range are, in milliseconds: minutes, hours or days (UTC). */
export function bucketWidth({ min, max }: TimeRange): number {
  const ms = max - min;
  if (ms <= 6 * hourMs) return minuteMs;
  return ms <= 14 * dayMs ? hourMs : dayMs;
}

/** Numbers of the first and the last bucket. `found`: of those that have requests; null: none has. */
export function bucketsOf(
  range: TimeRange,
  width: number,
  found: { readonly first: number; readonly last: number } | null,
): { readonly first: number; readonly last: number } {
  const first = Math.floor(range.min / width);
  const last = Math.floor(range.max / width);
  if (last - first < mostBuckets) return { first, last };
  if (found === null) return { first: last, last };
  return { first: Math.max(found.first, found.last - mostWithRequests), last: found.last };
}
