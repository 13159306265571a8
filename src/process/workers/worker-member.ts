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
  /** Has it looked anything up? Otherwise it has no cached record to forget. */
  asked: boolean;
  /** Monotonic milliseconds at which it was started, to slow down restarts of one that keeps failing. */
  startedAt: number;
  /** Monotonic milliseconds at which it got its settings; null: not yet. */
  initialisedAt: number | null;
  /** Changes of plugins before it got its settings. */
  pluginChanges: number;
  /** Bytes of memory that it uses. */
  memoryBytes: number;
  /** Another worker has replaced it: it finishes its requests and exits. */
  retired: boolean;
  /** Was it started beside the worker that it replaces? Then that one keeps serving if this one fails to start. */
  isExtra: boolean;
  /** Its process has ended, or never started. */
  ended: boolean;
}

export interface WorkerReport
  extends Pick<WorkerMember, 'ready' | 'inFlight' | 'loopDelayMs' | 'dropped' | 'metrics' | 'memoryBytes'> {
  readonly worker: number;
  readonly pid: number;
}

export const newMember = (number: number, child: ChildProcess, isExtra: boolean): WorkerMember => ({
  number,
  child,
  ready: false,
  lastBeat: performance.now(),
  loopDelayMs: 0,
  inFlight: 0,
  dropped: { records: 0, bodies: 0, lines: 0 },
  metrics: [],
  up: false,
  asked: false,
  startedAt: performance.now(),
  initialisedAt: null,
  pluginChanges: 0,
  memoryBytes: 0,
  retired: false,
  isExtra,
  ended: false,
});

export const reportOf = (member: WorkerMember): WorkerReport => {
  const { number, child, ready, inFlight, loopDelayMs, dropped, metrics, memoryBytes } = member;
  return { worker: number, pid: child.pid ?? 0, ready, inFlight, loopDelayMs, dropped, metrics, memoryBytes };
};

/** Resolves when it has ended. `drain` makes it finish its requests; after the deadline it is killed. */
export function stopMember(
  { child, ended }: WorkerMember,
  deadlineMs: number,
  drain: () => void,
): Promise<void> {
  return new Promise((resolve) => {
    if (ended || child.exitCode !== null || child.signalCode !== null) return resolve();
    const kill = setTimeout(() => child.kill('SIGKILL'), deadlineMs + 2000);
    child.once('exit', () => {
      clearTimeout(kill);
      resolve();
    });
    drain();
  });
}
