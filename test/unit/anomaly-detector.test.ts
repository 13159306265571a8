// lane: not quick
import { expect } from 'chai';
import { around } from '../../src/control-plane/analytics/anomalies/check.js';
import {
  differences,
  dropSlots,
  type TrafficDifference,
  type TrafficSlot,
} from '../../src/control-plane/analytics/anomalies/detector.js';
import { seeded } from '../support/seeded.js';

const weekMinutes = 7 * 24 * 60;
const picosPerCent = 1e10;
const seeds = Number(process.env['ANOMALY_SEEDS'] ?? 1);
/** Between two checks: every minute in the long form. */
const stepMinutes = Number(process.env['ANOMALY_STEP'] ?? 10);

interface Rhythm {
  readonly name: string;
  /** Requests in a minute, at noon. */
  readonly perMinute: number;
  /** How much costs and durations of requests differ: the standard deviation of their logarithm. */
  readonly spread: number;
  /** How much whole hours differ from the same hour of other weeks. */
  readonly hours: number;
}

const rhythms: readonly Rhythm[] = [
  { name: 'many equal requests', perMinute: 60, spread: 0.2, hours: 0.1 },
  { name: 'many requests that differ much', perMinute: 60, spread: 1, hours: 0.2 },
  { name: 'a few requests a minute', perMinute: 4, spread: 0.6, hours: 0.2 },
  { name: 'a request now and then', perMinute: 0.3, spread: 0.8, hours: 0.2 },
];

/** Weeks of traffic with a daily and a weekly rhythm and noise, in sums by minute. */
class Weeks {
  readonly #sums: Float64Array[];
  /** By their ends: most are asked for a hundred times. */
  readonly #slots: TrafficSlot[] = [];

  constructor(
    { perMinute, spread, hours }: Rhythm,
    weeks: number,
    seed: number,
    change: (minute: number) => Partial<Record<'traffic' | 'cost' | 'errors' | 'latency', number>>,
  ) {
    const random = seeded(seed);
    const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const minutes = weeks * weekMinutes;
    this.#sums = Array.from({ length: 5 }, () => new Float64Array(minutes + 1));
    let hourly = 1;
    for (let minute = 0; minute < minutes; minute++) {
      if (minute % 60 === 0) hourly = Math.exp(hours * normal());
      const day = Math.floor(minute / 1440) % 7;
      const rhythm = (0.55 + 0.45 * Math.sin((2 * Math.PI * (minute % 1440)) / 1440)) * (day < 5 ? 1 : 0.4);
      const { traffic = 1, cost = 1, errors = 1, latency = 1 } = change(minute);
      const mean = perMinute * rhythm * hourly * traffic;
      const requests =
        mean > 30
          ? Math.max(0, Math.round(mean + Math.sqrt(mean) * normal()))
          : (() => {
              let count = 0;
              for (let p = random(); p > Math.exp(-mean); p *= random()) count++;
              return count;
            })();
      const of = [requests, 0, 0, 0, 0];
      for (let i = 0; i < requests; i++) {
        const log = Math.log(cost * picosPerCent) + spread * normal();
        of[1]! += Math.exp(log);
        of[4]! += log;
        if (random() < 0.02 * errors) of[2]!++;
      }
      // The sum of as many logarithms, drawn at once.
      of[3] = requests * Math.log(800 * latency) + spread * Math.sqrt(requests) * normal();
      for (const [i, sums] of this.#sums.entries()) sums[minute + 1] = sums[minute]! + of[i]!;
    }
  }

  /** The five minutes before a minute. */
  #slot(end: number): TrafficSlot {
    this.#slots[end] ??= this.#sumsOf(end);
    return this.#slots[end];
  }

