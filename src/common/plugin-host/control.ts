import type { BudgetCounter, ChargedBudget, CounterSums } from '../core/charges.js';
import type { Awaitable } from '../core/directory.js';
import type { SharedServer } from '../ipc/shared.js';

import type { Logger } from './logger.js';

/** A Redis that the nodes of a deployment share. Commands without an answer in time reject. */
export interface Nodes {
  /** null: there is no such key. */
  get(key: string, withinMs: number): Promise<string | null>;
  /** `ttl`: seconds. */
  set(key: string, text: string, ttl: number, withinMs: number): Promise<void>;
  /**
   * Runs a Lua script as one step. The keys have one hash tag (`{tenant}`), so that a cluster has them on one server.
   * Numbers, texts and lists of them come back.
   */
  script<T>(lua: string, keys: readonly string[], args: readonly string[], withinMs?: number): Promise<T>;
  /** Reaches every node that subscribes, this one included. */
  publish(channel: string, text: string): Promise<void>;
  /** From now on, through every reconnection. What was published while Redis was away is lost. */
  subscribe(channel: string, listener: (text: string) => void): void;
}

/** A SQLite file of a stage's own. */
export interface StageDatabase {
  exec(sql: string): Promise<void>;
  /** Rows changed. */
  run(sql: string, parameters?: readonly unknown[]): Promise<number>;
  all<Row>(sql: string, parameters?: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

/** Vectors of texts, by scope, each with a key. Nothing here rejects. */
export interface Vectors {
  /** Keys of the nearest, nearest first; `similarity`: cosine, at least this. */
  nearest(scope: string, vector: Float32Array, similarity: number): Promise<string[]>;
  /** `ttl`: seconds. */
  add(scope: string, key: string, vector: Float32Array, ttl: number): Promise<void>;
  drop(scope: string, key: string): Promise<void>;
  close(): Promise<void>;
}

/** A run of a schedule. No other node makes one for the same due time. */
export interface ScheduledRun {
  /** Unix milliseconds. */
  readonly dueAt: number;
  /** Greater than that of every run of the schedule before. */
  readonly fence: number;
  /** Aborted when the node stops, or gave no sign of life for so long that the run is lost. */
  readonly signal: AbortSignal;
  /** Within a unit of work of the store: throws where the run is lost, so that the unit is undone. */
  confirm(): Promise<void>;
}

export type ScheduledWork = (run: ScheduledRun) => Promise<void>;

/** What requests have used of budgets, as the ledger has it. */
export interface SpentBudgets {
  /** This node, as in the sums. */
  readonly node: string;
  /** Do other nodes write into the ledger, too? */
  readonly isShared: boolean;
  /** Of this moment: what `charged` is called with later is not in it. Rejects where the ledger does not answer. */
  sums(organisationId: string, counters: readonly BudgetCounter[]): Promise<readonly CounterSums[]>;
  /** One listener. */
  listen(listener: SpentListener): void;
}

export interface SpentListener {
  /** The ledger has got charges of requests that a process of this node served. */
  charged(pid: number, charges: readonly ChargedBudget[]): void;
  /** All that a process has written before its end is in the ledger. */
  ended(pid: number): void;
  /** Someone has set this counter to 0, on this node. Resolves when what is used of it here is known again. */
  reset(organisationId: string, counter: BudgetCounter): Promise<void>;
}

/** The host of a stage's part in the control process. */
export interface ControlHost {
  readonly log: Logger;
  /** This end of the channel to the data workers. */
  readonly shared: SharedServer;
  /** null: the deployment has no Redis. */
  readonly nodes: Nodes | null;
  readonly dataDir: string;
  /** Data workers of this node. */
  readonly workers: number;
  readonly spent: SpentBudgets;
  openDatabase(path: string, pragmas: readonly string[]): Promise<StageDatabase>;
  /** Gives the work of one of the stage's `schedules`. While the part starts. */
  schedule(name: string, work: ScheduledWork): void;
  /** null: this deployment has none. `maxBytes`: beyond them the oldest go. */
  openVectors(maxBytes: number): Promise<Vectors | null>;
}

/** The running part of a stage in the control process. */
export interface RunningPart {
  /** A data worker's process has ended. */
  workerGone?(worker: number): void;
  close?(): Awaitable<void>;
}

/** Starts the part of a stage in the control process; the default export of its `control.ts`. `settings`: the stage's. */
export type ControlPart = (
  settings: Readonly<Record<string, unknown>>,
  host: ControlHost,
) => Awaitable<RunningPart>;
