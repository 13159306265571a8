import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks a second of /proc (USER_HZ, 100 on every Linux we run on). */
const ticks = 100;

/** CPU seconds, user and system, of these processes so far, all their threads included. */
export function cpuSeconds(pids: readonly number[]): number {
  let sum = 0;
  for (const pid of pids) {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The second field is the name in brackets and may hold spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    sum += (Number(fields[11]) + Number(fields[12])) / ticks;
  }
  return sum;
}

/** Microseconds of the processor that all threads of a process have had so far, exact where `cpuSeconds` counts ticks. */
export function threadMicroseconds(pid: number): number {
  let sum = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      sum += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]) / 1000;
    } catch {
      // A thread that has just ended.
    }
  }
  return sum;
}

/** Resident bytes of these processes together. */
export function residentBytes(pids: readonly number[]): number {
  let sum = 0;
  for (const pid of pids) {
    const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
    sum += Number(line?.[1] ?? 0) * 1024;
  }
  return sum;
}

/** Bytes of memory of a process, in which a page that n processes share counts as one nth. */
export function proportionalBytes(pid: number): number {
  const line = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'));
  return Number(line?.[1] ?? 0) * 1024;
}

/** The processes whose parent is `pid`. */
export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}
