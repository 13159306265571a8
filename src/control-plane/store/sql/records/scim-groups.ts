import { randomUUID } from 'node:crypto';
import { etagOf } from '../../records/etag.js';
import type { Listed, Page } from '../../records/place.js';
import type { ScimQuery } from '../../records/scim-conditions.js';
import type {
  ScimGroup,
  ScimGroupChange,
  ScimGroupMember,
  ScimGroupStore,
} from '../../records/scim-groups.js';
import type { ScimGroupName } from '../../records/scim-users.js';
import type { Database, Sql, Transaction } from '../connection/driver.js';
import { containing, listed, mapped } from '../lists.js';
import { isCurrent, replaceRow } from '../revision.js';
import type { ScimColumns } from './scim-conditions.js';
import { scimPage } from './scim-page.js';
import { displayNameSql } from './scim-users.js';

interface GroupRow {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly display_name: string;
  readonly name_key: string;
  readonly external_id: string | null;
  readonly created_at: number | string;
  readonly updated_at: number | string;
}

const fromRow = (row: GroupRow): ScimGroup => ({
  id: row.id,
  organisationId: row.organisation_id,
  displayName: row.display_name,
  externalId: row.external_id,
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  etag: etagOf(row),
});

const columns: ScimColumns = {
  id: { sql: 'scim_groups.id', as: 'exact' },
  externalid: { sql: 'scim_groups.external_id', as: 'exact' },
  displayname: { sql: 'scim_groups.display_name', as: 'text' },
  'members.value': {
    sql: 'SELECT 1 FROM scim_group_members m WHERE m.group_id = scim_groups.id AND m.user_id',
    as: 'related',
  },
  'meta.created': { sql: 'scim_groups.created_at', as: 'ordered' },
  'meta.lastmodified': { sql: 'scim_groups.updated_at', as: 'ordered' },
};

const keyOf = (displayName: string): string => displayName.toLowerCase();

const rowOf = (sql: Sql, organisationId: string, id: string): Promise<GroupRow | undefined> =>
  sql('scim_groups').where({ organisation_id: organisationId, id }).first();

/** Ids in one statement. */
const batchSize = 500;

export function* batchesOf<T>(items: readonly T[]): Generator<T[]> {
  for (let from = 0; from < items.length; from += batchSize) yield items.slice(from, from + batchSize);
}

export class SqlScimGroups implements ScimGroupStore {
  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  get(organisationId: string, id: string): Promise<ScimGroup | null> {
    return this.database.read(async (sql) => {
      const row = await rowOf(sql, organisationId, id);
      return row === undefined ? null : fromRow(row);
    });
  }

  named(organisationId: string, displayName: string): Promise<ScimGroup | null> {
    return this.database.read(async (sql) => {
      const row: GroupRow | undefined = await this.#named(sql, organisationId, displayName);
      return row === undefined ? null : fromRow(row);
    });
  }

