import { scheduler } from 'node:timers/promises';
import type { ScheduledRun, ScheduledWork } from '../../common/plugin-host/control.js';
import type { Metric } from '../../common/plugin-host/metrics.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import type { ClaimedRun, ScheduleOutcome, ScheduleStore } from '../../control-plane/store/store.js';
import { isAway } from './away.js';

/** After the start of the node: it has requests to serve first. Milliseconds. */
const firstLookMs = 1000;
/** Between two looks where a schedule is due that another node runs, or the store is away. Milliseconds. */
const lookAgainMs = 500;
/** Another node may have changed an interval. Milliseconds. */
const longestSleepMs = 30_000;
const renewMs = 2500;
/** Runs have so long to end when the node stops. Milliseconds. */
const endMs = 4000;

export interface ScheduleRunnerOptions {
  readonly schedules: ScheduleStore;
  readonly nodeId: string;
  /** Seconds by the name of the schedule. */
  readonly intervals: Readonly<Record<string, number>>;
  readonly log: Logger;
  /** Unix milliseconds; stood in for by tests. */
  readonly clock?: () => number;
}

/** Does the work of schedules when it is due and no other node does it. */
export class ScheduleRunner {
  readonly #works = new Map<string, ScheduledWork>();
  readonly #running = new Map<
    ClaimedRun,
    { readonly ended: Promise<void>; readonly lost: AbortController }
  >();
  readonly #counts = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #renewing: NodeJS.Timeout | null = null;
  #looking: Promise<void> = Promise.resolve();
  #declared = false;
  #stopped = false;

  constructor(readonly options: ScheduleRunnerOptions) {}

  /** Adds the work of a schedule. Before `begin`. */
  add(name: string, work: ScheduledWork): void {
    if (this.options.intervals[name] === undefined)
      throw new Error(`There is no schedule ${name}: declare it with its interval.`);
    this.#works.set(name, work);
  }

  begin(): void {
    this.#sleep(firstLookMs);
    this.#renewing = setInterval(() => this.#renew(), renewMs).unref();
  }

  #sleep(ms: number): void {
    if (this.#stopped) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#looking = this.look().then(
        (next) => this.#sleep(next),
        (error: unknown) => {
          // The store is away: what was due meanwhile is made up for when it is back.
          if (!isAway(error)) this.options.log.error({ err: error }, 'schedules could not be looked at');
          this.#sleep(lookAgainMs);
        },
      );
    }, ms);
    this.#timer.unref();
  }

  /** Begins what is due. Resolves with the milliseconds until something may be due again. */
  async look(): Promise<number> {
    const { schedules, nodeId, intervals, log, clock = Date.now } = this.options;
    const names = [...this.#works.keys()];
    if (!this.#declared) {
      await schedules.declare(new Map(names.map((name) => [name, intervals[name]!])));
      this.#declared = true;
    }
    const { runs, lost, nextDueAt } = await schedules.claim(names, nodeId);
    for (const name of lost) {
      this.#count(name, 'lost');
      log.warn({ schedule: name }, 'the last run of a schedule was lost: its node gave no sign of life');
    }
    for (const run of runs) this.#run(run);
    if (nextDueAt === null) return longestSleepMs;
    const ms = nextDueAt - clock();
    return ms <= 0 ? lookAgainMs : Math.min(ms, longestSleepMs);
  }

  #run(run: ClaimedRun): void {
    const lost = new AbortController();
    const ended = this.#work(run, lost.signal).then(() => {
      this.#running.delete(run);
      // It may be due again already.
      if (this.#timer !== null && !this.#stopped) this.#sleep(0);
    });
    this.#running.set(run, { ended, lost });
  }

  async #work(claimed: ClaimedRun, signal: AbortSignal): Promise<void> {
    const { schedules, log } = this.options;
    const { name, dueAt, fence } = claimed;
    const run: ScheduledRun = { dueAt, fence, signal, confirm: () => schedules.confirm(claimed) };
    let outcome: 'done' | 'failed' = 'done';
    try {
      await this.#works.get(name)?.(run);
    } catch (error) {
      outcome = 'failed';
      log.error({ err: error, schedule: name }, 'a run of a schedule failed');
    }
    this.#count(name, outcome);
    try {
      await schedules.finish(claimed, outcome);
    } catch (error) {
      // Another node will find it lost.
      if (!isAway(error)) log.error({ err: error, schedule: name }, 'the end of a run was not recorded');
    }
  }

  #renew(): void {
    for (const [run, { lost }] of this.#running) {
      this.options.schedules.renew(run).then(
        (isOurs) => {
          if (!isOurs) lost.abort(new Error('Another node has taken this run for lost.'));
        },
        () => {},
      );
    }
  }

  /** Resolves when the runs that have begun have ended. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  /** Begins nothing any more. */
  stopLooking(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const { lost } of this.#running.values()) lost.abort(new Error('The node is stopping.'));
  }

  async stop(): Promise<void> {
    this.stopLooking();
    await this.#looking;
    // Those that began meanwhile.
    this.stopLooking();
    const enough = new AbortController();
    // What has not ended by then is found lost by another node.
    const late = scheduler.wait(endMs, { signal: enough.signal }).catch(() => {});
    await Promise.race([this.idle(), late]);
    enough.abort();
    if (this.#renewing !== null) clearInterval(this.#renewing);
  }

  #count(name: string, outcome: ScheduleOutcome): void {
    const key = `${name}\n${outcome}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  /** `gateway_schedule_runs_total`: runs of this node, and those that it has found lost. */
  metrics(): Metric[] {
    return [...this.#counts].map(([key, value]) => {
      const [schedule = '', outcome = ''] = key.split('\n');
      return { name: 'gateway_schedule_runs_total', labels: { schedule, outcome }, value };
    });
  }
}
