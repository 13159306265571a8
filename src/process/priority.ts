import { readdirSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/** Linux keeps a priority for each thread, and a new thread or process gets that of its creator. */
function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [pid];
  }
}

/**
 * Lowers the priority of this process by `by` (`nice`, 0 to 19), in favour of other processes; nothing happens
 * if the system does not allow it. Returns a function that gives a child the priority that this process had: it
 * inherits the lower one, and keeps that where only a privileged user may raise it again.
 */
export function stepBack(by: number): (child: number) => void {
  if (by === 0) return () => {};
  const before = getPriority();
  const give = (pid: number, priority: number): void => {
    try {
      for (const thread of threadsOf(pid)) setPriority(thread, priority);
    } catch {
      // Not allowed, or ended: it keeps its priority.
    }
  };
  give(process.pid, Math.min(19, before + by));
  return (child) => give(child, before);
}
