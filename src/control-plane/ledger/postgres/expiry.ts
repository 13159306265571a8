import type { Client } from 'pg';
import type { WorkspaceRetention } from '../../../common/ledger/logs/retention.js';
import { noteDeletion } from './day-notes.js';
import { copiesOfRequests, dayMs, dayOf, dayStart } from './schema.js';

/** Rows of one statement: its locks are short. */
const sliceRows = 2000;

/** Deletes rows of single workspaces whose time is over; whole days go with their partitions. */
export class PostgresExpiry {
  /** Up to when rows and bodies of a workspace were looked at: what is older is gone. */
  readonly #doneTo = new Map<string, number>();

  /** `client`: of a connection whose statements may take long. Resolves with the number of rows. */
  async expire(
    client: Client,
    rowsBefore: number | null,
    workspaces: readonly WorkspaceRetention[],
  ): Promise<number> {
    if (rowsBefore !== null) {
      // Whole days, as partitions: feedback stays as long as its request.
      const before = dayStart(dayOf(rowsBefore));
      await slices(client, 'feedbacks', 'coalesce(row_at, created_at) < $1', [before]);
    }
    const { rows: copies } = await client.query<{ found: boolean }>(
      `SELECT to_regclass('${copiesOfRequests}') IS NOT NULL AS found`,
    );
    let deleted = 0;
    const known = new Set<string>();
    for (const { org, workspace, rowsBefore: rows, bodiesBefore: bodies } of workspaces) {
      const of = 'org = $1 AND workspace = $2';
      const parts = [
        ['exchanges', 'at', rows],
        ['exchange_bodies', 'at', bodies],
        ['feedbacks', 'coalesce(row_at, created_at)', rows],
      ] as const;
      for (const [table, time, before] of parts) {
        const key = `${table} ${org} ${workspace}`;
        known.add(key);
        if (before === null) continue;
        const where = `${of} AND ${time} >= $3 AND ${time} < $4`;
        const from = this.#doneTo.get(key) ?? 0;
        if (table === 'exchanges') await noteDeletion(client, Math.ceil(before / dayMs), [org, workspace]);
        const gone = await slices(client, table, where, [org, workspace, from, before]);
        if (table === 'exchanges') {
          deleted += gone;
          // In one statement: copies need no slices, since ingestion does not write them. A day that is copied while its requests
          // are deleted has them still, and shows its copies when these are complete, so a day more is deleted.
          const since = Math.max(0, from - dayMs);
          if (copies[0]?.found === true)
            await client.query(`DELETE FROM ${copiesOfRequests} WHERE ${where}`, [
              ...[org, workspace],
              ...[since, before],
            ]);
        }
        this.#doneTo.set(key, before);
      }
    }
    for (const key of this.#doneTo.keys()) if (!known.has(key)) this.#doneTo.delete(key);
    return deleted;
  }
}

async function slices(
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
