import type { ScimMove, User } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { checkMemberships, checkRaised } from '../../access/grants.js';
import { joined } from '../../access/people/joining.js';
import { isAbove } from '../../access/roles.js';
import { AdminError } from '../../admin-error.js';
import { keysOfUser, keysOfWorkspace } from '../people/users.js';

/** If more users than this are affected, workers forget all keys of the workspace instead of those of each user. */
const manyUsers = 50;

/** Throws AB03 for memberships that the caller could not give without a group. */
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

/** Reports the change, so that workers forget keys of users who leave or get another role. */
function report(caller: Caller, workspaceId: string, moves: readonly ScimMove[]): void {
  const touched = moves.filter(({ from }) => from !== null);
  const forgets =
    touched.length > manyUsers
      ? keysOfWorkspace(workspaceId)
      : touched.flatMap(({ userId }) => keysOfUser(userId));
  caller.changed({ kind: 'workspace', action: 'update', id: workspaceId, workspaceId }, forgets);
}

/** Gives a user who is activated a key in each workspace in which the user has none. */
export async function giveKeysOnActivation(caller: Caller, user: User): Promise<void> {
  const { store, organisationId } = caller;
  for (const workspaceId of user.workspaceIds) {
    const own = { workspaceId, userId: user.id };
    const { total } = await store.keys.list(organisationId, own, { offset: 0, limit: 1 });
    if (total === 0) await joined(caller, { organisationId, workspaceId }, user);
  }
}

/** Creates keys for users who join through a group, if the workspace creates keys for users who join. */
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

/** Throws AB07 for a membership that comes from a group: the next change of the group would restore it. */
export function checkByHand(roleByGroups: string | null): void {
  if (roleByGroups !== null)
    throw new AdminError(
      'AB07',
      'This user is a member through a SCIM group: remove the user from the group, or delete its mapping.',
    );
}
