import { randomUUID } from 'node:crypto';
import type {
  Collection,
  CollectionChange,
  CollectionContent,
  CollectionStore,
  CollectionWithContent,
  NewCollection,
} from '../../records/collections.js';
import { etagOf } from '../../records/etag.js';
import type { Listed, Page, Place } from '../../records/place.js';
import { makeSlug } from '../../records/slug.js';
import type { Database, Sql } from '../connection/driver.js';
import { isDuplicate } from '../connection/failure.js';
import { containing, listed } from '../lists.js';
import { isCurrent, replaceRow } from '../revision.js';
import { hasWorkspace } from './workspaces.js';

interface CollectionRow {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly workspace_id: string;
  readonly slug: string;
  readonly name: string;
  readonly parent_id: string | null;
  readonly is_default: boolean | number;
  readonly created_at: number | string;
  readonly updated_at: number | string;
}

const fromRow = (row: CollectionRow): Collection => ({
  id: row.id,
  organisationId: row.organisation_id,
  workspaceId: row.workspace_id,
  slug: row.slug,
  name: row.name,
  parentId: row.parent_id,
  isDefault: Boolean(row.is_default),
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  etag: etagOf(row),
});

const newRow = (place: Place, input: NewCollection, now: number): CollectionRow => ({
  id: randomUUID(),
  revision: 1,
  organisation_id: place.organisationId,
  workspace_id: place.workspaceId,
  slug: makeSlug('', input.name),
  name: input.name,
  parent_id: input.parentId,
  is_default: false,
  created_at: now,
  updated_at: now,
});

const rowAt = (sql: Sql, organisationId: string, idOrSlug: string): Promise<CollectionRow | undefined> =>
  sql('collections')
    .where({ organisation_id: organisationId })
    .andWhere((either) => either.where({ id: idOrSlug }).orWhere({ slug: idOrSlug }))
    .first();

/** Adds to each collection what is in it. */
async function withContent(
  sql: Sql,
  organisationId: string,
  collections: readonly Collection[],
): Promise<CollectionWithContent[]> {
  const ids = collections.map(({ id }) => id);
  const rows: { parent_id: string; children: number | string; updated_at: number | string }[] = await sql(
    'collections',
  )
    .where({ organisation_id: organisationId })
    .whereIn('parent_id', ids)
    .groupBy('parent_id')
    .select('parent_id')
    .count('* as children')
    .max('updated_at as updated_at');
  const contents = new Map<string, CollectionContent>();
  for (const { parent_id, children, updated_at } of rows)
    contents.set(parent_id, { children: Number(children), childrenUpdatedAt: Number(updated_at) });
  const nothing: CollectionContent = { children: 0, childrenUpdatedAt: null };
  return collections.map((collection) => ({ ...collection, ...(contents.get(collection.id) ?? nothing) }));
}

export class SqlCollections implements CollectionStore {
  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  get(organisationId: string, idOrSlug: string): Promise<Collection | null> {
    return this.database.read(async (sql) => {
      const row = await rowAt(sql, organisationId, idOrSlug);
      return row === undefined ? null : fromRow(row);
    });
  }

  list(place: Place, search: string | undefined, page: Page): Promise<Listed<CollectionWithContent>> {
    const { organisationId, workspaceId } = place;
    return this.database.read(async (sql) => {
      const wanted = sql('collections').where({
        organisation_id: organisationId,
        workspace_id: workspaceId,
      });
      if (search !== undefined) containing(wanted, ['name'], search);
      const oldestFirst = [{ column: 'created_at' }, { column: 'id' }];
      const { total, rows } = await listed(wanted, oldestFirst, page, fromRow);
      return { total, rows: await withContent(sql, organisationId, rows) };
    });
  }

  children(organisationId: string, id: string): Promise<readonly CollectionWithContent[]> {
    return this.database.read(async (sql) => {
      const rows = await this.#rowsIn(sql, organisationId, [id]);
      return withContent(sql, organisationId, rows.map(fromRow));
    });
  }

  #rowsIn(sql: Sql, organisationId: string, ids: readonly string[]): Promise<CollectionRow[]> {
    return sql('collections')
      .where({ organisation_id: organisationId })
      .whereIn('parent_id', [...ids])
      .orderBy(['created_at', 'id']);
  }

  async create(place: Place, input: NewCollection): Promise<Collection | 'missing'> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.database.write(
          async (sql) => {
            if (!(await hasWorkspace(sql, place))) return 'missing';
            const row = newRow(place, input, this.now());
            await sql('collections').insert(row);
            return fromRow(row);
          },
          { apart: true },
        );
      } catch (error) {
        if (!isDuplicate(error) || attempt === 5) throw error;
      }
    }
  }

  update(
    organisationId: string,
    id: string,
    change: CollectionChange,
  ): Promise<Collection | 'missing' | 'stale' | 'loop'> {
    return this.database.write(async (sql) => {
      const row = await rowAt(sql, organisationId, id);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, change.etag)) return 'stale';
      const { parentId = row.parent_id } = change;
      if (parentId !== null) {
        const inside = await this.#tree(sql, row);
        if (inside.some((one) => one.id === parentId)) return 'loop';
      }
      const written = await replaceRow(sql, 'collections', {
        ...row,
        name: change.name ?? row.name,
        parent_id: parentId,
        updated_at: this.now(),
      });
      return written === 'stale' ? written : fromRow(written);
    });
  }

  /** A collection and everything inside of it, level by level. */
  async #tree(sql: Sql, root: CollectionRow): Promise<CollectionRow[]> {
    const tree = [root];
    for (let level = [root]; level.length > 0; tree.push(...level)) {
      level = await this.#rowsIn(
        sql,
        root.organisation_id,
        level.map(({ id }) => id),
      );
    }
    return tree;
  }

  delete(
    organisationId: string,
    id: string,
    cascade: boolean,
    etag?: string,
  ): Promise<readonly Collection[] | 'missing' | 'stale' | 'full'> {
    return this.database.write(async (sql) => {
      const row = await rowAt(sql, organisationId, id);
      if (row === undefined || row.is_default) return 'missing';
      if (!isCurrent(row, etag)) return 'stale';
      const tree = await this.#tree(sql, row);
      if (tree.length > 1 && !cascade) return 'full';
      await sql('collections').where({ id: row.id }).delete();
      return tree.map(fromRow);
    });
  }
}
