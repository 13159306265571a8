import { randomUUID } from 'node:crypto';
import { etagOf } from '../etag.js';
import type { Listed, Page, Place } from '../place.js';
import type { Workspace, WorkspaceStore } from '../workspaces.js';
import type { Database, Sql } from './driver.js';
import { isDuplicate } from './failure.js';
import { listed } from './lists.js';

interface WorkspaceRow {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly slug: string;
  readonly name: string;
  readonly created_at: number | string;
}

const fromRow = (row: WorkspaceRow): Workspace => ({
  id: row.id,
  organisationId: row.organisation_id,
  slug: row.slug,
  name: row.name,
  createdAt: Number(row.created_at),
  etag: etagOf(row),
});

/** Is this workspace one of this organisation? Asked before anything is put into it. */
export async function hasWorkspace(sql: Sql, place: Place): Promise<boolean> {
  const found = await sql('workspaces')
    .where({ id: place.workspaceId, organisation_id: place.organisationId })
    .first('id');
  return found !== undefined;
}

export class SqlWorkspaces implements WorkspaceStore {
  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  get(organisationId: string, idOrSlug: string): Promise<Workspace | null> {
    return this.database.read(async (sql) => {
      const rows: WorkspaceRow[] = await sql('workspaces')
        .where({ organisation_id: organisationId })
        .andWhere((either) => either.where({ id: idOrSlug }).orWhere({ slug: idOrSlug }));
      // An id is nobody's to choose, a slug is: the id decides.
      const row = rows.find(({ id }) => id === idOrSlug) ?? rows[0];
      return row === undefined ? null : fromRow(row);
    });
  }

  list(organisationId: string, page: Page): Promise<Listed<Workspace>> {
    return this.database.read(async (sql) => {
      const all = sql('workspaces').where({ organisation_id: organisationId });
      return listed(all, [{ column: 'created_at' }, { column: 'id' }], page, fromRow);
    });
  }

  async create(
    organisationId: string,
    input: { readonly name: string; readonly slug: string },
  ): Promise<Workspace | 'taken'> {
    const row: WorkspaceRow = {
      id: randomUUID(),
      revision: 1,
      organisation_id: organisationId,
      slug: input.slug,
      name: input.name,
      created_at: this.now(),
    };
    try {
      await this.database.write((sql) => sql('workspaces').insert(row));
    } catch (error) {
      if (isDuplicate(error)) return 'taken';
      throw error;
    }
    return fromRow(row);
  }
}
