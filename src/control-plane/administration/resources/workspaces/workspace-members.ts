import type { WorkspaceMember } from '../../../../../proto/messages.js';
import { scopesOf } from '../../../../common/access/scopes.js';
import type { SecuritySettings } from '../../../../common/access/security-settings.js';
import type { Member, Place, Workspace, WorkspaceRole } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { leaves } from '../../access/can.js';
import { checkRaised } from '../../access/grants.js';
import { endSessions } from '../../access/people/end-sessions.js';
import { joined } from '../../access/people/joining.js';
import { activeWorkspaceAt, isAbove, rolesOf, workspaceAt } from '../../access/roles.js';
import { AdminError } from '../../admin-error.js';
import { pageOf, timeOf } from '../../grpc/wire.js';
import type { AdminParts, Service } from '../../service.js';
import { keysOfWorkspace } from '../people/users.js';
import { checkByHand } from '../scim/memberships.js';

/** `security`: the flags in force in the workspace. */
export function memberMessage(member: Member, security: SecuritySettings): WorkspaceMember {
  const { organisationRole: organisation } = member;
  const workspace = organisation === 'member' ? member.role : 'admin';
  return {
    object: 'workspace-user',
    id: member.userId,
    first_name: member.firstName,
    last_name: member.lastName,
    org_role: organisation,
    role: member.role,
    created_at: timeOf(member.createdAt),
    last_updated_at: timeOf(member.updatedAt),
    status: 'active',
    workspace_id: member.workspaceId,
    email: member.email,
    scopes: scopesOf('workspace-user').filter((scope) =>
      leaves({ organisation, workspace, security }, scope),
    ),
    settings: null,
  };
}

const placeOf = ({ organisationId, id }: Workspace): Place => ({ organisationId, workspaceId: id });
const noMember = (): AdminError => new AdminError('AB08', 'The workspace has no such member.');

/** Members of workspaces. */
export function workspaceMembersService({ store }: AdminParts): Service<'WorkspaceMembers'> {
  async function securityIn({ organisationId, workspaceId }: Place): Promise<SecuritySettings> {
    const settings = await store.organisations.settings(organisationId, workspaceId);
    if (settings === null) throw noMember();
    return settings.security;
  }

  /** A caller cannot grant or remove a role above their own. */
  async function checkRank(caller: Caller, role: WorkspaceRole, path: string): Promise<void> {
    const { workspace } = await rolesOf(caller);
    if (isAbove(role, workspace))
      throw new AdminError('AB03', `${path}: the role ${role} is above your own.`);
  }

  async function memberAt(workspace: Workspace, userId: string): Promise<Member> {
    const member = await store.members.get(placeOf(workspace), userId);
    if (member === null) throw noMember();
    return member;
  }

  return {
    async AddWorkspaceMembers(caller, { workspace_id, users }) {
      const workspace = await activeWorkspaceAt(caller, workspace_id);
      caller.changed({ id: workspace.id, slug: workspace.slug, workspaceId: workspace.id });
      for (const [i, { id, role }] of users.entries()) {
        await checkRank(caller, role, `users[${i}].role`);
        const user = await store.users.get(caller.organisationId, id);
        if (user !== null) await checkRaised(caller, user, user.role, [{ workspaceId: workspace.id, role }]);
        const added = await store.members.add(placeOf(workspace), id, role);
        if (added === 'missing')
          throw new AdminError('AB02', `users[${i}].id: the organisation has no such user.`);
        if (added === 'taken') throw new AdminError('AB07', `users[${i}].id: this user is a member already.`);
        if (user !== null) await joined(caller, placeOf(workspace), user);
      }
      return {};
    },

    async ListWorkspaceMembers(caller, request) {
      const place = placeOf(await workspaceAt(caller, request.workspace_id));
      const filter = { role: request.role || undefined, email: request.email || undefined };
      const { total, rows } = await store.members.list(place, filter, pageOf(request));
      const security = await securityIn(place);
      return { object: 'list', total, data: rows.map((member) => memberMessage(member, security)) };
    },

    async GetWorkspaceMember(caller, { workspace_id, user_id }) {
      const workspace = await workspaceAt(caller, workspace_id);
      const member = await memberAt(workspace, user_id);
      return memberMessage(member, await securityIn(placeOf(workspace)));
    },

    async UpdateWorkspaceMember(caller, { workspace_id, user_id, role }) {
      const workspace = await activeWorkspaceAt(caller, workspace_id);
      const member = await memberAt(workspace, user_id);
      await checkRank(caller, member.role, 'user_id');
      await checkRank(caller, role, 'role');
      const { organisationRole } = member;
      await checkRaised(caller, { id: user_id, role: organisationRole }, organisationRole, [
        { workspaceId: workspace.id, role },
      ]);
      await store.members.setRole(placeOf(workspace), user_id, role);
      if (role !== member.role) await endSessions(store, caller.organisationId, user_id);
      caller.changed(
        { id: workspace.id, slug: workspace.slug, workspaceId: workspace.id },
        keysOfWorkspace(workspace.id),
      );
      return {};
    },

    async RemoveWorkspaceMember(caller, { workspace_id, user_id }) {
      const workspace = await activeWorkspaceAt(caller, workspace_id);
      const member = await memberAt(workspace, user_id);
      await checkRank(caller, member.role, 'user_id');
      checkByHand(member.roleByGroups);
      await store.members.remove(placeOf(workspace), user_id);
      await endSessions(store, caller.organisationId, user_id);
      caller.changed(
        { id: workspace.id, slug: workspace.slug, workspaceId: workspace.id },
        keysOfWorkspace(workspace.id),
      );
      return {};
    },
  };
}
