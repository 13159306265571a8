import { randomUUID } from 'node:crypto';
import { etagOf } from '../../records/etag.js';
import type { Label, LabelChange, LabelStore, NewLabel } from '../../records/labels.js';
import type { Listed, Page } from '../../records/place.js';
import type { Database, Sql } from '../connection/driver.js';
import { containing, listed } from '../lists.js';
import { isCurrent, replaceRow } from '../revision.js';
import { hasWorkspace } from './workspaces.js';

interface LabelRow {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly workspace_id: string | null;
  readonly name: string;
  readonly description: string | null;
  readonly color_code: string | null;
  readonly is_universal: boolean | number;
  readonly created_at: number | string;
  readonly updated_at: number | string;
}

const fromRow = (row: LabelRow): Label => ({
  id: row.id,
  organisationId: row.organisation_id,
  workspaceId: row.workspace_id,
  name: row.name,
  description: row.description,
  colorCode: row.color_code,
  isUniversal: Boolean(row.is_universal),
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  etag: etagOf(row),
});

function newRow(organisationId: string, workspaceId: string | null, input: NewLabel, now: number): LabelRow {
  return {
    id: randomUUID(),
    revision: 1,
    organisation_id: organisationId,
    workspace_id: workspaceId,
    name: input.name,
    description: input.description,
    color_code: input.colorCode,
    is_universal: false,
    created_at: now,
    updated_at: now,
  };
}

const rowOf = (sql: Sql, organisationId: string, id: string): Promise<LabelRow | undefined> =>
  sql('labels').where({ organisation_id: organisationId, id }).first();

/** Would some workspace see two labels of this name? */
async function isTaken(sql: Sql, row: LabelRow): Promise<boolean> {
  const same = sql('labels')
    .where({ organisation_id: row.organisation_id, name: row.name })
    .whereNot({ id: row.id });
  if (row.workspace_id !== null)
    same.andWhere((seen) => seen.where({ workspace_id: row.workspace_id }).orWhereNull('workspace_id'));
  return (await same.first('id')) !== undefined;
}

export class SqlLabels implements LabelStore {
  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  get(organisationId: string, id: string): Promise<Label | null> {
    return this.database.read(async (sql) => {
      const row = await rowOf(sql, organisationId, id);
      return row === undefined ? null : fromRow(row);
    });
  }

  list(
    organisationId: string,
    workspaceId: string | null,
    search: string | undefined,
    page: Page,
  ): Promise<Listed<Label>> {
    return this.database.read((sql) => {
      const wanted = sql('labels')
        .where({ organisation_id: organisationId })
        .andWhere((seen) => {
          seen.whereNull('workspace_id');
          if (workspaceId !== null) seen.orWhere({ workspace_id: workspaceId });
        });
      if (search !== undefined) containing(wanted, ['name'], search);
      return listed(wanted, [{ column: 'name' }, { column: 'id' }], page, fromRow);
    });
  }

  create(
    organisationId: string,
    workspaceId: string | null,
    input: NewLabel,
  ): Promise<Label | 'taken' | 'missing'> {
    return this.database.write(async (sql) => {
      if (workspaceId !== null && !(await hasWorkspace(sql, { organisationId, workspaceId })))
        return 'missing';
      const row = newRow(organisationId, workspaceId, input, this.now());
      if (await isTaken(sql, row)) return 'taken';
      await sql('labels').insert(row);
      return fromRow(row);
    });
  }

  update(
    organisationId: string,
    id: string,
    change: LabelChange,
  ): Promise<Label | 'missing' | 'taken' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await rowOf(sql, organisationId, id);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, change.etag)) return 'stale';
      const changed: LabelRow = {
        ...row,
        name: change.name ?? row.name,
        description: change.description === undefined ? row.description : change.description,
        color_code: change.colorCode === undefined ? row.color_code : change.colorCode,
        updated_at: this.now(),
      };
      if (await isTaken(sql, changed)) return 'taken';
      const written = await replaceRow(sql, 'labels', changed);
      return written === 'stale' ? written : fromRow(written);
    });
  }

  delete(organisationId: string, id: string, etag?: string): Promise<Label | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await rowOf(sql, organisationId, id);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, etag)) return 'stale';
      await sql('labels').where({ id: row.id }).delete();
      return fromRow(row);
    });
  }
}
