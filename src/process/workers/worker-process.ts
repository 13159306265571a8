import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Before the first start after a failure; twice as long before each further one, up to the longest. Milliseconds. */
const firstRestartMs = 500;
const longestRestartMs = 10_000;

/**
 * Milliseconds before a worker is restarted after `failures` failures in a row. `random`: 0 to 1, varies the delay by a
 * quarter.
 */
export function restartDelay(failures: number, random: number): number {
  if (failures === 0) return 0;
  const delay = Math.min(longestRestartMs, firstRestartMs * 2 ** (failures - 1));
  return delay * (0.75 + random / 2);
}

/** Starts a data worker's process. If the system refuses, throws or returns one without a pid that emits `error`. */
export function forkWorker(): ChildProcess {
  return fork(fileURLToPath(new URL('../worker/data-worker.js', import.meta.url)), [], {
    // Sends the administration's bytes directly: as base64 in JSON they cost each process three times as much.
    // The last one is for reports of a thread that watches plugins.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc', 'pipe'],
    serialization: 'advanced',
    execArgv: [
      '--disable-proto=delete',
      // Node's code on large pages: a request executes much of it, and address translation is a tenth of its cost.
      '--use-largepages=silent',
      // V8's default limits keep 32 MB of new and 64 MB of old garbage (docs/speed.md, "Memory").
      '--max-semi-space-size=4',
      '--initial-heap-size=40',
      '--heap-growing-percent=60',
    ],
  });
}

/** The error for the operator if the system refuses to start a process. */
export const notStarted = (error: Error): Error =>
  new Error(
    `A data worker cannot be started (${error.message}). Look at the limits of open files and processes (ulimit -n, ulimit -u).`,
    { cause: error },
  );
