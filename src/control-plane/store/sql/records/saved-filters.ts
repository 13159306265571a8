import { randomUUID } from 'node:crypto';
import { etagOf } from '../../records/etag.js';
import type { Listed, Page, Place } from '../../records/place.js';
import type {
  NewSavedFilter,
  SavedFilter,
  SavedFilterChange,
  SavedFilterStore,
} from '../../records/saved-filters.js';
import type { Database, Sql } from '../connection/driver.js';
import { listed } from '../lists.js';
import { isCurrent, replaceRow } from '../revision.js';
import { hasWorkspace } from './workspaces.js';

interface SavedFilterRow {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly workspace_id: string;
  readonly name: string;
  readonly filters: string;
  readonly created_by: string;
  readonly created_at: number | string;
  readonly updated_at: number | string;
}

const fromRow = (row: SavedFilterRow): SavedFilter => ({
  id: row.id,
  organisationId: row.organisation_id,
  workspaceId: row.workspace_id,
  name: row.name,
  filters: JSON.parse(row.filters),
  createdBy: row.created_by,
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  etag: etagOf(row),
});

const rowOf = (sql: Sql, organisationId: string, id: string): Promise<SavedFilterRow | undefined> =>
  sql('saved_filters').where({ organisation_id: organisationId, id }).first();

export class SqlSavedFilters implements SavedFilterStore {
  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  get(organisationId: string, id: string): Promise<SavedFilter | null> {
    return this.database.read(async (sql) => {
      const row = await rowOf(sql, organisationId, id);
      return row === undefined ? null : fromRow(row);
    });
  }

  list({ organisationId, workspaceId }: Place, page: Page): Promise<Listed<SavedFilter>> {
    return this.database.read((sql) => {
      const wanted = sql('saved_filters').where({
        organisation_id: organisationId,
        workspace_id: workspaceId,
      });
      return listed(wanted, [{ column: 'name' }, { column: 'id' }], page, fromRow);
    });
  }

  create(place: Place, input: NewSavedFilter): Promise<SavedFilter | 'missing'> {
    return this.database.write(async (sql) => {
      if (!(await hasWorkspace(sql, place))) return 'missing';
      const now = this.now();
      const row: SavedFilterRow = {
        id: randomUUID(),
        revision: 1,
        organisation_id: place.organisationId,
        workspace_id: place.workspaceId,
        name: input.name,
        filters: JSON.stringify(input.filters),
        created_by: input.createdBy,
        created_at: now,
        updated_at: now,
      };
      await sql('saved_filters').insert(row);
      return fromRow(row);
    });
  }

  update(
    organisationId: string,
    id: string,
    change: SavedFilterChange,
  ): Promise<SavedFilter | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await rowOf(sql, organisationId, id);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, change.etag)) return 'stale';
      const written = await replaceRow(sql, 'saved_filters', {
        ...row,
        name: change.name ?? row.name,
        filters: change.filters === undefined ? row.filters : JSON.stringify(change.filters),
        updated_at: this.now(),
      });
      return written === 'stale' ? written : fromRow(written);
    });
  }

  delete(organisationId: string, id: string, etag?: string): Promise<SavedFilter | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await rowOf(sql, organisationId, id);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, etag)) return 'stale';
      await sql('saved_filters').where({ id: row.id }).delete();
      return fromRow(row);
    });
  }
}
