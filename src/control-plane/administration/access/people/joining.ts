import { scopesOf } from '../../../../common/access/scopes.js';
import type { Membership, Place, User } from '../../../store/store.js';
import { makeUserKey } from '../../resources/keys/user-keys.js';
import type { Caller } from '../caller.js';
import { leaves, standingOf } from '../can.js';

/** What calls of the data plane need, and nothing of the administration. */
const forCalls = [
  'completions.write',
  'prompts.render',
  'guardrails.invoke',
  'mcp.invoke',
  'agents.invoke',
  'logs.write',
];

/** Makes the key that the settings of a workspace want for each user who joins it. Its text is had by rotating it. */
export async function joined(caller: Caller, place: Place, user: User): Promise<void> {
  // Gets it when activated.
  if (!user.isActive) return;
  const settings = await caller.store.organisations.settings(place.organisationId, place.workspaceId);
  if (settings === null || !settings.userApiKeyAutoCreate || settings.userApiKeyCount === 0) return;
  const scopes = await scopesLeft(caller, place, user, forCalls);
  const asked = {
    userId: user.id,
    name: `Key of ${user.email}`.slice(0, 255),
    scopes,
    creationMode: 'auto',
  } as const;
  await makeUserKey(caller, place, asked, Date.now());
}

/** The same for all the workspaces that a user joins at once; those of `before` were joined earlier. */
export async function joinedAll(
  caller: Caller,
  user: User,
  workspaces: readonly Membership[],
  before: readonly string[] = [],
): Promise<void> {
  for (const { workspaceId } of workspaces) {
    if (before.includes(workspaceId)) continue;
    await joined(caller, { organisationId: user.organisationId, workspaceId }, user);
  }
}

/** Those of the scopes that the user's role leaves to a key of the user in that workspace. */
export async function scopesLeft(
  caller: Caller,
  place: Place,
  user: User,
  scopes: readonly string[],
): Promise<string[]> {
  const standing = await standingOf(caller.store, place, user.id);
  const mayBeHeld = new Set(scopesOf('workspace-user'));
  return standing === null ? [] : scopes.filter((scope) => mayBeHeld.has(scope) && leaves(standing, scope));
}
