import type { WorkspaceRole as NamedRole } from '../../../../proto/messages.js';
import type { Membership, Roles, Workspace, WorkspaceRole } from '../../store/store.js';
import { AdminError } from '../admin-error.js';
import type { Caller } from './caller.js';

const rank: Readonly<Record<WorkspaceRole, number>> = { member: 1, manager: 2, admin: 3 };

/** Is a role above another? What is no role is below them all. */
export const isAbove = (role: WorkspaceRole, other: WorkspaceRole | null): boolean =>
  rank[role] > (other === null ? 0 : rank[other]);

/**
 * What the caller is towards other people: a user is what the user is, and the organisation's own key an admin. A
 * workspace's own key is a manager: managers make such keys, and must not rise by them.
 */
export async function rolesOf(caller: Caller): Promise<Roles> {
  const { userId, workspaceId } = caller.key;
  if (workspaceId === null) return { organisation: caller.person?.user.role ?? 'admin', workspace: 'admin' };
  if (userId === null) return { organisation: 'member', workspace: 'manager' };
  const roles = await caller.store.members.roleOf(workspaceId, userId);
  return roles ?? { organisation: 'member', workspace: null };
}

/** The workspace that a path names; one out of sight is answered as if it did not exist. */
export async function workspaceAt(caller: Caller, idOrSlug: string): Promise<Workspace> {
  const workspace = await caller.store.workspaces.get(caller.organisationId, idOrSlug);
  if (workspace === null || !caller.sees(workspace.id))
    throw new AdminError('AB08', 'There is no such workspace.');
  return workspace;
}

/** The same, for a change: what is archived stays as it is. */
export async function activeWorkspaceAt(caller: Caller, idOrSlug: string): Promise<Workspace> {
  const workspace = await workspaceAt(caller, idOrSlug);
  if (workspace.status === 'archived')
    throw new AdminError('AB07', `The workspace ${workspace.slug} is archived and stays as it is.`);
  return workspace;
}

/** Workspaces to join, by their ids; each once. Throws AB02 for one that the organisation has not. */
export async function membershipsOf(
  caller: Caller,
  named: readonly NamedRole[],
  path: string,
): Promise<Membership[]> {
  const found = new Map<string, Membership>();
  for (const [i, { id, role }] of named.entries()) {
    const workspace = await caller.store.workspaces.get(caller.organisationId, id);
    if (workspace === null || workspace.status === 'archived')
      throw new AdminError('AB02', `${path}[${i}].id: there is no such workspace.`);
    if (found.has(workspace.id))
      throw AdminError.field(`${path}[${i}].id`, 'names a workspace that is named before.');
    found.set(workspace.id, { workspaceId: workspace.id, role });
  }
  return [...found.values()];
}
