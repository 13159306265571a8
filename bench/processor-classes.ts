import { spawnSync } from 'node:child_process';
import { constants, setPriority } from 'node:os';

/**
 * An administration's client, which in life runs on another machine, must not take the processors from what is
 * measured. The lowest priority alone does not see to that: a thread that wakes waits for the end of another one's slice, some
 * milliseconds. The idle class gives way at once; `chrt` is in util-linux.
 */
export function stepBack(pid: number): void {
  if (spawnSync('chrt', ['--all-tasks', '--idle', '--pid', '0', String(pid)]).status === 0) return;
  console.log(
    'chrt is missing: the administration takes time from what is measured, so the figures are too high',
  );
  setPriority(pid, constants.priority.PRIORITY_LOW);
}

/**
 * Client and provider of the model requests are on other machines too: they never wait for the gateway here. They too
 * need a scheduling class of their own: otherwise the running thread keeps the processor until its slice ends.
 */
export function stepForward(pids: readonly number[]): void {
  const classed = (pid: number): boolean =>
    spawnSync('chrt', ['--all-tasks', '--fifo', '--pid', '1', String(pid)]).status === 0;
  if (!pids.every(classed))
    console.log('no root, or no chrt: client and provider of the model requests wait here');
}
