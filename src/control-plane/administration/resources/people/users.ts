import type {
  ListUsersRequest,
  ListUsersResponse,
  User as UserMessage,
} from '../../../../../proto/messages.js';
import { normalEmail } from '../../../../common/access/email.js';
import { type Forget, tokensOfStrangers } from '../../../../common/ipc/messages.js';
import type { Membership, OrganisationRole, User } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { checkMemberships, checkOrganisationRole, checkRaised } from '../../access/grants.js';
import { endSessions } from '../../access/people/end-sessions.js';
import { joinedAll } from '../../access/people/joining.js';
import { linkOf } from '../../access/people/links.js';
import { membershipsOf, rolesOf } from '../../access/roles.js';
import { AdminError } from '../../admin-error.js';
import { changeOf } from '../../audit/mask.js';
import { pageOf, stale, timeOf } from '../../grpc/wire.js';
import type { AdminParts, Service } from '../../service.js';

/** Every key that a worker has cached: users' keys carry the permissions that their roles leave. */
export const everyKey: readonly Forget[] = [{ kind: 'key', workspace: null, name: '*' }];

export const keysOfUser = (user: string): readonly Forget[] => [
  { kind: 'key', workspace: null, name: '*', user },
];

export const keysOfWorkspace = (workspace: string): readonly Forget[] => [
  { kind: 'key', workspace, name: '*' },
];

export const userMessage = (user: User): UserMessage => ({
  object: 'user',
  id: user.id,
  first_name: user.firstName,
  last_name: user.lastName,
  role: user.role,
  email: user.email,
  created_at: timeOf(user.createdAt),
  last_updated_at: timeOf(user.updatedAt),
  workspace_ids: [...user.workspaceIds],
  etag: user.etag,
  ...(!user.isActive && { active: false }),
});

export const noUser = (): AdminError => new AdminError('AB08', 'There is no such user.');
export const emailTaken = (email: string): AdminError =>
  new AdminError('AB07', `email: the organisation has a user ${email} already.`);

/** Owners are made by owners; where there is none, by a key that may do everything in the organisation. */
export async function checkOwnership(caller: Caller, role: OrganisationRole | undefined): Promise<void> {
  if (role !== 'owner') return;
  const { organisation } = await rolesOf(caller);
  if (organisation !== 'owner' && (await caller.store.users.owners(caller.organisationId)) > 0)
    throw new AdminError('AB03', 'role: only an owner makes another owner.');
}

/** An owner is touched by owners alone, and the last one stays. `stays`: will it be an owner afterwards? */
export async function checkOwner(caller: Caller, user: User, stays: boolean): Promise<void> {
  if (user.role !== 'owner') return;
  const { organisation } = await rolesOf(caller);
  if (organisation !== 'owner')
    throw new AdminError('AB03', 'The owner can be changed or removed by an owner alone.');
  if (!stays && (await caller.store.users.owners(caller.organisationId)) === 1)
    throw new AdminError('AB03', 'This is the last owner: make another one first.');
}

/** Does the update change a role of the user, in the organisation or in a workspace? */
const isOtherRole = (before: User, after: User, workspaces: readonly Membership[]): boolean =>
  before.role !== after.role ||
  workspaces.some(({ workspaceId }) => before.workspaceIds.includes(workspaceId));

/** Throws AB03 where an update grants a user more than the caller could use itself. */
export async function checkGrants(
  caller: Caller,
  user: User,
  role: OrganisationRole,
  workspaces: readonly Membership[],
): Promise<void> {
  if (role !== user.role) checkOrganisationRole(caller, role);
  for (const { workspaceId } of workspaces)
    checkMemberships(caller, user.workspaceIds.includes(workspaceId) ? 'update' : 'create', 'workspaces');
  if (role !== user.role || workspaces.length > 0) await checkRaised(caller, user, role, workspaces);
}

/** A link sets a new password: its holder can act as that user. */
function checkLink(caller: Caller, role: OrganisationRole): void {
  checkOrganisationRole(caller, 'admin');
  if (role === 'owner' && caller.person !== null && caller.person.user.role !== 'owner')
    throw new AdminError('AB03', 'user_id: only owners can create a link for an owner: ask one of them.');
}