  #sumsOf(end: number): TrafficSlot {
    const [requests, cost, errors, latencies, costs] = this.#sums.map(
      (sums) => sums[end]! - sums[end - 5]!,
    ) as [number, number, number, number, number];
    const mean = (logs: number): number => (requests === 0 ? 0 : logs / requests);
    return {
      ...{ requests, cost, errors, priced: requests },
      ...{ logCost: mean(costs), logLatency: mean(latencies) },
    };
  }

  at(minute: number): TrafficDifference[] {
    const recent = Array.from({ length: dropSlots }, (_, i) => this.#slot(minute - 5 * i));
    const past: TrafficSlot[] = [];
    for (let week = 1; week <= 4; week++) {
      const middle = minute - week * weekMinutes;
      for (let slot = -around; slot <= around; slot++)
        if (middle + 5 * slot >= 5) past.push(this.#slot(middle + 5 * slot));
    }
    return differences(recent, past);
  }

  /** One for each time that a figure begins to differ; an hour later it begins again. */
  alarms(from: number, to: number): (TrafficDifference & { readonly minute: number })[] {
    const last = new Map<string, number>();
    const found: (TrafficDifference & { readonly minute: number })[] = [];
    for (let minute = from; minute < to; minute += stepMinutes) {
      for (const difference of this.at(minute)) {
        const before = last.get(difference.metric) ?? Number.NEGATIVE_INFINITY;
        if (minute - before > 65) found.push({ ...difference, minute });
        last.set(difference.metric, minute);
      }
    }
    return found;
  }
}

describe('anomalies', function () {
  this.timeout(120_000);

  for (const rhythm of rhythms) {
    it(`raise at most one false alarm in four weeks of a daily rhythm with noise: ${rhythm.name}`, () => {
      for (let seed = 1; seed <= seeds; seed++) {
        const weeks = new Weeks(rhythm, 6, seed, () => ({}));
        const alarms = weeks.alarms(2 * weekMinutes + 60, 6 * weekMinutes);
        expect(alarms.length, JSON.stringify({ seed, alarms })).to.be.at.most(1);
      }
    });
  }

  const begin = 2 * weekMinutes + 24 * 60 + 6 * 60;
  /** Until a quarter of an hour after that. */
  const untilChanged = (begin + 20) / weekMinutes;
  const changed =
    (change: Partial<Record<'traffic' | 'cost' | 'errors' | 'latency', number>>) => (minute: number) =>
      minute >= begin ? change : {};

  /** Minutes until the higher cost is reported, at most ten, or `null`. */
  const reportedAfter = (weeks: Weeks): number | null =>
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].find((minutes) =>
      weeks.at(begin + minutes).some(({ metric }) => metric === 'cost'),
    ) ?? null;

  for (const rhythm of rhythms.slice(0, 2)) {
    it(`find a tripled cost within 4 minutes: ${rhythm.name}`, () => {
      for (let seed = 1; seed <= seeds; seed++)
        expect(
          reportedAfter(new Weeks(rhythm, untilChanged, seed, changed({ cost: 3 }))),
          `seed ${seed}`,
        ).to.be.within(1, 4);
    });
  }

  it('find a tripled cost of four requests a minute within 5 minutes, 19 times of 20', () => {
    const minutes = Array.from({ length: 60 * seeds }, (_, seed) =>
      reportedAfter(new Weeks(rhythms[2]!, untilChanged, seed + 1, changed({ cost: 3 }))),
    );
    const late = minutes.filter((found) => found === null || found > 5);
    expect(late.length, JSON.stringify(late)).to.be.at.most(minutes.length / 20);
  });

  it('find more errors, longer answers, more traffic and none at all', () => {
    const [many] = rhythms as [Rhythm];
    const metrics = (change: Parameters<typeof changed>[0], minutes: number): string[] =>
      new Weeks(many, untilChanged, 7, changed(change)).at(begin + minutes).map(({ metric }) => metric);
    expect(metrics({ errors: 12 }, 5)).to.deep.equal(['errors']);
    expect(metrics({ latency: 3 }, 5)).to.deep.equal(['latency']);
    expect(metrics({ traffic: 4 }, 5)).to.have.members(['traffic', 'cost']);
    expect(metrics({ traffic: 0 }, 16)).to.deep.equal(['traffic']);
  });

  it('have the value and the median of past weeks in cents, percent, milliseconds and requests', () => {
    const [many] = rhythms as [Rhythm];
    const [cost] = new Weeks(many, untilChanged, 7, changed({ cost: 3 })).at(begin + 5);
    expect(cost!.value / cost!.expected).to.be.closeTo(3, 0.6);
    expect(cost!.expected).to.be.closeTo(300, 100);
  });
});
