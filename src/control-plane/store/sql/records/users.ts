import { randomUUID } from 'node:crypto';
import { emailKey } from '../../../../common/access/email.js';
import { etagOf } from '../../records/etag.js';
import type { Listed, Page } from '../../records/place.js';
import type {
  Membership,
  NewUser,
  OrganisationRole,
  User,
  UserFilter,
  UserStore,
} from '../../records/users.js';
import type { Database, Sql, Transaction } from '../connection/driver.js';
import { isDangling, isDuplicate } from '../connection/failure.js';
import { listed, newestFirst } from '../lists.js';
import { isCurrent, replaceRow } from '../revision.js';
import { setOwnRole } from './members.js';
import { hasWorkspace } from './workspaces.js';

export interface UserRow {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly email: string;
  readonly email_key: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly role: OrganisationRole;
  readonly is_active: boolean | number;
  readonly external_id: string | null;
  readonly display_name: string | null;
  /** JSON. */
  readonly scim_attributes: string | null;
  readonly scim_emails: string | null;
  readonly created_at: number | string;
  readonly updated_at: number | string;
}

export const fromRow = (row: UserRow, workspaceIds: readonly string[]): User => ({
  id: row.id,
  organisationId: row.organisation_id,
  email: row.email,
  firstName: row.first_name,
  lastName: row.last_name,
  role: row.role,
  isActive: Boolean(row.is_active),
  workspaceIds,
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  etag: etagOf(row),
});

const rowOf = (sql: Sql, organisationId: string, id: string): Promise<UserRow | undefined> =>
  sql('users').where({ organisation_id: organisationId, id }).first();

/** The workspaces of each of these users; archived ones are left out. */
export async function workspacesOf(
  sql: Sql,
  organisationId: string,
  users: readonly string[],
): Promise<Map<string, string[]>> {
  const rows: { user_id: string; workspace_id: string }[] = await sql('workspace_members')
    .join('workspaces', 'workspaces.id', 'workspace_members.workspace_id')
    .where({ 'workspace_members.organisation_id': organisationId, 'workspaces.status': 'active' })
    .whereIn('user_id', users)
    .orderBy(['workspace_members.created_at', 'workspace_id'])
    .select('user_id', 'workspace_id');
  const found = new Map<string, string[]>();
  for (const { user_id, workspace_id } of rows) {
    const already = found.get(user_id);
    if (already === undefined) found.set(user_id, [workspace_id]);
    else already.push(workspace_id);
  }
  return found;
}

/** Thrown to undo what was begun: one of the workspaces is not there. */
class NoWorkspace extends Error {}

export class SqlUsers implements UserStore {
  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  get(organisationId: string, id: string): Promise<User | null> {
    return this.database.read((sql) => this.#get(sql, organisationId, id));
  }

  async #get(sql: Sql, organisationId: string, id: string): Promise<User | null> {
    const row = await rowOf(sql, organisationId, id);
    if (row === undefined) return null;
    const workspaces = await workspacesOf(sql, organisationId, [id]);
    return fromRow(row, workspaces.get(id) ?? []);
  }

  list(organisationId: string, filter: UserFilter, page: Page): Promise<Listed<User>> {
    return this.database.read(async (sql) => {
      const wanted = sql('users').where({ organisation_id: organisationId });
      if (filter.role !== undefined) wanted.where({ role: filter.role });
      if (filter.email !== undefined) wanted.where({ email_key: emailKey(filter.email) });
      const { total, rows } = await listed(wanted, newestFirst, page, (row: UserRow) => row);
      const ids = rows.map(({ id }) => id);
      const workspaces = await workspacesOf(sql, organisationId, ids);
      return { total, rows: rows.map((row) => fromRow(row, workspaces.get(row.id) ?? [])) };
    });
  }

  async create(organisationId: string, input: NewUser): Promise<User | 'taken' | 'missing'> {
    const now = this.now();
    const row: UserRow = {
      id: randomUUID(),
      revision: 1,
      organisation_id: organisationId,
      email: input.email.trim(),
      email_key: emailKey(input.email),
      first_name: input.firstName ?? '',
      last_name: input.lastName ?? '',
      role: input.role,
      is_active: true,
      external_id: null,
      display_name: null,
      scim_attributes: null,
      scim_emails: null,
      created_at: now,
      updated_at: now,
    };
    try {
      return await this.database.write(
        async (sql) => {
          await sql('users').insert(row);
          await this.#join(sql, row, input.workspaces ?? []);
          return (await this.#get(sql, organisationId, row.id))!;
        },
        { apart: true },
      );
    } catch (error) {
      if (isDuplicate(error)) return 'taken';
      if (error instanceof NoWorkspace || isDangling(error)) return 'missing';
      throw error;
    }
  }

  async #join(sql: Transaction, user: UserRow, workspaces: readonly Membership[]): Promise<void> {
    for (const { workspaceId, role } of workspaces) {
      const place = { organisationId: user.organisation_id, workspaceId };
      if (!(await hasWorkspace(sql, place))) throw new NoWorkspace();
      const now = this.now();
      if (await setOwnRole(sql, place, user.id, role, now)) continue;
      await sql('workspace_members').insert({
        organisation_id: user.organisation_id,
        workspace_id: workspaceId,
        user_id: user.id,
        role,
        created_at: now,
        updated_at: now,
      });
    }
  }

  async update(
    organisationId: string,
    id: string,
    change: Parameters<UserStore['update']>[2],
  ): Promise<User | 'missing' | 'stale'> {
    try {
      return await this.database.write(
        async (sql) => {
          const row = await rowOf(sql, organisationId, id);
          if (row === undefined) return 'missing';
          if (!isCurrent(row, change.etag)) return 'stale';
          const next = { ...row, role: change.role ?? row.role, updated_at: this.now() };
          if ((await replaceRow(sql, 'users', next)) === 'stale') return 'stale';
          await this.#join(sql, row, change.workspaces ?? []);
          return (await this.#get(sql, organisationId, id))!;
        },
        { apart: true },
      );
    } catch (error) {
      if (error instanceof NoWorkspace) return 'missing';
      throw error;
    }
  }

  delete(organisationId: string, id: string, etag?: string): Promise<User | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await rowOf(sql, organisationId, id);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, etag)) return 'stale';
      const user = (await this.#get(sql, organisationId, id))!;
      await sql('api_keys').where({ organisation_id: organisationId, user_id: id }).delete();
      // A group that loses a member has another state.
      await sql('scim_groups')
        .where({ organisation_id: organisationId })
        .whereIn('id', sql('scim_group_members').where({ user_id: id }).select('group_id'))
        .increment('revision');
      await sql('users').where({ organisation_id: organisationId, id }).delete();
      return user;
    });
  }

  owners(organisationId: string): Promise<number> {
    return this.database.read(async (sql) => {
      const count = await sql('users')
        .where({ organisation_id: organisationId, role: 'owner', is_active: true })
        .count('* as total')
        .first();
      return Number(count?.['total']);
    });
  }
}
