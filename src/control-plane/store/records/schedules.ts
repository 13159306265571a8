import type { Listed, Page } from './place.js';

/** A run has so long between two signs of life of its node; then it is lost. Milliseconds. */
export const leaseMs = 10_000;

export interface Schedule {
  readonly name: string;
  readonly intervalS: number;
  /** Unix milliseconds, by the clocks of the nodes. */
  readonly nextDueAt: number;
  /** null: it has not run yet. */
  readonly lastRun: ScheduleRun | null;
}

/** `lost`: its node gave no sign of life; the next due time does its work. */
export type ScheduleOutcome = 'done' | 'failed' | 'lost';

export interface ScheduleRun {
  readonly dueAt: number;
  readonly nodeId: string;
  /** Unix milliseconds, by the database's clock. */
  readonly startedAt: number;
  /** null: it runs. */
  readonly endedAt: number | null;
  readonly outcome: 'running' | ScheduleOutcome;
}

/** A run that this node makes. */
export interface ClaimedRun {
  readonly name: string;
  readonly dueAt: number;
  /** Greater than that of every run of the schedule before. */
  readonly fence: number;
}

export interface Claims {
  readonly runs: readonly ClaimedRun[];
  /** Names of schedules whose runs were found lost. */
  readonly lost: readonly string[];
  /** When one of the schedules is due next; null: there are none. In the past: one waits for a run that goes on. */
  readonly nextDueAt: number | null;
}

export interface ScheduleStore {
  /** Makes these schedules, and gives those that are there already these intervals in seconds. */
  declare(intervals: ReadonlyMap<string, number>): Promise<void>;
  /** Takes the runs of these schedules that are due. No other node gets one of them, now or later. */
  claim(names: readonly string[], nodeId: string): Promise<Claims>;
  /** A sign of life. false: the run is lost. */
  renew(run: ClaimedRun): Promise<boolean>;
  /** Joins the unit of work: throws where the run is lost, and until the unit has ended it is not. */
  confirm(run: ClaimedRun): Promise<void>;
  /** false: it was lost before. */
  finish(run: ClaimedRun, outcome: 'done' | 'failed'): Promise<boolean>;
  /** By name. */
  list(): Promise<readonly Schedule[]>;
  /** Newest first; null: there is no such schedule. */
  runs(name: string, page: Page): Promise<Listed<ScheduleRun> | null>;
  prune(): Promise<void>;
}
