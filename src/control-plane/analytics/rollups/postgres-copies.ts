import { dayMs } from '../buckets.js';
import { PostgresAnalytics } from '../postgres.js';
import { copyDay, copyOf, createCopies, createCopy } from './copied-requests.js';
import {
  again,
  type InConnection,
  partitionedDays,
  rollupsLock,
  transaction,
  type WorkConnection,
} from './postgres-work.js';
import { daysToMake, forgetMoves, prepareFeedbackIndex } from './valid-days.js';

/** Copies the requests of days that have ended: again where they have changed. */
export class PostgresCopies {
  #isPrepared = false;

  constructor(readonly inConnection: InConnection) {}

  /** Newest days first, for about `limitMs`. Resolves with how many days were copied. */
  copy(now: number, limitMs: number): Promise<number> {
    const end = performance.now() + limitMs;
    return this.inConnection(async (connection) => {
      if (!this.#isPrepared) await prepareCopies(connection);
      this.#isPrepared = true;
      const today = Math.floor(now / dayMs);
      const days = await daysToMake(connection, today, 'requests');
      let copied = 0;
      for (const day of days) {
        if (performance.now() > end) break;
        await again(() => copyOne(connection, day));
        copied++;
      }
      const { rows } = await connection.query<{ found: boolean }>(
        "SELECT to_regclass('rolled_days') IS NOT NULL AS found",
      );
      if (rows[0]?.found === true) await connection.query(forgetMoves);
      return copied;
    });
  }
}

export async function prepareCopies(connection: WorkConnection): Promise<void> {
  await transaction(connection, 'READ COMMITTED', async () => {
    await connection.query(`SELECT ${rollupsLock}`);
    const { rows } = await connection.query<{ found: boolean }>(
      "SELECT to_regclass('copied_days') IS NOT NULL AS found FROM pg_class LIMIT 1",
    );
    if (rows[0]?.found !== true) await connection.query(createCopies);
    await prepareFeedbackIndex(connection);
  });
}

/** In one transaction. It fails if another node copies the same day at the same time: the day is copied nevertheless. */
export async function copyOne(connection: WorkConnection, day: number): Promise<void> {
  if (!(await partitionedDays(connection, 'copied_requests')).includes(day))
    await transaction(connection, 'READ COMMITTED', async () => {
      await connection.query(createCopy(day));
    });
  await transaction(connection, 'REPEATABLE READ', async () => {
    for (const statement of copyDay(day, PostgresAnalytics.sourceOf)) await connection.query(statement);
  });
  // Until the server's own maintenance does it, plans would assume few rows, and rows could not be counted in the index alone.
  await connection.query(`VACUUM (ANALYZE) ${copyOf(day)}`);
}
