import type { AcceptInviteRequest } from '../../../../../proto/messages.js';
import { normalEmail } from '../../../../common/access/email.js';
import { tokensOfStrangers } from '../../../../common/ipc/messages.js';
import type { KeyRecord } from '../../../../common/ipc/records.js';
import type { User, UserLink } from '../../../store/store.js';
import { AdminError } from '../../admin-error.js';
import type { Caller } from '../caller.js';
import { endSessions } from './end-sessions.js';
import { checkPassword, hashPassword } from './passwords.js';

/** The caller that accepts a link: the link itself, or its user. It has no scopes. */
export const actorRecord = (
  organisationId: string,
  id: string,
  name: string,
  userId: string | null = null,
): KeyRecord => ({
  organisationId,
  workspaceId: null,
  keyId: id,
  keyName: name,
  keyType: 'organisation-service',
  userId,
  scopes: [],
  expiresAt: null,
  blockInline: false,
  defaults: { configId: null, allowConfigOverride: true, metadata: {} },
});

/** What the link of `users link` does: a new password, or the first owner. null: there is no such link any more. */
export async function acceptLink(caller: Caller, request: AcceptInviteRequest): Promise<User | null> {
  const link = await caller.store.signIn.findLink(request.token);
  if (link === null) return null;
  if (!request.password) throw AdminError.field('password', 'is required.');
  return link.userId === null
    ? makeOwner(caller, link, request, request.password)
    : setPassword(caller, link, link.userId, request.password);
}

async function setPassword(
  caller: Caller,
  { organisationId, id }: UserLink,
  userId: string,
  password: string,
): Promise<User | null> {
  const { store } = caller;
  const user = await store.users.get(organisationId, userId);
  if (user === null) return null;
  checkPassword(password, user.email, 'password');
  const hash = await hashPassword(password, caller.origin.address);
  return caller
    .actAs<{ user: User } | Record<string, never>>(
      actorRecord(organisationId, user.id, user.email, user.id),
      async () => {
        if (!(await store.signIn.useLink(organisationId, id))) throw noLink();
        if ((await store.signIn.setPassword(organisationId, userId, hash)) === 'missing') throw noLink();
        await endSessions(store, organisationId, userId);
        caller.changed({ id: userId, workspaceId: null, action: 'update' }, [
          { kind: 'key', workspace: null, name: '*', user: userId },
        ]);
        return { user };
      },
    )
    .then(({ user: changed }) => changed as User);
}

async function makeOwner(
  caller: Caller,
  { organisationId, id }: UserLink,
  request: AcceptInviteRequest,
  password: string,
): Promise<User> {
  const { store } = caller;
  if (!request.email) throw AdminError.field('email', 'is required for the first owner.');
  const email = normalEmail(request.email);
  checkPassword(password, email, 'password');
  const hash = await hashPassword(password, caller.origin.address);
  const made = await caller.actAs(actorRecord(organisationId, id, email), async () => {
    const isFirst = (await store.users.owners(organisationId)) === 0;
    if (!(await store.signIn.useLink(organisationId, id)) || !isFirst) throw noLink();
    const user = await store.users.create(organisationId, {
      email,
      firstName: request.first_name?.trim(),
      lastName: request.last_name?.trim(),
      role: 'owner',
    });
    if (user === 'taken')
      throw new AdminError(
        'AB07',
        `email: the organisation already has a user ${email}: sign in, or use another address.`,
      );
    if (user === 'missing') throw noLink();
    await store.signIn.setPassword(organisationId, user.id, hash);
    caller.changed({ id: user.id, workspaceId: null }, [tokensOfStrangers(organisationId)]);
    return { user };
  });
  return made.user;
}

const noLink = (): AdminError =>
  new AdminError('AB08', 'token: this link is unknown, was used already or has expired: ask for a new one.');
