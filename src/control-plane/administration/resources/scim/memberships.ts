import type { ScimMove, User } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { checkMemberships, checkRaised } from '../../access/grants.js';
import { joined } from '../../access/people/joining.js';
import { isAbove } from '../../access/roles.js';
import { AdminError } from '../../admin-error.js';
import { keysOfUser, keysOfWorkspace } from '../people/users.js';

/** From so many users on, all keys of a workspace are forgotten at once. */
const manyUsers = 50;

/** Groups and mappings give no more than the caller could give by hand. */
async function checkMoves(caller: Caller, moves: readonly ScimMove[]): Promise<void> {
  for (const { userId, workspaceId, from, to } of moves) {
    if (to === null) continue;
    if (from === null) checkMemberships(caller, 'create', 'members');
    else if (isAbove(to, from)) {
      checkMemberships(caller, 'update', 'members');
      const user = await caller.store.users.get(caller.organisationId, userId);
      if (user !== null) await checkRaised(caller, user, user.role, [{ workspaceId, role: to }]);
    }
  }
}

/** Workers forget what the keys of those who leave or get another role may do. */
function report(caller: Caller, workspaceId: string, moves: readonly ScimMove[]): void {
  const touched = moves.filter(({ from }) => from !== null);
  const forgets =
    touched.length > manyUsers
      ? keysOfWorkspace(workspaceId)
      : touched.flatMap(({ userId }) => keysOfUser(userId));
  caller.changed({ kind: 'workspace', action: 'update', id: workspaceId, workspaceId }, forgets);
}

/** The same for a user who is activated: in workspaces that were joined before, and where there is no key yet. */
export async function giveKeysOnActivation(caller: Caller, user: User): Promise<void> {
  const { store, organisationId } = caller;
  for (const workspaceId of user.workspaceIds) {
    const own = { workspaceId, userId: user.id };
    const { total } = await store.keys.list(organisationId, own, { offset: 0, limit: 1 });
    if (total === 0) await joined(caller, { organisationId, workspaceId }, user);
  }
}

/** Users who join by a group get the key that the settings of the workspace want for those who join. */
async function giveKeys(caller: Caller, workspaceId: string, moves: readonly ScimMove[]): Promise<void> {
  const { store, organisationId } = caller;
  const settings = await store.organisations.settings(organisationId, workspaceId);
  if (settings === null || !settings.userApiKeyAutoCreate) return;
  for (const { userId, from } of moves) {
    if (from !== null) continue;
    const user = await store.users.get(organisationId, userId);
    if (user !== null) await joined(caller, { organisationId, workspaceId }, user);
  }
}

/**
 * Brings the members of workspaces in line with groups and mappings, in the caller's unit of work: for these users, or for
 * everyone in a workspace.
 */
export async function settleMemberships(
  caller: Caller,
  about: { readonly userIds: readonly string[] } | { readonly workspaceId: string },
): Promise<void> {
  const { store, organisationId } = caller;
  const moves = await store.scimMappings.moves(organisationId, about);
  if (moves.length === 0) return;
  await checkMoves(caller, moves);
  await store.scimMappings.apply(organisationId, moves);
  for (const workspaceId of new Set(moves.map((move) => move.workspaceId))) {
    const ofIt = moves.filter((move) => move.workspaceId === workspaceId);
    report(caller, workspaceId, ofIt);
    await giveKeys(caller, workspaceId, ofIt);
  }
}

/** Throws AB07 for a membership that came by a group: it would come back with the next change of the group. */
export function checkByHand(roleByGroups: string | null): void {
  if (roleByGroups !== null)
    throw new AdminError(
      'AB07',
      'This user is a member through a SCIM group: remove the user from the group, or delete its mapping.',
    );
}
