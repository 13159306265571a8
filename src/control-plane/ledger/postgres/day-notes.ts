import type { Client } from 'pg';

/**
 * What has changed of days other than by rows that arrived, for what analytics makes of them. `feedback_moves`: days that feedback has
 * left, since an earlier request of its trace arrived late.
 */
export const createDayNotes = `
  CREATE TABLE IF NOT EXISTS feedback_moves (day bigint NOT NULL, tx xid8 NOT NULL DEFAULT pg_current_xact_id());
  CREATE INDEX IF NOT EXISTS feedback_moves_day ON feedback_moves (day, tx);`;

/** Reads a table of the server's, as `versionsOf` does. */
export const hasDayNotes =
  "SELECT to_regclass('feedback_moves_day') IS NOT NULL AS found FROM pg_class LIMIT 1";

/** Deletes what is noted of days whose requests, and their copies, were dropped. What is rolled up of them is still shown. */
export async function forgetDays(client: Client, before: number): Promise<void> {
  await client.query(`DELETE FROM feedback_moves WHERE day >= 0 AND day < ${before}`);
  const { rows } = await client.query<{ found: boolean }>(
    "SELECT to_regclass('copied_days') IS NOT NULL AS found",
  );
  if (rows[0]?.found === true) await client.query(`DELETE FROM copied_days WHERE day < ${before}`);
}
