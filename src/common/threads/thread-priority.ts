import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { isMainThread } from 'node:worker_threads';

/** Nice value of a thread that has less of a processor than the event loop where both want it. */
const niceness = 10;

/** Gives the calling thread, unless it is the process's first one, less of a processor than the event loop. Linux only. */
export function lowerThreadPriority(): void {
  if (isMainThread) return;
  try {
    // On Linux a thread has a priority of its own, by its number.
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), niceness);
  } catch {
    // Elsewhere it has that of its process.
  }
}
