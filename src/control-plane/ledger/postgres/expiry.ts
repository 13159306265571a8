import type { Client } from 'pg';
import type { WorkspaceRetention } from '../../../common/ledger/logs/retention.js';
import { LookedAt } from '../looked-at.js';
import { noteDeletion } from './day-notes.js';
import { copiesOfRequests, dayMs } from './schema.js';
import { deleteFeedback, deleteSlices } from './slices.js';

type Times = readonly [from: number, before: number];
type Tenant = readonly [org: string, workspace: string];

/** Conditions on rows of a workspace: `Times` and `Tenant` are the parameters. */
const ofTenant = 'org = $3 AND workspace = $4';
const inTime = `at >= $1 AND at < $2 AND ${ofTenant}`;

/** Deletes rows of single workspaces whose time is over; whole days go with their partitions. */
export class PostgresExpiry {
  /** By table and workspace. */
  readonly #looked = new LookedAt();

  /** `client`: of a connection whose statements may take long. Resolves with the number of rows. */
  async expire(client: Client, workspaces: readonly WorkspaceRetention[]): Promise<number> {
    const { rows: copies } = await client.query<{ found: boolean }>(
      `SELECT to_regclass('${copiesOfRequests}') IS NOT NULL AS found`,
    );
    let deleted = 0;
    const known = new Set<string>();
    for (const { org, workspace, rowsBefore, bodiesBefore } of workspaces) {
      const tenant = [org, workspace] as const;
      const step = async (table: string, before: number | null, work: (times: Times) => Promise<unknown>) => {
        const key = `${table} ${org} ${workspace}`;
        known.add(key);
        if (before === null) return;
        await work([this.#looked.from(key, before), before]);
        this.#looked.done(key, before);
      };
      await step('exchanges', rowsBefore, async (times) => {
        deleted += await expireRows(client, tenant, times, copies[0]?.found === true);
      });
      await step('exchange_bodies', bodiesBefore, (times) =>
        deleteSlices(client, 'exchange_bodies', inTime, [...times, ...tenant]),
      );
      await step('feedbacks', rowsBefore, (times) => deleteFeedback(client, times, ofTenant, tenant));
    }
    this.#looked.keep(known);
    return deleted;
  }
}

async function expireRows(
  client: Client,
  tenant: Tenant,
  [from, before]: Times,
  hasCopies: boolean,
): Promise<number> {
  await noteDeletion(client, Math.ceil(before / dayMs), tenant);
  const deleted = await deleteSlices(client, 'exchanges', inTime, [from, before, ...tenant]);
  // In one statement: copies need no slices, since ingestion does not write them. A day that is copied while its requests
  // are deleted has them still, and shows its copies when these are complete, so a day more is deleted.
  if (hasCopies)
    await client.query(`DELETE FROM ${copiesOfRequests} WHERE ${inTime}`, [
      ...[Math.max(0, from - dayMs), before],
      ...tenant,
    ]);
  return deleted;
}
