import { dayMs } from '../buckets.js';
import { again, type InConnection, rollupsLock, transaction, type WorkConnection } from './postgres-work.js';
import { countedDays, daysToMake } from './valid-days.js';

/**
 * How many requests of each workspace came on each day that has ended, for the totals of pages of logs over a ledger in PostgreSQL. Cells
 * of rollups still count requests that were deleted; days of which any was are not read from here (`kept_from`).
 */
export const countsTable = 'day_counts';

const text = 'text COLLATE "C"';
const createCounts = `
  CREATE TABLE ${countsTable} (day integer NOT NULL, org ${text} NOT NULL, workspace ${text}, requests bigint NOT NULL);
  CREATE INDEX ${countsTable}_workspace ON ${countsTable} (org, workspace, day) INCLUDE (requests);
  CREATE INDEX ${countsTable}_day ON ${countsTable} (day);
  CREATE TABLE ${countedDays} (day integer PRIMARY KEY, snapshot pg_snapshot NOT NULL);`;

const countDay = (day: number): readonly string[] => [
  `INSERT INTO ${countedDays} (day, snapshot) VALUES (${day}, pg_current_snapshot())
    ON CONFLICT (day) DO UPDATE SET snapshot = excluded.snapshot`,
  `DELETE FROM ${countsTable} WHERE day = ${day}`,
  `INSERT INTO ${countsTable} (day, org, workspace, requests) SELECT ${day}, org, workspace, count(*)
    FROM exchanges WHERE "at" >= ${day * dayMs} AND "at" < ${(day + 1) * dayMs} GROUP BY org, workspace`,
];

/** Counts the requests of days that have ended: again where some have arrived late. */
export class PostgresCounts {
  #isPrepared = false;

  constructor(readonly inConnection: InConnection) {}

  /** Newest days first, for about `limitMs`. Resolves with how many days were counted. */
  count(now: number, limitMs: number): Promise<number> {
    const end = performance.now() + limitMs;
    return this.inConnection(async (connection) => {
      if (!this.#isPrepared) await prepareCounts(connection);
      this.#isPrepared = true;
      const today = Math.floor(now / dayMs);
      const days = await daysToMake(connection, today, 'counts');
      let counted = 0;
      for (const day of days) {
        if (performance.now() > end) break;
        await again(() => countOne(connection, day));
        counted++;
      }
      return counted;
    });
  }
}

export async function prepareCounts(connection: WorkConnection): Promise<void> {
  await transaction(connection, 'READ COMMITTED', async () => {
    await connection.query(`SELECT ${rollupsLock}`);
    const { rows } = await connection.query<{ found: boolean }>(
      `SELECT to_regclass('${countedDays}') IS NOT NULL AS found FROM pg_class LIMIT 1`,
    );
    if (rows[0]?.found !== true) await connection.query(createCounts);
  });
}

/** In one transaction. Fails if another node counts the same day at the same time; that node's result is kept. */
export async function countOne(connection: WorkConnection, day: number): Promise<void> {
  await transaction(connection, 'REPEATABLE READ', async () => {
    for (const statement of countDay(day)) await connection.query(statement);
  });
}
