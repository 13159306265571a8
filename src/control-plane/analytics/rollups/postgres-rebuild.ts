import { dayMs } from '../buckets.js';
import { copyOne, prepareCopies } from './postgres-copies.js';
import { countOne, prepareCounts } from './postgres-counts.js';
import { PostgresRollups, prepareRollups, rollUpOne } from './postgres-rollups.js';
import { again, type InConnection, partitionedDays, type WorkConnection } from './postgres-work.js';

export interface RebuildProgress {
  readonly done: number;
  readonly total: number;
}

/** Another process rebuilds at the same time. */
export class RebuildIsRunning extends Error {}

/** Ends with the connection, also where its process was killed. */
const lock = "pg_try_advisory_lock(hashtext('headgate rebuild'), hashtext(current_schema()))";

/**
 * Makes rollups, copies and counts of all days that have ended again, newest first: a transaction each for a day, until whose end
 * questions read what was there before. Of requests that were deleted the cells stay. Resolves with the number of days.
 */
export async function rebuildAnalytics(
  inConnection: InConnection,
  now: number,
  onProgress: (progress: RebuildProgress) => void,
): Promise<number> {
  const days = await inConnection(async (connection) => {
    const { rows } = await connection.query<{ locked: boolean }>(`SELECT ${lock} AS locked`);
    if (rows[0]?.locked !== true) return null;
    for (const prepare of [prepareRollups, prepareCopies, prepareCounts]) await prepare(connection);
    const today = Math.floor(now / dayMs);
    const all = (await partitionedDays(connection, 'exchanges')).filter((day) => day < today);
    for (const [done, day] of all.sort((a, b) => b - a).entries()) {
      onProgress({ done, total: all.length });
      await rebuildOne(connection, day);
    }
    await new PostgresRollups((work) => work(connection)).rollUpWeeks();
    return all.length;
  });
  if (days === null) throw new RebuildIsRunning();
  return days;
}

async function rebuildOne(connection: WorkConnection, day: number): Promise<void> {
  await again(() => rollUpOne(connection, day, true));
  await again(() => countOne(connection, day));
  await again(() => copyOne(connection, day));
}
