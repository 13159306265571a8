import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Names a directory of this machine until the machine starts again. A copy has another, on this machine or elsewhere; the
 * directory is held by one process at a time, so a process that reported from this place before has ended.
 */
export function placeOf(dataDir: string): string {
  const { dev, ino } = statSync(dataDir);
  return createHash('sha256').update(`${bootId()}\n${dev}\n${ino}`).digest('hex').slice(0, 32);
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // Linux alone has it.
    return hostname();
  }
}
