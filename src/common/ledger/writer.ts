import { readFileSync } from 'node:fs';

/**
 * A journal's files are named after their writer: `<worker>-<pid>-<n>.log`, bodies `….bodies`. `n` begins at the
 * writer's clock and only rises, so a name is never used twice even where process ids come round again (containers).
 */
export interface JournalFileName {
  readonly name: string;
  readonly worker: string;
  readonly pid: number;
  readonly n: number;
  readonly kind: 'log' | 'bodies';
}

const shape = /^(.+)-(\d+)-(\d+)\.(log|bodies)$/;

export function parseFileName(name: string): JournalFileName | null {
  const [, worker, pid, n, kind] = shape.exec(name) ?? [];
  if (worker === undefined || (kind !== 'log' && kind !== 'bodies')) return null;
  return { name, worker, pid: Number(pid), n: Number(n), kind };
}

export const fileName = (worker: string, pid: number, n: number, kind: 'log' | 'bodies'): string =>
  `${worker}-${pid}-${n}.${kind}`;

function startOf(pid: number): { ticks: string; state: string } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name, in parentheses, may hold anything; the fields after the last one are plain.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', ticks: fields[19] ?? '' };
  } catch {
    return null;
  }
}

/** It does not change while this process lives. */
let boot: string | null = null;

function bootId(): string {
  try {
    boot ??= readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return boot;
  } catch {
    return '';
  }
}

/** Distinguishes this process from a later one with the same process id. Empty where the system has no such value (not Linux). */
export function ownIdentity(): string {
  const start = startOf(process.pid);
  return start === null ? '' : `${bootId()}:${start.ticks}`;
}

/** Does the process that wrote a file still live? `identity` as its header has it; empty: only the id is known. */
export function isAlive(pid: number, identity: string): boolean {
  const start = startOf(pid);
  if (start !== null) {
    if (start.state === 'Z' || start.state === 'X') return false;
    return identity === '' || identity === `${bootId()}:${start.ticks}`;
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
