import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Before the first start after a failure; twice as long before each further one, up to the longest. Milliseconds. */
const firstRestartMs = 500;
const longestRestartMs = 10_000;

/** Milliseconds before a worker is started again after so many failures in a row. `random`: 0 to 1, spreads workers by a quarter. */
export function restartDelay(failures: number, random: number): number {
  if (failures === 0) return 0;
  const delay = Math.min(longestRestartMs, firstRestartMs * 2 ** (failures - 1));
  return delay * (0.75 + random / 2);
}

/** Starts a data worker's process. Throws, or returns one without a pid that emits `error`, where the system refuses. */
export function forkWorker(): ChildProcess {
  return fork(fileURLToPath(new URL('../worker/data-worker.js', import.meta.url)), [], {
    // Bytes of the administration cross as they are: as base64 in JSON they cost each process three times as much.
    serialization: 'advanced',
    execArgv: [
      '--disable-proto=delete',
      // Node's code on large pages: a request runs through much of it, and finding it in memory is a tenth of its cost.
      '--use-largepages=silent',
      // V8's own limits let 32 MB of new and 64 MB of old garbage wait (docs/speed.md, "Memory").
      '--max-semi-space-size=4',
      '--initial-heap-size=40',
      '--heap-growing-percent=60',
    ],
  });
}

/** For an operator whose system refuses to start a process. */
export const notStarted = (error: Error): Error =>
  new Error(
    `A data worker cannot be started (${error.message}). Look at the limits of open files and processes (ulimit -n, ulimit -u).`,
    { cause: error },
  );
