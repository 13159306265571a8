import type { AnomalyMetric } from '../../../common/ledger/alerts.js';

/** What passed through a workspace in five minutes. Means of logarithms hardly follow single requests. */
export interface TrafficSlot {
  readonly requests: number;
  /** Picodollars. */
  readonly cost: number;
  readonly errors: number;
  /** Requests that cost anything, and the mean of the logarithms of their costs. */
  readonly priced: number;
  readonly logCost: number;
  /** Mean of the logarithms of milliseconds. */
  readonly logLatency: number;
}

export const emptySlot: TrafficSlot = {
  requests: 0,
  cost: 0,
  errors: 0,
  priced: 0,
  logCost: 0,
  logLatency: 0,
};

/** A figure that differs; in the units of the API: cents, percent, milliseconds, requests. */
export interface TrafficDifference {
  readonly metric: AnomalyMetric;
  readonly value: number;
  readonly expected: number;
}

/** Distance from the median, in standard deviations: means of logarithms are nearly normal, counts less so, sums of costs least. */
const farDeviationsOfMeans = 4.5;
const farDeviations = 6.5;
const farDeviationsOfSums = 8;
/** Traffic, sums of costs, and averages have to be so many times what is usual: traffic differs most from hour to hour. */
const farTimesOfTraffic = 3;
const farTimesOfSums = 2.5;
const farTimesOfMeans = 2;
/** Two slots of one hour differ by so much anyway. */
const usualShare = 0.2;
/** The same of logarithms of averages. */
const leastDeviation = 0.1;
/** The standard deviation of normal values, divided by the first quartile of their distances. */
const perQuartile = 2.2219;
/** Fewer past slots with requests are not enough for an average. */
const leastSlots = 12;

/** Slots before the current one that have to be empty or nearly so, for a drop of traffic. */
export const dropSlots = 3;
const dropShare = 0.2;
const picosPerCent = 10_000_000_000;

/**
 * Compares the last five minutes with the same time in past weeks, by the median and the first quartile of the distances of pairs
 * (Rousseeuw and Croux's Qn): neither follows a past anomaly. `recent`: the newest slot first. `past`: of at least two weeks.
 */
export function differences(
  recent: readonly TrafficSlot[],
  past: readonly TrafficSlot[],
): TrafficDifference[] {
  const [now] = recent;
  if (now === undefined || past.length < leastSlots) return [];
  const found = [trafficOf(recent, past), costOf(now, past), errorsOf(now, past), latencyOf(now, past)];
  return found.filter((difference) => difference !== null);
}

function trafficOf(recent: readonly TrafficSlot[], past: readonly TrafficSlot[]): TrafficDifference | null {
  const now = recent[0]!.requests;
  const counts = past.map(({ requests }) => requests);
  const usual = median(counts);
  const difference = { metric: 'traffic', value: now, expected: usual } as const;
  const isMuch = now >= 20 && usual >= 5 && now >= farTimesOfTraffic * usual;
  const isDrop =
    usual >= 30 &&
    recent.length >= dropSlots &&
    recent.slice(0, dropSlots).every(({ requests }) => requests <= dropShare * usual);
  if (!isMuch && !isDrop) return null;
  const deviation = Math.max(deviationOf(counts), byChance(usual, usual));
  const far = isMuch ? farDeviations : farDeviations / 2;
  return Math.abs(now - usual) >= far * deviation ? difference : null;
}

/** The cost of all requests, or that of one. */
function costOf(now: TrafficSlot, past: readonly TrafficSlot[]): TrafficDifference | null {
  const costs = past.map(({ cost }) => cost);
  const usual = median(costs);
  const difference = {
    metric: 'cost',
    value: now.cost / picosPerCent,
    expected: usual / picosPerCent,
  } as const;
  const requests = median(past.map((slot) => slot.requests));
  if (now.requests >= 10 && requests >= 5 && usual > 0 && now.cost >= farTimesOfSums * usual) {
    const deviation = Math.max(deviationOf(costs), byChance(usual, requests));
    if (now.cost - usual >= farDeviationsOfSums * deviation) return difference;
  }
  const each = meanDifference(
    { count: now.priced, mean: now.logCost },
    past.map(({ priced, logCost }) => ({ count: priced, mean: logCost })),
  );
  return each !== null && now.cost >= 1.2 * usual ? difference : null;
}

function latencyOf(now: TrafficSlot, past: readonly TrafficSlot[]): TrafficDifference | null {
  const expected = meanDifference(
    { count: now.requests, mean: now.logLatency },
    past.map(({ requests, logLatency }) => ({ count: requests, mean: logLatency })),
  );
  return expected === null
    ? null
    : { metric: 'latency', value: Math.exp(now.logLatency), expected: Math.exp(expected) };
}

/** A mean of logarithms, of so many values. */
interface LogMean {
  readonly count: number;
  readonly mean: number;
}

/** The median of the means, where that of now is far above it; else null. */
function meanDifference(now: LogMean, past: readonly LogMean[]): number | null {
  const known = past.filter(({ count }) => count > 0);
  if (now.count < 5 || known.length < leastSlots) return null;
  const means = known.map(({ mean }) => mean);
  const usual = median(means);
  const above = now.mean - usual;
  if (above < Math.log(farTimesOfMeans)) return null;
  // A mean of fewer values varies more.
  const fewer = Math.max(1, median(known.map(({ count }) => count)) / now.count);
  const deviation = Math.max(deviationOf(means) * Math.sqrt(fewer), leastDeviation);
  return above >= farDeviationsOfMeans * deviation ? usual : null;
}

function errorsOf(now: TrafficSlot, past: readonly TrafficSlot[]): TrafficDifference | null {
  const rate = ({ errors, requests }: TrafficSlot): number => errors / requests;
  const served = past.filter(({ requests }) => requests > 0);
  if (now.requests < 20 || now.errors < 5 || served.length < leastSlots) return null;
  const rates = served.map(rate);
  const usual = median(rates);
  if (rate(now) < Math.max(usual + 0.05, farTimesOfMeans * usual)) return null;
  const total = { ...emptySlot, requests: sumOf(served, 'requests'), errors: sumOf(served, 'errors') };
  const share = Math.min(0.99, Math.max(0.01, usual, rate(total)));
  const deviation = Math.max(deviationOf(rates), Math.sqrt((share * (1 - share)) / now.requests));
  // The last term: a few errors may coincide by chance.
  const far = share + farDeviations * deviation + 3 / now.requests;
  return rate(now) >= far ? { metric: 'errors', value: 100 * rate(now), expected: 100 * usual } : null;
}

const sumOf = (slots: readonly TrafficSlot[], name: 'requests' | 'errors'): number =>
  slots.reduce((sum, slot) => sum + slot[name], 0);

/** By how much a sum over so many requests differs by chance, and from hour to hour. */
const byChance = (sum: number, requests: number): number =>
  sum * Math.sqrt(1 / Math.max(1, requests) + usualShare ** 2);

/** The standard deviation of normal values with these distances. */
function deviationOf(values: readonly number[]): number {
  const { length } = values;
  const distances = new Float64Array((length * (length - 1)) / 2);
  let count = 0;
  for (let i = 0; i < length; i++)
    for (let j = 0; j < i; j++) distances[count++] = Math.abs(values[i]! - values[j]!);
  const half = (length >> 1) + 1;
  const quartile = distances.sort()[(half * (half - 1)) / 2 - 1] ?? 0;
  // The estimate is too large for few values.
  return (perQuartile * quartile * length) / (length + (length % 2 === 1 ? 1.4 : 3.8));
}

function median(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}
