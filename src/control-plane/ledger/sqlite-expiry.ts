import { setTimeout as wait } from 'node:timers/promises';
import type { LogRetention, WorkspaceRetention } from '../../common/ledger/logs/retention.js';
import type { SqliteConnection } from '../database/sqlite.js';
import { LookedAt } from './looked-at.js';

/** Rows of one transaction: other work of the ledger waits for no more. */
const sliceRows = 500;
/** Between two slices, so that rows that come in have their turn. Milliseconds. */
const pauseMs = 2;
/** Pages that are given back to the disk in one step. */
const slicePages = 500;
/** Fewer free pages are left for rows to come. */
const fewPages = 128;

export type InTurn = <T>(work: (writer: SqliteConnection) => Promise<T>) => Promise<T>;

/** Deletes rows of a ledger in SQLite whose time is over. */
export class SqliteExpiry {
  /** By the id of the workspace. */
  readonly #looked = new LookedAt();

  constructor(readonly inTurn: InTurn) {}

  async expire({ rowsBefore, workspaces }: LogRetention): Promise<number> {
    let deleted = 0;
    if (rowsBefore !== null) {
      for (const org of await this.#organisations())
        deleted += await this.#expireOrganisation(org, rowsBefore);
    }
    this.#looked.keep(new Set(workspaces.map(({ workspace }) => workspace)));
    for (const one of workspaces) deleted += await this.#expireWorkspace(one);
    await this.#giveBack();
    return deleted;
  }

  /** Those with requests or feedback: one look into the index for each. */
  #organisations(): Promise<string[]> {
    return this.inTurn(async (writer) => {
      const rows = await writer.all<{ org: string }>(
        ['exchanges', 'feedbacks'].map(organisationsOf).join(' UNION '),
      );
      return rows.map(({ org }) => org);
    });
  }

  async #expireOrganisation(org: string, before: number): Promise<number> {
    await this.#slices(
      `DELETE FROM feedbacks WHERE id IN (SELECT id FROM feedbacks WHERE org = ?1 AND row_at < ?2 LIMIT ${sliceRows})`,
      [org, before],
    );
    await this.#slices(
      `DELETE FROM feedbacks WHERE id IN (SELECT id FROM feedbacks
        WHERE org = ?1 AND created_at < ?2 AND row_id IS NULL LIMIT ${sliceRows})`,
      [org, before],
    );
    return this.#slices(rowsOf('org = ?1 AND at < ?2'), [org, before]);
  }

  async #expireWorkspace({ org, workspace, rowsBefore }: WorkspaceRetention): Promise<number> {
    if (rowsBefore === null) return 0;
    const parameters = [org, rowsBefore, this.#looked.from(workspace, rowsBefore), workspace];
    await this.#slices(
      `DELETE FROM feedbacks WHERE id IN (SELECT id FROM feedbacks
        WHERE org = ?1 AND row_at < ?2 AND row_at >= ?3 AND workspace = ?4 LIMIT ${sliceRows})`,
      parameters,
    );
    await this.#slices(
      `DELETE FROM feedbacks WHERE id IN (SELECT id FROM feedbacks WHERE row_id IS NULL
        AND org = ?1 AND created_at < ?2 AND created_at >= ?3 AND workspace = ?4 LIMIT ${sliceRows})`,
      parameters,
    );
    const deleted = await this.#slices(
      rowsOf('org = ?1 AND at < ?2 AND at >= ?3 AND workspace = ?4'),
      parameters,
    );
    this.#looked.done(workspace, rowsBefore);
    return deleted;
  }

  async #slices(statement: string, parameters: readonly unknown[]): Promise<number> {
    for (let all = 0; ; ) {
      const deleted = await this.inTurn((writer) => writer.run(statement, parameters));
      all += deleted;
      if (deleted < sliceRows) return all;
      await wait(pauseMs);
    }
  }

  /** Frees the disk, in a file that was made so; in older ones the space is used again. */
  async #giveBack(): Promise<void> {
    for (;;) {
      const [free] = await this.inTurn((writer) =>
        writer.all<{ pages: number }>(
          'SELECT freelist_count AS pages FROM pragma_freelist_count, pragma_auto_vacuum WHERE auto_vacuum = 2',
        ),
      );
      if ((free?.pages ?? 0) < fewPages) return;
      await this.inTurn((writer) => writer.exec(`PRAGMA incremental_vacuum(${slicePages})`));
      await wait(pauseMs);
    }
  }
}

/** Of a table with an index that begins with organisations. */
const organisationsOf = (table: string): string => `SELECT org FROM (
  WITH RECURSIVE found(org) AS (SELECT min(org) FROM ${table}
    UNION ALL SELECT (SELECT min(org) FROM ${table} WHERE org > found.org) FROM found WHERE found.org IS NOT NULL)
  SELECT org FROM found WHERE org IS NOT NULL)`;

/** The newest row stays: the numbers of later ones go on from it. */
const rowsOf = (condition: string): string => `DELETE FROM exchanges WHERE seq IN (SELECT seq FROM exchanges
  WHERE ${condition} AND seq < (SELECT max(seq) FROM exchanges) LIMIT ${sliceRows})`;
