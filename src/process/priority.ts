import { readdirSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/** Linux keeps a priority for each thread, and gives a new thread or process that of the one it is made by. */
function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [pid];
  }
}

/**
 * Lowers the priority of this process by so much (`nice`, 0 to 19), for what else runs on the machine; nothing happens
 * where the system does not allow it. Returns a function that gives a child the priority that this process had: it
 * inherits the lower one, and keeps that where only a privileged user may raise it again.
 */
export function stepBack(by: number): (child: number) => void {
  if (by === 0) return () => {};
  const before = getPriority();
  const give = (pid: number, priority: number): void => {
    try {
      for (const thread of threadsOf(pid)) setPriority(thread, priority);
    } catch {
      // Not allowed, or gone: what it has is good enough.
    }
  };
  give(process.pid, Math.min(19, before + by));
  return (child) => give(child, before);
}
