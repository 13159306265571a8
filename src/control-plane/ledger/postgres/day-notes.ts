import type { Client } from 'pg';

const text = 'text COLLATE "C"';

/**
 * The transaction that changed a feedback last; null: it was before there was this column. Snapshots show whether it is part of what
 * was made of a day, whatever the clocks of nodes show and however long transactions take. By a trigger, since nodes of an earlier
 * version change feedback too.
 */
const createFeedbackNotes = `
  ALTER TABLE feedbacks ADD COLUMN IF NOT EXISTS tx xid8;
  CREATE OR REPLACE FUNCTION note_feedback_tx() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN NEW.tx := pg_current_xact_id(); RETURN NEW; END $$;
  DROP TRIGGER IF EXISTS feedbacks_tx ON feedbacks;
  CREATE TRIGGER feedbacks_tx BEFORE INSERT OR UPDATE ON feedbacks FOR EACH ROW EXECUTE FUNCTION note_feedback_tx();`;
const hasFeedbackNotes =
  "EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = 'feedbacks'::regclass AND tgname = 'feedbacks_tx')";

/**
 * What has changed of days other than by rows that arrived, for what analytics makes of them. `feedback_moves`: days that feedback has
 * left, since an earlier request of its trace arrived late. `kept_from`: the first day of which no request of a workspace was deleted
 * when its time was over; the empty organisation and workspace: of all.
 */
export const createDayNotes = `${createFeedbackNotes}
  CREATE TABLE IF NOT EXISTS feedback_moves (day bigint NOT NULL, tx xid8 NOT NULL DEFAULT pg_current_xact_id());
  CREATE INDEX IF NOT EXISTS feedback_moves_day ON feedback_moves (day, tx);
  CREATE TABLE IF NOT EXISTS kept_from (org ${text}, workspace ${text}, day bigint NOT NULL, PRIMARY KEY (org, workspace));`;

/** Reads a table of the server's, as `versionsOf` does. */
export const hasDayNotes = `SELECT to_regclass('feedback_moves_day') IS NOT NULL AND to_regclass('kept_from') IS NOT NULL
    AND ${hasFeedbackNotes} AS found
  FROM pg_class LIMIT 1`;

/** Committed before the first of these requests is deleted, so that no count includes one that is gone. `day`: of `kept_from`. */
export async function noteDeletion(
  client: Client,
  day: number,
  [org, workspace]: readonly [org: string, workspace: string] = ['', ''],
): Promise<void> {
  await client.query(
    `INSERT INTO kept_from (org, workspace, day) SELECT $1, $2, $3::bigint
      WHERE NOT EXISTS (SELECT 1 FROM kept_from WHERE org = $1 AND workspace = $2 AND day >= $3)
      ON CONFLICT (org, workspace) DO UPDATE SET day = greatest(kept_from.day, excluded.day)`,
    [org, workspace, day],
  );
}

/** What analytics has of single days beside rollups, which are still shown. */
const ofDays = ['copied_days', 'counted_days', 'day_counts'];

/** Deletes what is noted of days whose requests, and their copies, were dropped. */
export async function forgetDays(client: Client, before: number): Promise<void> {
  await client.query(`DELETE FROM feedback_moves WHERE day >= 0 AND day < ${before}`);
  for (const table of ofDays) {
    const { rows } = await client.query<{ found: boolean }>(
      `SELECT to_regclass('${table}') IS NOT NULL AS found`,
    );
    if (rows[0]?.found === true) await client.query(`DELETE FROM ${table} WHERE day < ${before}`);
  }
}
