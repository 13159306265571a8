import { emailKey } from '../../../../common/access/email.js';
import type { Member, MemberFilter, MemberStore, Roles } from '../../records/members.js';
import type { Listed, Page, Place } from '../../records/place.js';
import { higherRole, type OrganisationRole, type WorkspaceRole } from '../../records/users.js';
import type { Database, Sql, Transaction } from '../connection/driver.js';
import { isDuplicate } from '../connection/failure.js';
import { listed } from '../lists.js';
import { hasWorkspace } from './workspaces.js';

interface MemberRow {
  readonly user_id: string;
  readonly workspace_id: string;
  readonly email: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly organisation_role: OrganisationRole;
  readonly is_active: boolean | number;
  readonly role: WorkspaceRole;
  readonly scim_role: WorkspaceRole | null;
  readonly created_at: number | string;
  readonly updated_at: number | string;
}

const fromRow = (row: MemberRow): Member => ({
  userId: row.user_id,
  workspaceId: row.workspace_id,
  email: row.email,
  firstName: row.first_name,
  lastName: row.last_name,
  organisationRole: row.organisation_role,
  isActive: Boolean(row.is_active),
  role: row.role,
  roleByGroups: row.scim_role,
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
});

/** The row itself, to be changed. */
const rowOf = (sql: Sql, { organisationId, workspaceId }: Place, userId: string) =>
  sql('workspace_members').where({
    organisation_id: organisationId,
    workspace_id: workspaceId,
    user_id: userId,
  });

/** Sets the role that was given by hand; a higher one that came by groups stays in force. false: no such member. */
export async function setOwnRole(
  sql: Transaction,
  place: Place,
  userId: string,
  role: WorkspaceRole,
  now: number,
): Promise<boolean> {
  const row: { scim_role: WorkspaceRole | null } | undefined = await rowOf(sql, place, userId).first(
    'scim_role',
  );
  if (row === undefined) return false;
  const byGroups = row.scim_role;
  await rowOf(sql, place, userId).update({
    role: higherRole(role, byGroups),
    own_role: byGroups === null ? null : role,
    updated_at: now,
  });
  return true;
}

/** Members of a workspace with what is known of them, as a table to be asked. */
const membersOf = (sql: Sql, { organisationId, workspaceId }: Place) =>
  sql(
    sql('workspace_members as m')
      .join('users as u', 'u.id', 'm.user_id')
      .where({ 'm.organisation_id': organisationId, 'm.workspace_id': workspaceId })
      .select(
        'm.user_id',
        'm.workspace_id',
        'm.role',
        'm.scim_role',
        'm.created_at',
        'm.updated_at',
        'u.email',
        'u.email_key',
        'u.first_name',
        'u.last_name',
        'u.role as organisation_role',
        'u.is_active',
      )
      .as('members'),
  );

export class SqlMembers implements MemberStore {
  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  get(place: Place, userId: string): Promise<Member | null> {
    return this.database.read(async (sql) => {
      const row: MemberRow | undefined = await membersOf(sql, place).where({ user_id: userId }).first();
      return row === undefined ? null : fromRow(row);
    });
  }

  list(place: Place, filter: MemberFilter, page: Page): Promise<Listed<Member>> {
    return this.database.read(async (sql) => {
      const wanted = membersOf(sql, place);
      if (filter.role !== undefined) wanted.where({ role: filter.role });
      if (filter.email !== undefined) wanted.where({ email_key: emailKey(filter.email) });
      return listed(wanted, [{ column: 'created_at', order: 'desc' }, { column: 'user_id' }], page, fromRow);
    });
  }

  async add(place: Place, userId: string, role: WorkspaceRole): Promise<'added' | 'taken' | 'missing'> {
    const { organisationId, workspaceId } = place;
    const now = this.now();
    try {
      return await this.database.write(
        async (sql) => {
          const user = await sql('users').where({ organisation_id: organisationId, id: userId }).first('id');
          if (user === undefined || !(await hasWorkspace(sql, place))) return 'missing';
          await sql('workspace_members').insert({
            organisation_id: organisationId,
            workspace_id: workspaceId,
            user_id: userId,
            role,
            created_at: now,
            updated_at: now,
          });
          return 'added';
        },
        { apart: true },
      );
    } catch (error) {
      if (isDuplicate(error)) return 'taken';
      throw error;
    }
  }

  setRole(place: Place, userId: string, role: WorkspaceRole): Promise<'changed' | 'missing'> {
    return this.database.write(async (sql) => {
      const isThere = await setOwnRole(sql, place, userId, role, this.now());
      return isThere ? 'changed' : 'missing';
    });
  }

  remove(place: Place, userId: string): Promise<'removed' | 'missing'> {
    return this.database.write(async (sql) => {
      const count = await rowOf(sql, place, userId).delete();
      if (count === 0) return 'missing';
      await sql('api_keys')
        .where({ organisation_id: place.organisationId, workspace_id: place.workspaceId, user_id: userId })
        .delete();
      return 'removed';
    });
  }

  roleOf(workspaceId: string, userId: string): Promise<Roles | null> {
    return this.database.read(async (sql) => {
      const row: { organisation: OrganisationRole; workspace: WorkspaceRole | null } | undefined = await sql(
        'workspaces as w',
      )
        .join('users as u', 'u.organisation_id', 'w.organisation_id')
        .leftJoin('workspace_members as m', (on) =>
          on.on('m.workspace_id', 'w.id').andOn('m.user_id', 'u.id'),
        )
        .where({ 'w.id': workspaceId, 'u.id': userId, 'u.is_active': true })
        .first('u.role as organisation', 'm.role as workspace');
      if (row === undefined) return null;
      const { organisation, workspace } = row;
      return { organisation, workspace: organisation === 'member' ? workspace : 'admin' };
    });
  }
}
