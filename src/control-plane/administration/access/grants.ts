import { keyResource, scopesOf } from '../../../common/access/scopes.js';
import type { InviteKeyDetails, Membership, OrganisationRole, User } from '../../store/store.js';
import { AdminError } from '../admin-error.js';
import type { Caller } from './caller.js';
import { leaves, type Standing } from './can.js';
import { isAbove } from './roles.js';

/**
 * Checks that a key grants only what it could use itself: organisation roles, workspace memberships, promised keys, and
 * the scopes that a higher role restores to existing keys. Every refusal is AB03 and names the scope that is missing.
 */

/** Admins and owners may do everything in the organisation, so granting these roles needs every scope of it. */
export function checkOrganisationRole(caller: Caller, role: OrganisationRole): void {
  if (role === 'member') return;
  const lacks = scopesOf('organisation-service').find((scope) => !caller.key.scopes.includes(scope));
  if (lacks !== undefined)
    throw new AdminError(
      'AB03',
      `role: this key lacks ${lacks}; only a key with every scope of the organisation gives the role ${role}.`,
    );
}

/**
 * Workspace memberships need the same scope as adding a member to the workspace, or changing one. `path`: of the field
 * that lists them.
 */
export function checkMemberships(caller: Caller, action: 'create' | 'update', path: string): void {
  if (caller.has(`workspace_users.${action}`)) return;
  const what = action === 'create' ? 'add users to workspaces' : 'change roles in workspaces';
  throw new AdminError('AB03', `${path}: this key lacks workspace_users.${action} and cannot ${what}.`);
}

/** Keys that are created when an invitation is accepted. `path`: of the field that describes them. */
export function checkPromisedKeys(caller: Caller, scopes: readonly string[], path: string): void {
  const make = `${keyResource['workspace-user']}.create`;
  if (!caller.has(make))
    throw new AdminError('AB03', `${path}: this key lacks ${make} and cannot promise keys.`);
  for (const [i, scope] of scopes.entries()) {
    if (!caller.mayGrant(scope, 'workspace-user'))
      throw new AdminError('AB03', `${path}.scopes[${i}]: this key lacks ${scope} and cannot grant it.`);
  }
}

/** Everything that an invitation promises: its link is returned to the caller, who can accept it. */
export function checkInvitation(
  caller: Caller,
  role: OrganisationRole,
  workspaces: readonly Membership[],
  keys: Pick<InviteKeyDetails, 'scopes'> | null,
): void {
  checkOrganisationRole(caller, role);
  if (workspaces.length > 0) checkMemberships(caller, 'create', 'workspaces');
  if (keys !== null) checkPromisedKeys(caller, keys.scopes, 'workspace_api_key_details');
}

/** Scopes whose effect depends on the workspace role of the key's user. */
const roleDependent = /^(?:workspaces\.update|workspace_users\.(?:create|update|delete))$/;

/** Those of a key's scopes that its user's new role allows and the old one did not. `before` null: no role. */
function restoredScopes(before: Standing | null, after: Standing, scopes: readonly string[]): string[] {
  const { workspace } = after;
  const rises = workspace !== null && isAbove(workspace, before?.workspace ?? null);
  return scopes.filter(
    (scope) =>
      leaves(after, scope) &&
      (before === null || !leaves(before, scope) || (rises && roleDependent.test(scope))),
  );
}

const pageOf = 1000;

/**
 * A user's keys keep their scopes when the user's role is lowered, and cannot use them until it is raised again. The
 * scopes that the new roles restore must be ones that the caller can grant. `workspaces`: the new workspace roles.
 */
export async function checkRaised(
  caller: Caller,
  user: Pick<User, 'id' | 'role'>,
  role: OrganisationRole,
  workspaces: readonly Membership[],
): Promise<void> {
  const { store, organisationId } = caller;
  const given = new Map(workspaces.map((one) => [one.workspaceId, one.role]));
  for (let offset = 0; ; offset += pageOf) {
    const filter = { userId: user.id, types: ['workspace-user'] } as const;
    const { rows } = await store.keys.list(organisationId, filter, { offset, limit: pageOf });
    for (const { workspaceId, scopes } of rows) {
      if (workspaceId === null) continue;
      const place = { organisationId, workspaceId };
      const settings = await store.organisations.settings(organisationId, workspaceId);
      if (settings === null) continue;
      const { security } = settings;
      const now = (await store.members.get(place, user.id))?.role ?? null;
      const standing = (organisation: OrganisationRole, workspace: Standing['workspace']): Standing => ({
        organisation,
        workspace: organisation === 'member' ? workspace : 'admin',
        security,
      });
      const restored = restoredScopes(
        standing(user.role, now),
        standing(role, given.get(workspaceId) ?? now),
        scopes,
      );
      const beyond = restored.find((scope) => !caller.mayGrant(scope, 'workspace-user'));
      if (beyond !== undefined)
        throw new AdminError(
          'AB03',
          `role: a key of this user would regain ${beyond}, which this key cannot grant: delete that key first.`,
        );
    }
    if (rows.length < pageOf) return;
  }
}
