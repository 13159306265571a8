import { number } from './dialect.js';

/**
 * Percentiles are found in a histogram, by nearest rank. Of requests that are counted one by one a bin is 1.9 % wide, and the mean of
 * the bin is reported: it is off by less than 2 %. Bins of rollups are 3.8 % wide, and their middle is reported: it is off by less than 2 %.
 */
export const requestBinWidth = 0.019;
export const rolledBinWidth = 0.038;

export type Measure = 'total' | 'first';
/** The column of each, in microseconds. */
export const durationsOf: Readonly<Record<Measure, string>> = { total: 'total_us', first: 'first_byte_us' };

/** Durations by bins. `width`: of the bins of rollups; null: those of requests. */
export interface BinnedDurations {
  readonly from: string;
  readonly width: number | null;
}

/** Expression: the bin of a duration in microseconds. */
export const binOf = (us: string, width: number): string =>
  `CAST(floor(ln(${number(us)} + 1) / ${width}) AS INTEGER)`;

/** Expression: the duration at that share of all, of rows with `upto` and `of_all`. */
export const percentileOf = (share: number, width: number | null): string => {
  const value = width === null ? 'us / n' : `exp((${number('bin')} + 0.5) * ${width}) - 1`;
  return `min(CASE WHEN upto >= ceil(${share} * of_all - 0.000001) THEN ${value} END)`;
};

/** A histogram's rows with how many durations there are up to each. `by`: columns that a histogram each belongs to. */
export const cumulated = (histogram: string, by: readonly string[]): string => {
  const own = by.length === 0 ? '' : `PARTITION BY ${by.join(', ')} `;
  return `(SELECT *, sum(n) OVER (${own}ORDER BY bin) AS upto, sum(n) OVER (${own.trim()}) AS of_all FROM ${histogram}) AS histogram`;
};