/** The people of the organisation. */
export function usersService({ store, publicUrl }: AdminParts): Service<'Users'> {
  async function userAt(caller: Caller, id: string): Promise<User> {
    const user = await store.users.get(caller.organisationId, id);
    if (user === null) throw noUser();
    return user;
  }

  /** By id or e-mail address. */
  async function userNamed(caller: Caller, named: string): Promise<User> {
    if (!named.includes('@')) return userAt(caller, named);
    const { rows } = await store.users.list(caller.organisationId, { email: named }, { offset: 0, limit: 1 });
    if (rows[0] === undefined)
      throw new AdminError('AB08', `There is no user ${named}: headgate users list shows all of them.`);
    return rows[0];
  }

  async function listed(caller: Caller, request: ListUsersRequest): Promise<ListUsersResponse> {
    const { role, email } = request;
    const filter = { role: role || undefined, email: email || undefined };
    const { total, rows } = await store.users.list(caller.organisationId, filter, pageOf(request));
    return { object: 'list', total, data: rows.map(userMessage) };
  }

  return {
    async CreateUser(caller, request) {
      await checkOwnership(caller, request.role);
      const workspaces = await membershipsOf(caller, request.workspaces, 'workspaces');
      checkOrganisationRole(caller, request.role);
      if (workspaces.length > 0) checkMemberships(caller, 'create', 'workspaces');
      const email = normalEmail(request.email);
      const user = await store.users.create(caller.organisationId, {
        email,
        firstName: request.first_name?.trim(),
        lastName: request.last_name?.trim(),
        role: request.role,
        workspaces,
      });
      if (user === 'taken') throw emailTaken(email);
      if (user === 'missing') throw new AdminError('AB02', 'workspaces: there is no such workspace.');
      caller.changed({ id: user.id, workspaceId: null }, [tokensOfStrangers(user.organisationId)]);
      await joinedAll(caller, user, workspaces);
      return userMessage(user);
    },

    async ListUsers(caller, request) {
      return listed(caller, request);
    },

    async ListOrganisationMembers(caller, request) {
      return listed(caller, request);
    },

    async GetUser(caller, { user_id }) {
      return userMessage(await userAt(caller, user_id));
    },

    async UpdateUser(caller, request) {
      const role = changeOf(request, 'role');
      if (role === null) throw AdminError.field('role', 'cannot be cleared.');
      const user = await userAt(caller, request.user_id);
      await checkOwner(caller, user, role === undefined || role === 'owner');
      if (user.role !== 'owner') await checkOwnership(caller, role);
      const workspaces = await membershipsOf(caller, request.workspaces, 'workspaces');
      await checkGrants(caller, user, role ?? user.role, workspaces);
      const updated = await store.users.update(caller.organisationId, user.id, {
        role,
        workspaces,
        etag: request.etag ?? undefined,
      });
      if (updated === 'missing') throw noUser();
      if (updated === 'stale') throw stale();
      if (isOtherRole(user, updated, workspaces)) await endSessions(store, user.organisationId, user.id);
      caller.changed({ id: user.id, workspaceId: null }, keysOfUser(user.id));
      await joinedAll(caller, updated, workspaces, user.workspaceIds);
      return {};
    },

    async DeleteUser(caller, { user_id, etag }) {
      const user = await userAt(caller, user_id);
      await checkOwner(caller, user, false);
      await endSessions(store, user.organisationId, user.id);
      const gone = await store.users.delete(caller.organisationId, user.id, etag ?? undefined);
      if (gone === 'missing') throw noUser();
      if (gone === 'stale') throw stale();
      caller.changed({ id: user.id, workspaceId: null }, keysOfUser(user.id));
      return {};
    },

    async LinkUser(caller, { user_id: named }) {
      const { organisationId } = caller;
      const user = named ? await userNamed(caller, named) : null;
      const user_id = user?.id ?? null;
      checkLink(caller, user?.role ?? 'member');
      if (user === null) {
        if ((await store.users.owners(organisationId)) > 0)
          throw AdminError.field('user_id', 'is required: the organisation has an owner.');
      }
      const made = await store.signIn.makeLink(organisationId, user_id || null);
      if (made === 'missing') throw noUser();
      caller.changed({ id: user_id || organisationId, workspaceId: null });
      return { link: linkOf(publicUrl, made.token), expires_at: timeOf(made.link.expiresAt) };
    },
  };
}
