import { randomUUID } from 'node:crypto';
import type { Listed, Page } from '../../records/place.js';
import type {
  ScimMapping,
  ScimMappingFilter,
  ScimMappingStore,
  ScimMove,
} from '../../records/scim-mappings.js';
import type { WorkspaceRole } from '../../records/users.js';
import { higherRole } from '../../records/users.js';
import type { Database, Sql, Transaction } from '../connection/driver.js';
import { listed } from '../lists.js';
import { batchesOf } from './scim-groups.js';

interface MappingRow {
  readonly id: string;
  readonly organisation_id: string;
  readonly workspace_id: string;
  readonly group_id: string;
  readonly group_name: string;
  readonly role: WorkspaceRole;
}

const fromRow = (row: MappingRow): ScimMapping => ({
  id: row.id,
  organisationId: row.organisation_id,
  workspaceId: row.workspace_id,
  groupId: row.group_id,
  groupName: row.group_name,
  role: row.role,
});

/** Active mappings with the names of their groups, as a table for queries. */
const mappingsOf = (sql: Sql, organisationId: string) =>
  sql(
    sql('scim_mappings as p')
      .join('scim_groups as g', 'g.id', 'p.group_id')
      .where({ 'p.organisation_id': organisationId, 'p.status': 'active' })
      .select(
        'p.id',
        'p.organisation_id',
        'p.workspace_id',
        'p.group_id',
        'p.role',
        'p.created_at',
        'g.display_name as group_name',
      )
      .as('mappings'),
  );

/** A member of a workspace, as far as groups matter. */
interface PlaceRow {
  readonly workspace_id: string;
  readonly user_id: string;
  readonly role: WorkspaceRole;
  readonly scim_role: WorkspaceRole | null;
  readonly own_role: WorkspaceRole | null;
}

/** The role given by hand; null: none. */
const ownRoleOf = ({ role, scim_role, own_role }: PlaceRow): WorkspaceRole | null =>
  scim_role === null ? role : own_role;

/** What changes of one user's place in a workspace; null: nothing. */
function moveOf(
  userId: string,
  workspaceId: string,
  place: PlaceRow | null,
  byGroups: WorkspaceRole | null,
): ScimMove | null {
  if ((place?.scim_role ?? null) === byGroups) return null;
  const own = place === null ? null : ownRoleOf(place);
  return { userId, workspaceId, from: place?.role ?? null, to: higherRole(own, byGroups), byGroups };
}

export class SqlScimMappings implements ScimMappingStore {
  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  list(organisationId: string, filter: ScimMappingFilter, page: Page): Promise<Listed<ScimMapping>> {
    return this.database.read((sql) => {
      const wanted = mappingsOf(sql, organisationId);
      if (filter.workspaceId !== undefined) wanted.where({ workspace_id: filter.workspaceId });
      if (filter.groupId !== undefined) wanted.where({ group_id: filter.groupId });
      if (filter.role !== undefined) wanted.where({ role: filter.role });
      return listed(wanted, [{ column: 'created_at' }, { column: 'id' }], page, fromRow);
    });
  }

  get(organisationId: string, id: string): Promise<ScimMapping | null> {
    return this.database.read(async (sql) => {
      const row: MappingRow | undefined = await mappingsOf(sql, organisationId).where({ id }).first();
      return row === undefined ? null : fromRow(row);
    });
  }

  create(
    organisationId: string,
    { workspaceId, groupId, role }: Parameters<ScimMappingStore['create']>[1],
  ): Promise<ScimMapping | 'taken'> {
    return this.database.write(async (sql) => {
      const same = { workspace_id: workspaceId, group_id: groupId };
      if ((await mappingsOf(sql, organisationId).where(same).first()) !== undefined) return 'taken';
      const id = randomUUID();
      const now = this.now();
      await sql('scim_mappings').insert({
        ...same,
        id,
        organisation_id: organisationId,
        role,
        status: 'active',
        created_at: now,
        updated_at: now,
      });
      await this.#setSource(sql, organisationId, workspaceId);
      return fromRow(await mappingsOf(sql, organisationId).where({ id }).first());
    });
  }

  archive(organisationId: string, id: string): Promise<'archived' | 'missing'> {
    return this.database.write(async (sql) => {
      const row: MappingRow | undefined = await mappingsOf(sql, organisationId).where({ id }).first();
      if (row === undefined) return 'missing';
      await sql('scim_mappings')
        .where({ organisation_id: organisationId, id })
        .update({ status: 'archived', updated_at: this.now() });
      await this.#setSource(sql, organisationId, row.workspace_id);
      return 'archived';
    });
  }

