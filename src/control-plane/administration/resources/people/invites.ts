import type {
  InviteKey,
  Invite as InviteMessage,
  InviteKeyDetails as KeyDetailsMessage,
} from '../../../../../proto/messages.js';
import { emailKey, normalEmail } from '../../../../common/access/email.js';
import { isScope, mayHold } from '../../../../common/access/scopes.js';
import { Secret } from '../../../../common/access/secret.js';
import { tokensOfStrangers } from '../../../../common/ipc/messages.js';
import { inviteMail } from '../../../mail/invite-mail.js';
import { closedOutbox } from '../../../mail/outbox.js';
import type { Invite, InviteKeyDetails, Membership, User } from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { leaves } from '../../access/can.js';
import { checkInvitation } from '../../access/grants.js';
import { acceptLink, actorRecord } from '../../access/people/accepted-links.js';
import { joinedAll, scopesLeft } from '../../access/people/joining.js';
import { linkOf } from '../../access/people/links.js';
import { checkPassword, hashPassword } from '../../access/people/passwords.js';
import { membershipsOf } from '../../access/roles.js';
import { AdminError } from '../../admin-error.js';
import { msOf, pageOf, timeOf, timeOrNull } from '../../grpc/wire.js';
import { checkMetadata } from '../../references/metadata-schema.js';
import type { AdminParts, Service } from '../../service.js';
import { makeUserKey } from '../keys/user-keys.js';
import { emailTaken, userMessage } from './users.js';

const toMessage = (invite: Invite): InviteMessage => ({
  object: 'invite',
  id: invite.id,
  email: invite.email,
  role: invite.role,
  created_at: timeOf(invite.createdAt),
  expires_at: timeOf(invite.expiresAt),
  accepted_at: timeOrNull(invite.acceptedAt),
  status: invite.status,
  invited_by: invite.invitedBy,
});

const noInvite = (): AdminError => new AdminError('AB08', 'There is no such invitation.');
/** A guessed token reveals nothing about an invite. */
const noToken = (): AdminError =>
  new AdminError('AB08', 'token: this link is unknown, was used already or has expired: ask for a new one.');

const path = 'workspace_api_key_details';

function metadataOf({ defaults, metadata }: KeyDetailsMessage): Record<string, string> {
  const inner = defaults?.metadata ?? {};
  if (Object.keys(inner).length > 0 && Object.keys(metadata).length > 0)
    throw AdminError.field(`${path}.metadata`, 'is given twice: leave it to defaults.metadata.');
  return { ...inner, ...metadata };
}