  #named(sql: Sql, organisationId: string, displayName: string): Promise<GroupRow | undefined> {
    return sql('scim_groups')
      .where({ organisation_id: organisationId, name_key: keyOf(displayName) })
      .first();
  }

  list(organisationId: string, query: ScimQuery, page: Page): Promise<Listed<ScimGroup>> {
    return this.database.read(async (sql) => {
      const { total, rows } = await scimPage<GroupRow>(
        sql,
        'scim_groups',
        columns,
        organisationId,
        query,
        page,
      );
      return { total, rows: rows.map(fromRow) };
    });
  }

  names(organisationId: string, search: string | undefined, page: Page): Promise<Listed<ScimGroupName>> {
    return this.database.read((sql) => {
      const wanted = sql('scim_groups').where({ organisation_id: organisationId });
      if (search !== undefined) containing(wanted, ['display_name'], search);
      return listed(wanted, [{ column: 'name_key' }, { column: 'id' }], page, fromRow);
    });
  }

  create(
    organisationId: string,
    input: { readonly displayName: string; readonly externalId: string | null },
  ): Promise<ScimGroup | 'taken'> {
    return this.database.write(async (sql) => {
      if ((await this.#named(sql, organisationId, input.displayName)) !== undefined) return 'taken';
      const now = this.now();
      const row: GroupRow = {
        id: randomUUID(),
        revision: 1,
        organisation_id: organisationId,
        display_name: input.displayName,
        name_key: keyOf(input.displayName),
        external_id: input.externalId,
        created_at: now,
        updated_at: now,
      };
      await sql('scim_groups').insert(row);
      return fromRow(row);
    });
  }

  update(
    organisationId: string,
    id: string,
    change: ScimGroupChange,
    etag?: string,
  ): Promise<ScimGroup | 'missing' | 'stale' | 'taken'> {
    return this.database.write(async (sql) => {
      const row = await rowOf(sql, organisationId, id);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, etag)) return 'stale';
      const displayName = change.displayName ?? row.display_name;
      const other = await this.#named(sql, organisationId, displayName);
      if (other !== undefined && other.id !== id) return 'taken';
      const written = await replaceRow<GroupRow>(sql, 'scim_groups', {
        ...row,
        display_name: displayName,
        name_key: keyOf(displayName),
        external_id: change.externalId === undefined ? row.external_id : change.externalId,
        updated_at: this.now(),
      });
      return written === 'stale' ? written : fromRow(written);
    });
  }

  delete(organisationId: string, id: string, etag?: string): Promise<ScimGroup | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await rowOf(sql, organisationId, id);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, etag)) return 'stale';
      await sql('scim_groups').where({ organisation_id: organisationId, id }).delete();
      return fromRow(row);
    });
  }

  members(
    organisationId: string,
    groupIds: readonly string[],
  ): Promise<ReadonlyMap<string, readonly ScimGroupMember[]>> {
    return this.database.read(async (sql) => {
      const rows: { group_id: string; user_id: string; display: string }[] = await sql(
        'scim_group_members as m',
      )
        .join('users', 'users.id', 'm.user_id')
        .where({ 'm.organisation_id': organisationId })
        .whereIn('m.group_id', groupIds)
        .orderBy(['m.created_at', 'm.user_id'])
        .select('m.group_id', 'm.user_id', sql.raw(`${displayNameSql} as display`));
      const found = new Map<string, ScimGroupMember[]>(groupIds.map((id) => [id, []]));
      await mapped(rows, ({ group_id, user_id, display }) =>
        found.get(group_id)?.push({ userId: user_id, display }),
      );
      return found;
    });
  }

  sizes(organisationId: string, groupIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.database.read(async (sql) => {
      const rows: { group_id: string; size: number | string }[] = await sql('scim_group_members')
        .where({ organisation_id: organisationId })
        .whereIn('group_id', groupIds)
        .groupBy('group_id')
        .select('group_id')
        .count('* as size');
      return new Map(rows.map(({ group_id, size }) => [group_id, Number(size)]));
    });
  }

  memberIds(organisationId: string, groupId: string): Promise<string[]> {
    return this.database.read((sql) =>
      sql('scim_group_members')
        .where({ organisation_id: organisationId, group_id: groupId })
        .pluck('user_id'),
    );
  }

  unknown(organisationId: string, userIds: readonly string[]): Promise<string[]> {
    return this.database.read(async (sql) => {
      const known = new Set<string>();
      for (const ids of batchesOf(userIds)) {
        const found: string[] = await sql('users')
          .where({ organisation_id: organisationId })
          .whereIn('id', ids)
          .pluck('id');
        for (const id of found) known.add(id);
      }
      return userIds.filter((id) => !known.has(id));
    });
  }

  add(organisationId: string, groupId: string, userIds: readonly string[]): Promise<void> {
    return this.database.write(async (sql: Transaction) => {
      const created_at = this.now();
      for (const ids of batchesOf(userIds)) {
        await sql('scim_group_members')
          .insert(
            ids.map((user_id) => ({
              organisation_id: organisationId,
              group_id: groupId,
              user_id,
              created_at,
            })),
          )
          .onConflict(['group_id', 'user_id'])
          .ignore();
      }
    });
  }

  remove(organisationId: string, groupId: string, userIds: readonly string[]): Promise<void> {
    return this.database.write(async (sql) => {
      for (const ids of batchesOf(userIds)) {
        await sql('scim_group_members')
          .where({ organisation_id: organisationId, group_id: groupId })
          .whereIn('user_id', ids)
          .delete();
      }
    });
  }
}