  /** Names the group that was mapped to the workspace first, of those that still are. */
  async #setSource(sql: Transaction, organisationId: string, workspaceId: string): Promise<void> {
    const first = await mappingsOf(sql, organisationId)
      .where({ workspace_id: workspaceId })
      .orderBy(['created_at', 'id'])
      .first('group_id');
    await sql('workspaces')
      .where({ organisation_id: organisationId, id: workspaceId })
      .update({ scim_source_id: first?.group_id ?? null });
  }

  moves(
    organisationId: string,
    about: { readonly userIds: readonly string[] } | { readonly workspaceId: string },
  ): Promise<ScimMove[]> {
    return this.database.read(async (sql) => {
      const workspaceId = 'workspaceId' in about ? about.workspaceId : null;
      const all =
        'userIds' in about ? about.userIds : await this.#usersOf(sql, organisationId, about.workspaceId);
      // Their members stay as they are: an archived workspace does not change.
      const archived = new Set<string>(
        await sql('workspaces').where({ organisation_id: organisationId, status: 'archived' }).pluck('id'),
      );
      const found: ScimMove[] = [];
      for (const userIds of batchesOf(all))
        found.push(...(await this.#moves(sql, organisationId, { userIds, workspaceId, archived })));
      return found;
    });
  }

  /** Ids of the members of a workspace, and of the groups that are mapped to it. */
  async #usersOf(sql: Sql, organisationId: string, workspaceId: string): Promise<string[]> {
    const at = { organisation_id: organisationId, workspace_id: workspaceId };
    const present: string[] = await sql('workspace_members').where(at).pluck('user_id');
    const wanted: string[] = await sql('scim_group_members as m')
      .join('scim_mappings as p', 'm.group_id', 'p.group_id')
      .where({ 'p.organisation_id': organisationId, 'p.workspace_id': workspaceId, 'p.status': 'active' })
      .pluck('m.user_id');
    return [...new Set([...present, ...wanted])];
  }

  async #moves(
    sql: Sql,
    organisationId: string,
    {
      userIds,
      workspaceId,
      archived,
    }: {
      readonly userIds: readonly string[];
      /** null: in all workspaces. */
      readonly workspaceId: string | null;
      readonly archived: ReadonlySet<string>;
    },
  ): Promise<ScimMove[]> {
    const wanted = sql('scim_mappings as p')
      .join('scim_group_members as m', 'm.group_id', 'p.group_id')
      .join('workspaces as w', 'w.id', 'p.workspace_id')
      .where({ 'p.organisation_id': organisationId, 'p.status': 'active', 'w.status': 'active' })
      .whereIn('m.user_id', userIds)
      .select('p.workspace_id', 'm.user_id', 'p.role');
    const places = sql('workspace_members')
      .where({ organisation_id: organisationId })
      .whereIn('user_id', userIds)
      .select('workspace_id', 'user_id', 'role', 'scim_role', 'own_role');
    if (workspaceId !== null) {
      wanted.where({ 'p.workspace_id': workspaceId });
      places.where({ workspace_id: workspaceId });
    }
    const nameOf = (row: { workspace_id: string; user_id: string }): string =>
      `${row.workspace_id} ${row.user_id}`;
    const byGroups = new Map<string, { workspace_id: string; user_id: string; role: WorkspaceRole }>();
    for (const row of await wanted) {
      const role = higherRole(byGroups.get(nameOf(row))?.role ?? null, row.role) as WorkspaceRole;
      byGroups.set(nameOf(row), { ...row, role });
    }
    const moves: (ScimMove | null)[] = [];
    for (const place of (await places) as PlaceRow[]) {
      if (archived.has(place.workspace_id)) continue;
      const role = byGroups.get(nameOf(place))?.role ?? null;
      byGroups.delete(nameOf(place));
      moves.push(moveOf(place.user_id, place.workspace_id, place, role));
    }
    for (const { workspace_id, user_id, role } of byGroups.values())
      moves.push(moveOf(user_id, workspace_id, null, role));
    return moves.filter((move) => move !== null);
  }

  apply(organisationId: string, moves: readonly ScimMove[]): Promise<void> {
    return this.database.write(async (sql) => {
      const now = this.now();
      const joining = moves.filter(({ from }) => from === null);
      for (const batch of batchesOf(joining)) {
        await sql('workspace_members').insert(
          batch.map(({ userId, workspaceId, byGroups }) => ({
            organisation_id: organisationId,
            workspace_id: workspaceId,
            user_id: userId,
            role: byGroups,
            scim_role: byGroups,
            created_at: now,
            updated_at: now,
          })),
        );
      }
      await this.#leave(
        sql,
        organisationId,
        moves.filter(({ to }) => to === null),
      );
      for (const move of moves)
        if (move.from !== null && move.to !== null) await this.#change(sql, organisationId, move, now);
    });
  }

  async #leave(sql: Transaction, organisationId: string, moves: readonly ScimMove[]): Promise<void> {
    for (const workspaceId of new Set(moves.map((move) => move.workspaceId))) {
      const leaving = moves.filter((move) => move.workspaceId === workspaceId);
      for (const batch of batchesOf(leaving)) {
        const ids = batch.map(({ userId }) => userId);
        const at = { organisation_id: organisationId, workspace_id: workspaceId };
        await sql('workspace_members').where(at).whereIn('user_id', ids).delete();
        await sql('api_keys').where(at).whereIn('user_id', ids).delete();
      }
    }
  }

  async #change(sql: Transaction, organisationId: string, move: ScimMove, now: number): Promise<void> {
    const at = { organisation_id: organisationId, workspace_id: move.workspaceId, user_id: move.userId };
    const place: PlaceRow = await sql('workspace_members').where(at).first();
    await sql('workspace_members')
      .where(at)
      .update({
        role: move.to,
        scim_role: move.byGroups,
        own_role: move.byGroups === null ? null : ownRoleOf(place),
        updated_at: now,
      });
  }
}
