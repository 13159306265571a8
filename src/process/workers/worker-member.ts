import type { ChildProcess } from 'node:child_process';
import type { Dropped } from '../../common/ipc/messages.js';
import type { Metric } from '../../common/plugin-host/metrics.js';

/** A data worker as the control process sees it. */
export interface WorkerMember {
  readonly number: number;
  child: ChildProcess;
  ready: boolean;
  lastBeat: number;
  loopDelayMs: number;
  inFlight: number;
  dropped: Dropped;
  metrics: readonly Metric[];
  /** Its process has loaded its code and waits for its settings. */
  up: boolean;
  /** Has it asked for anything? One that has not remembers nothing that it would have to forget. */
  asked: boolean;
  /** Monotonic milliseconds at which it was started, to slow down restarts of one that keeps failing. */
  startedAt: number;
  /** Monotonic milliseconds at which it got its settings; null: not yet. */
  initialisedAt: number | null;
  /** Changes of plugins before it got its settings. */
  pluginChanges: number;
  /** Its process has ended, or never started. */
  ended: boolean;
}

export interface WorkerReport
  extends Pick<WorkerMember, 'ready' | 'inFlight' | 'loopDelayMs' | 'dropped' | 'metrics'> {
  readonly worker: number;
  readonly pid: number;
}
