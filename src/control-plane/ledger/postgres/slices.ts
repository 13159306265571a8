import type { Client } from 'pg';

/** Rows of one statement: its locks are short. */
const sliceRows = 2000;

/** Deletes the rows of a table with ids that match. Resolves with how many there were. */
export async function deleteSlices(
  client: Client,
  table: string,
  where: string,
  values: readonly unknown[],
): Promise<number> {
  for (let all = 0; ; ) {
    const { rowCount } = await client.query(
      `DELETE FROM ${table} WHERE ${where}
        AND id = ANY (ARRAY(SELECT id FROM ${table} WHERE ${where} LIMIT ${sliceRows}))`,
      [...values],
    );
    all += rowCount ?? 0;
    if ((rowCount ?? 0) < sliceRows) return all;
  }
}

/** The time of feedback is that of its request, else its own. Two statements, since each condition has an index. */
const inTime = [
  'row_at >= $1 AND row_at < $2',
  'row_id IS NULL AND created_at >= $1 AND created_at < $2',
] as const;

/** Deletes feedback from `from` on and before `before`. `of`: more that has to hold, with the parameters from `$3` on. */
export async function deleteFeedback(
  client: Client,
  [from, before]: readonly [from: number, before: number],
  of = 'true',
  values: readonly string[] = [],
): Promise<void> {
  for (const time of inTime)
    await deleteSlices(client, 'feedbacks', `${time} AND ${of}`, [from, before, ...values]);
}
