import type { KeyDefaults, NewApiKey, Place, SettingsInForce, Store } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { leaves, standingOf } from '../../access/can.js';
import { isAbove, rolesOf } from '../../access/roles.js';
import { AdminError } from '../../admin-error.js';
import { usualPolicy } from '../../credentials/rotation.js';

/** Keys of users: what the settings of their workspace add to what is asked for, and what they forbid. */

const secondMs = 1000;

/** Throws AB01 for an end that lies too far off. `null`: it would have none. */
export function checkUserKeyLife(expiresAt: number | null, settings: SettingsInForce, now: number): void {
  const longest = settings.userApiKeyMaxTtl;
  if (longest === 0 || (expiresAt !== null && expiresAt <= now + longest * secondMs)) return;
  throw AdminError.field('expires_at', `must be at most ${longest} seconds from now for a key of a user.`);
}

/** Default expiry of a key. */
function usualEnd({ userApiKeyTtl, userApiKeyMaxTtl }: SettingsInForce, now: number): number | null {
  const lives = [userApiKeyTtl, userApiKeyMaxTtl].filter((seconds) => seconds > 0);
  return lives.length === 0 ? null : now + Math.min(...lives) * secondMs;
}

/** Throws AB02 for one who is no member, and AB03 for a scope beyond what that member may do. */
export async function checkUserScopes(
  store: Store,
  place: Place,
  userId: string,
  scopes: readonly string[],
): Promise<void> {
  const standing = await standingOf(store, place, userId);
  if (standing === null) throw new AdminError('AB02', 'user_id: the workspace has no such member.');
  const beyond = scopes.find((scope) => !leaves(standing, scope));
  if (beyond !== undefined)
    throw new AdminError('AB03', `scopes: the role of this user does not allow ${beyond}.`);
}

/** What these scopes do depends on the rank of who uses them. */
const byRank = /^(?:workspaces|workspace_users)\./;

/**
 * The holder of a person's key acts as that person. Throws AB03 where the caller would so rise above their own rank:
 * by a key made or rotated in the name of a person of higher rank, or by scopes added to one.
 */
export async function checkRank(
  caller: Caller,
  place: Place,
  userId: string,
  scopes: readonly string[],
): Promise<void> {
  const scope = scopes.find((one) => byRank.test(one));
  if (scope === undefined) return;
  const person = await caller.store.members.roleOf(place.workspaceId, userId);
  const own = await rolesOf(caller);
  if (person?.workspace && isAbove(person.workspace, own.workspace))
    throw new AdminError('AB03', `user_id: this user's role is above your own, and ${scope} acts by it.`);
}

async function checkCount(store: Store, place: Place, userId: string, most: number): Promise<void> {
  if (most < 0) return;
  const { workspaceId } = place;
  const { total } = await store.keys.list(
    place.organisationId,
    { workspaceId, userId, types: ['workspace-user'], status: ['active', 'exhausted'] },
    { offset: 0, limit: 1 },
  );
  if (total >= most)
    throw new AdminError('AB03', `user_id: this user has ${total} keys, and no more are allowed here.`);
}

/** The fields of a new key of a user. Absent: the workspace's value. */
export interface NewUserKey extends Omit<NewApiKey, 'type' | 'workspaceId' | 'userId' | 'defaults'> {
  readonly userId: string;
  readonly defaults?: Partial<KeyDefaults>;
}

/** The whole of a new key: checked, and filled up from the settings of the workspace. */
export async function userKey(
  store: Store,
  place: Place,
  asked: NewUserKey,
  now: number,
): Promise<NewApiKey> {
  const settings = await store.organisations.settings(place.organisationId, place.workspaceId);
  const workspace = await store.workspaces.get(place.organisationId, place.workspaceId);
  if (settings === null || workspace === null)
    throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
  await checkUserScopes(store, place, asked.userId, asked.scopes);
  await checkCount(store, place, asked.userId, settings.userApiKeyCount);
  const expiresAt = asked.expiresAt ?? usualEnd(settings, now);
  checkUserKeyLife(expiresAt, settings, now);
  const { configId = null } = asked.defaults ?? {};
  return {
    ...asked,
    type: 'workspace-user',
    workspaceId: place.workspaceId,
    expiresAt,
    rotationPolicy: asked.rotationPolicy ?? usualPolicy(settings.userApiKeyRotationPeriod, now),
    defaults: { ...asked.defaults, configId: configId ?? workspace.defaults.userApiKeyConfig },
  };
}

/** Makes a key of a user beside the main deed of a call, as joining a workspace does. Gives its text, once. */
export async function makeUserKey(
  caller: Caller,
  place: Place,
  asked: NewUserKey,
  now: number,
): Promise<{ readonly id: string; readonly text: string }> {
  const { store } = caller;
  const made = await store.keys.create(place.organisationId, await userKey(store, place, asked, now));
  if (made === 'missing') throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
  const { key, text, hash } = made;
  caller.changed({ ...key, kind: 'api_key', action: 'create' }, [
    { kind: 'key', workspace: null, name: hash },
  ]);
  return { id: key.id, text: text.reveal() };
}