/** Invitations. */
export function invitesService({
  store,
  publicUrl,
  outbox = closedOutbox,
  log,
}: AdminParts): Service<'Invites'> {
  /** Mails the link to the invited address; returns it for the answer. */
  async function mailed(invite: Invite, token: Secret): Promise<string> {
    const link = linkOf(publicUrl, token);
    // A link that was sent before opens nothing any more.
    await store.mails.withdraw(invite.organisationId, 'invite', invite.id);
    const organisation = await store.organisations.get(invite.organisationId);
    await outbox.add(inviteMail(invite, organisation?.name ?? null, new Secret(link)));
    if (!outbox.isOpen)
      log.info(
        { invite: invite.id },
        'smtp_url is not set: the invitation is not mailed, hand over its link.',
      );
    return link;
  }

  /** An invite grants no scope that the role does not allow. */
  async function checkScopes(
    caller: Caller,
    scopes: readonly string[],
    organisation: Invite['role'],
    workspaces: readonly Membership[],
  ): Promise<void> {
    for (const [i, scope] of scopes.entries()) {
      const at = `${path}.scopes[${i}]`;
      if (!isScope(scope)) throw AdminError.field(at, 'is no scope that there is.');
      if (!mayHold('workspace-user', scope))
        throw AdminError.field(at, `is ${scope}, which no key of a user can hold.`);
    }
    for (const { workspaceId, role } of workspaces) {
      const settings = await store.organisations.settings(caller.organisationId, workspaceId);
      if (settings === null) throw new AdminError('AB02', 'workspaces: there is no such workspace.');
      const workspace = organisation === 'admin' ? 'admin' : role;
      const standing = { organisation, workspace, security: settings.security };
      const beyond = scopes.find((scope) => !leaves(standing, scope));
      if (beyond !== undefined)
        throw new AdminError('AB03', `${path}.scopes: the role of this user does not allow ${beyond}.`);
    }
  }

  async function keyDetailsOf(
    caller: Caller,
    asked: KeyDetailsMessage | null | undefined,
    role: Invite['role'],
    workspaces: readonly Membership[],
  ): Promise<InviteKeyDetails | null> {
    if (!asked) return null;
    await checkScopes(caller, asked.scopes, role, workspaces);
    const expiresAt = msOf(asked.expiry);
    if (expiresAt !== null && expiresAt <= Date.now())
      throw AdminError.field(`${path}.expiry`, 'must be in the future.');
    const metadata = metadataOf(asked);
    const settings = await store.organisations.settings(caller.organisationId);
    checkMetadata(settings?.metadataSchema ?? null, metadata, `${path}.defaults.metadata`);
    return { scopes: asked.scopes, name: asked.name?.trim() || null, metadata, expiresAt };
  }

  /** The keys that the invitation promised, as far as settings and roles allow them by now. */
  async function makeKeys(caller: Caller, invite: Invite, user: User): Promise<InviteKey[]> {
    const { keyDetails: details } = invite;
    const now = Date.now();
    if (details === null || (details.expiresAt !== null && details.expiresAt <= now)) return [];
    const made: InviteKey[] = [];
    for (const workspaceId of user.workspaceIds) {
      const place = { organisationId: user.organisationId, workspaceId };
      const workspace = await store.workspaces.get(user.organisationId, workspaceId);
      const settings = await store.organisations.settings(user.organisationId, workspaceId);
      const scopes = await scopesLeft(caller, place, user, details.scopes);
      if (scopes.length === 0 || settings?.userApiKeyCount === 0) continue;
      const longest = settings?.userApiKeyMaxTtl || Number.POSITIVE_INFINITY;
      const end = Math.min(details.expiresAt ?? Number.POSITIVE_INFINITY, now + longest * 1000);
      const { id, text } = await makeUserKey(
        caller,
        place,
        {
          userId: user.id,
          name: details.name ?? workspace?.name ?? user.email,
          scopes,
          defaults: { metadata: details.metadata },
          expiresAt: details.expiresAt === null ? null : end,
          creationMode: 'auto',
        },
        now,
      );
      made.push({ id, workspace_id: workspaceId, key: text, object: 'api-key' });
    }
    return made;
  }

  /** Workspaces that were archived since are no longer joined. */
  async function stillThere(invite: Invite): Promise<Membership[]> {
    const found: Membership[] = [];
    for (const membership of invite.workspaces) {
      const workspace = await store.workspaces.get(invite.organisationId, membership.workspaceId);
      if (workspace?.status === 'active') found.push(membership);
    }
    return found;
  }

  return {
    async CreateInvite(caller, request) {
      const { organisationId } = caller;
      const workspaces = await membershipsOf(caller, request.workspaces, 'workspaces');
      const { role, workspace_api_key_details: keys } = request;
      const email = normalEmail(request.email);
      checkInvitation(caller, role, workspaces, keys ?? null);
      const one = { offset: 0, limit: 1 };
      if ((await store.users.list(organisationId, { email }, one)).total > 0) throw emailTaken(email);
      if ((await store.invites.list(organisationId, { email, status: 'pending' }, one)).total > 0)
        throw new AdminError('AB07', `email: ${email} has an open invitation already: resend or cancel it.`);
      const { invite, token } = await store.invites.create(organisationId, {
        email,
        role,
        workspaces,
        keyDetails: await keyDetailsOf(caller, keys, role, workspaces),
        invitedBy: caller.id,
      });
      caller.changed({ id: invite.id, workspaceId: null });
      return { id: invite.id, invite_link: await mailed(invite, token) };
    },

    async ListInvites(caller, request) {
      const { total, rows } = await store.invites.list(
        caller.organisationId,
        {
          role: request.role || undefined,
          email: request.email || undefined,
          search: request.search || undefined,
          status: request.status || undefined,
        },
        pageOf(request),
      );
      return { object: 'list', total, data: rows.map(toMessage) };
    },

    async GetInvite(caller, { invite_id }) {
      const invite = await store.invites.get(caller.organisationId, invite_id);
      if (invite === null) throw noInvite();
      return toMessage(invite);
    },

    async DeleteInvite(caller, { invite_id }) {
      const gone = await store.invites.cancel(caller.organisationId, invite_id);
      if (gone === 'missing') throw noInvite();
      if (gone === 'settled')
        throw new AdminError('AB07', 'The invitation was accepted or cancelled before.');
      await store.mails.withdraw(caller.organisationId, 'invite', gone.id);
      caller.changed({ id: gone.id, workspaceId: null });
      return {};
    },

    async ResendInvite(caller, { invite_id }) {
      const invite = await store.invites.get(caller.organisationId, invite_id);
      if (invite === null) throw noInvite();
      // The caller gets the new link, and can accept it.
      checkInvitation(caller, invite.role, invite.workspaces, invite.keyDetails);
      const renewed = await store.invites.renew(caller.organisationId, invite_id);
      if (renewed === 'missing') throw noInvite();
      if (renewed === 'settled')
        throw new AdminError('AB07', 'The invitation was accepted or cancelled before: make a new one.');
      caller.changed({ id: renewed.invite.id, workspaceId: null });
      return { invite_link: await mailed(renewed.invite, renewed.token) };
    },

    async AcceptInvite(caller, request) {
      const found = await store.invites.findByToken(request.token);
      if (found === null) {
        const user = await acceptLink(caller, request);
        if (user === null) throw noToken();
        return { user: userMessage(user), api_keys: [] };
      }
      const { password } = request;
      if (request.email && emailKey(request.email) !== emailKey(found.email))
        throw AdminError.field('email', 'must be that of the invitation: leave it out.');
      if (password) checkPassword(password, found.email, 'password');
      const hash = password ? await hashPassword(password, caller.origin.address) : null;
      return caller.actAs(actorRecord(found.organisationId, found.id, found.email), async () => {
        // Asked again: what holds within the unit of work decides.
        const invite = await store.invites.findByToken(request.token);
        if (invite === null || (await store.invites.accept(invite.organisationId, invite.id)) === 'missing')
          throw noToken();
        await store.mails.withdraw(invite.organisationId, 'invite', invite.id);
        const workspaces = await stillThere(invite);
        const user = await store.users.create(invite.organisationId, {
          email: normalEmail(invite.email),
          firstName: request.first_name?.trim(),
          lastName: request.last_name?.trim(),
          role: invite.role,
          workspaces,
        });
        if (user === 'taken') throw emailTaken(invite.email);
        if (user === 'missing') throw noToken();
        if (hash !== null) await store.signIn.setPassword(user.organisationId, user.id, hash);
        caller.changed({ id: user.id, workspaceId: null }, [tokensOfStrangers(user.organisationId)]);
        caller.changed({ kind: 'invite', action: 'update', id: invite.id, workspaceId: null });
        const api_keys = await makeKeys(caller, invite, user);
        if (invite.keyDetails === null) await joinedAll(caller, user, workspaces);
        return { user: userMessage(user), api_keys };
      });
    },
  };
}
