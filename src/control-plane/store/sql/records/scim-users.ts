import { emailKey } from '../../../../common/access/email.js';
import type { Listed, Page } from '../../records/place.js';
import type { ScimQuery } from '../../records/scim-conditions.js';
import type { ScimGroupName, ScimUser, ScimUserChange, ScimUserStore } from '../../records/scim-users.js';
import type { Database, Sql } from '../connection/driver.js';
import { isDuplicate } from '../connection/failure.js';
import { mapped } from '../lists.js';
import { isCurrent, replaceRow } from '../revision.js';
import type { ScimColumns } from './scim-conditions.js';
import { scimPage } from './scim-page.js';
import { fromRow, type UserRow, workspacesOf } from './users.js';

/** The name of a user, as SQL: the one given, or the first and last name, or the address. */
export const displayNameSql = `coalesce(users.display_name, nullif(trim(users.first_name || ' ' || users.last_name), ''), users.email)`;

const columns: ScimColumns = {
  id: { sql: 'users.id', as: 'exact' },
  externalid: { sql: 'users.external_id', as: 'exact' },
  username: { sql: 'users.email_key', as: 'email' },
  displayname: { sql: displayNameSql, as: 'text' },
  'name.givenname': { sql: 'users.first_name', as: 'text' },
  'name.familyname': { sql: 'users.last_name', as: 'text' },
  'emails.value': {
    sql: "coalesce(users.scim_emails, '\n' || users.email_key || '\n')",
    as: 'lines',
  },
  active: { sql: 'users.is_active', as: 'ordered' },
  'roles.value': { sql: 'users.role', as: 'text' },
  'groups.value': {
    sql: 'SELECT 1 FROM scim_group_members m WHERE m.user_id = users.id AND m.group_id',
    as: 'related',
  },
  'meta.created': { sql: 'users.created_at', as: 'ordered' },
  'meta.lastmodified': { sql: 'users.updated_at', as: 'ordered' },
};

const toUser = (row: UserRow, workspaces: readonly string[]): ScimUser => ({
  ...fromRow(row, workspaces),
  externalId: row.external_id,
  displayName: row.display_name,
  attributes: JSON.parse(row.scim_attributes ?? '{}'),
});

const linesOf = (emails: readonly string[]): string => `\n${[...new Set(emails.map(emailKey))].join('\n')}\n`;

export class SqlScimUsers implements ScimUserStore {
  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  get(organisationId: string, id: string): Promise<ScimUser | null> {
    return this.database.read((sql) => this.#get(sql, organisationId, id));
  }

  async #get(sql: Sql, organisationId: string, id: string): Promise<ScimUser | null> {
    const row: UserRow | undefined = await sql('users')
      .where({ organisation_id: organisationId, id })
      .first();
    if (row === undefined) return null;
    const workspaces = await workspacesOf(sql, organisationId, [id]);
    return toUser(row, workspaces.get(id) ?? []);
  }

  list(organisationId: string, query: ScimQuery, page: Page): Promise<Listed<ScimUser>> {
    return this.database.read(async (sql) => {
      const { total, rows } = await scimPage<UserRow>(sql, 'users', columns, organisationId, query, page);
      return { total, rows: await mapped(rows, (row) => toUser(row, [])) };
    });
  }

  async replace(
    organisationId: string,
    id: string,
    change: ScimUserChange,
    etag?: string,
  ): Promise<ScimUser | 'missing' | 'stale' | 'taken'> {
    try {
      return await this.database.write(
        async (sql) => {
          const row: UserRow | undefined = await sql('users')
            .where({ organisation_id: organisationId, id })
            .first();
          if (row === undefined) return 'missing';
          if (!isCurrent(row, etag)) return 'stale';
          const attributes = Object.keys(change.attributes).length === 0 ? null : change.attributes;
          const next: UserRow = {
            ...row,
            email: change.email,
            email_key: emailKey(change.email),
            first_name: change.firstName,
            last_name: change.lastName,
            role: change.role,
            is_active: change.isActive,
            external_id: change.externalId,
            display_name: change.displayName,
            scim_attributes: attributes === null ? null : JSON.stringify(attributes),
            scim_emails: change.emails === null ? null : linesOf(change.emails),
            updated_at: this.now(),
          };
          if ((await replaceRow(sql, 'users', next)) === 'stale') return 'stale';
          return (await this.#get(sql, organisationId, id))!;
        },
        { apart: true },
      );
    } catch (error) {
      if (isDuplicate(error)) return 'taken';
      throw error;
    }
  }

  groupsOf(
    organisationId: string,
    userIds: readonly string[],
  ): Promise<ReadonlyMap<string, readonly ScimGroupName[]>> {
    return this.database.read(async (sql) => {
      const rows: { user_id: string; id: string; display_name: string }[] = await sql(
        'scim_group_members as m',
      )
        .join('scim_groups as g', 'g.id', 'm.group_id')
        .where({ 'm.organisation_id': organisationId })
        .whereIn('m.user_id', userIds)
        .orderBy(['g.name_key', 'g.id'])
        .select('m.user_id', 'g.id', 'g.display_name');
      const found = new Map<string, ScimGroupName[]>();
      for (const { user_id, id, display_name } of rows) {
        const already = found.get(user_id) ?? [];
        found.set(user_id, [...already, { id, displayName: display_name }]);
      }
      return found;
    });
  }
}
