import type { ScimResource } from '../../../../../proto/messages.js';
import { emailKey } from '../../../../common/access/email.js';
import { tokensOfStrangers } from '../../../../common/ipc/messages.js';
import type { ScimUser, ScimUserChange } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { checkMemberships, checkOrganisationRole } from '../../access/grants.js';
import { endSessions } from '../../access/people/end-sessions.js';
import { AdminError } from '../../admin-error.js';
import type { AdminParts, Service } from '../../service.js';
import { checkGrants, checkOwner, checkOwnership, keysOfUser, noUser } from '../people/users.js';
import { readUser } from './attributes.js';
import { readQuery } from './filter.js';
import { baseOf, listOf, pageOfScim } from './lists.js';
import { giveKeysOnActivation } from './memberships.js';
import { patchUser, readOperations } from './patch.js';
import { mostUsers } from './schemas.js';
import { changedSince } from './scim-error.js';
import { Shown } from './shown.js';
import { changeOfUser, userAttributesOf, userResource } from './user-resource.js';

type UserMethods = Pick<
  Service<'Scim'>,
  'ListScimUsers' | 'CreateScimUser' | 'GetScimUser' | 'ReplaceScimUser' | 'PatchScimUser' | 'DeleteScimUser'
>;

/** Throws AB03 for a change of the user that the caller may not make. */
async function checkChange(caller: Caller, before: ScimUser, change: ScimUserChange): Promise<void> {
  if (change.role !== before.role) {
    await checkOwner(caller, before, change.role === 'owner');
    if (before.role !== 'owner') await checkOwnership(caller, change.role);
    await checkGrants(caller, before, change.role, []);
  }
  // People sign in with the address, so a new address can mean another person.
  if (emailKey(change.email) !== emailKey(before.email)) {
    await checkOwner(caller, before, true);
    checkOrganisationRole(caller, before.role);
    if (before.workspaceIds.length > 0) checkMemberships(caller, 'create', 'userName');
  }
  if (before.isActive && !change.isActive && before.role === 'owner') {
    if ((await caller.store.users.owners(caller.organisationId)) === 1)
      throw new AdminError('AB03', 'active: this is the last active owner: make another one first.');
  }
}

const nameTaken = (email: string): AdminError =>
  new AdminError('AB07', `userName: the organisation has a user ${email} already.`);

/** Does the change affect what the user's keys may do? */
const isOfRights = (before: ScimUser, change: ScimUserChange): boolean =>
  before.isActive !== change.isActive || before.role !== change.role || before.email !== change.email;

/** The people of the organisation as SCIM's Users. */
export function scimUsers({ store, publicUrl }: AdminParts): UserMethods {
  async function answer(caller: Caller, user: ScimUser, shown = new Shown({})): Promise<ScimResource> {
    const groups = await store.scimUsers.groupsOf(caller.organisationId, [user.id]);
    const resource = userResource(user, groups.get(user.id) ?? [], baseOf(publicUrl, caller));
    return { resource: shown.of(resource), etag: user.etag };
  }

  async function userAt(caller: Caller, id: string): Promise<ScimUser> {
    const user = await store.scimUsers.get(caller.organisationId, id);
    if (user === null) throw noUser();
    return user;
  }

  async function replace(
    caller: Caller,
    before: ScimUser,
    change: ScimUserChange,
    etag: string | null | undefined,
  ): Promise<ScimResource> {
    await checkChange(caller, before, change);
    const after = await store.scimUsers.replace(caller.organisationId, before.id, change, etag ?? undefined);
    if (after === 'missing') throw noUser();
    if (after === 'stale') throw changedSince();
    if (after === 'taken') throw nameTaken(change.email);
    const ofRights = isOfRights(before, change);
    const isRenamed = emailKey(before.email) !== emailKey(after.email);
    caller.changed({ id: after.id, workspaceId: null }, [
      ...(ofRights ? keysOfUser(after.id) : []),
      ...(isRenamed ? [tokensOfStrangers(caller.organisationId)] : []),
    ]);
    if (ofRights) await endSessions(store, caller.organisationId, after.id);
    if (!before.isActive && after.isActive) await giveKeysOnActivation(caller, after);
    return answer(caller, after);
  }

  return {
    async ListScimUsers(caller, request) {
      const shown = new Shown(request);
      const page = pageOfScim(request, mostUsers);
      const { total, rows } = await store.scimUsers.list(
        caller.organisationId,
        readQuery(request, 'User'),
        page,
      );
      const ids = rows.map(({ id }) => id);
      const groups = shown.wants('groups')
        ? await store.scimUsers.groupsOf(caller.organisationId, ids)
        : null;
      const base = baseOf(publicUrl, caller);
      const resources = rows.map((user) => shown.of(userResource(user, groups?.get(user.id) ?? [], base)));
      return listOf(resources, total, page.offset + 1);
    },

    async CreateScimUser(caller, { resource }) {
      const change = changeOfUser(readUser(resource ?? {}), null, true);
      await checkOwnership(caller, change.role);
      checkOrganisationRole(caller, change.role);
      const { email, firstName, lastName, role } = change;
      const made = await store.users.create(caller.organisationId, { email, firstName, lastName, role });
      if (made === 'taken' || made === 'missing') throw nameTaken(email);
      const user = await store.scimUsers.replace(caller.organisationId, made.id, change);
      if (typeof user === 'string') throw noUser();
      caller.changed({ id: user.id, workspaceId: null }, [tokensOfStrangers(caller.organisationId)]);
      return answer(caller, user);
    },

    async GetScimUser(caller, request) {
      return answer(caller, await userAt(caller, request.user_id), new Shown(request));
    },

    async ReplaceScimUser(caller, { user_id, resource, etag }) {
      const before = await userAt(caller, user_id);
      return replace(caller, before, changeOfUser(readUser(resource ?? {}), before, true), etag);
    },

    async PatchScimUser(caller, { user_id, patch, etag }) {
      const operations = readOperations(patch ?? {});
      const before = await userAt(caller, user_id);
      const after = patchUser(userAttributesOf(before), operations);
      return replace(caller, before, changeOfUser(after, before, false), etag);
    },

    async DeleteScimUser(caller, { user_id, etag }) {
      const user = await userAt(caller, user_id);
      await checkOwner(caller, user, false);
      const gone = await store.users.delete(caller.organisationId, user.id, etag ?? undefined);
      if (gone === 'missing') throw noUser();
      if (gone === 'stale') throw changedSince();
      caller.changed({ id: user.id, workspaceId: null }, keysOfUser(user.id));
      return {};
    },
  };
}
