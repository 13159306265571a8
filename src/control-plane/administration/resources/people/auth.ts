import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Session as SessionMessage, SignedIn } from '../../../../../proto/messages.js';
import { emailKey } from '../../../../common/access/email.js';
import { networkOf } from '../../../../common/access/failed-attempts.js';
import type { Forget } from '../../../../common/ipc/messages.js';
import type { MadeSession, Organisation, Session, SignInUser, User } from '../../../store/store.js';
import type { Caller, Person } from '../../access/caller.js';
import { actorRecord } from '../../access/people/accepted-links.js';
import { endSessions } from '../../access/people/end-sessions.js';
import { OidcProviders } from '../../access/people/oidc/provider.js';
import { OidcSignIn } from '../../access/people/oidc/sign-in.js';
import { checkPassword, hashPassword, verifyPassword } from '../../access/people/passwords.js';
import { sessionEnd } from '../../access/people/session-callers.js';
import { SignInThrottle } from '../../access/people/sign-in-throttle.js';
import { rolesOf } from '../../access/roles.js';
import { AdminError } from '../../admin-error.js';
import { pageOf, timeOf } from '../../grpc/wire.js';
import type { AdminParts, Service } from '../../service.js';

const refused = (): AdminError => new AdminError('AB05', 'The e-mail address or the password is wrong.');

const noOidc = (): AdminError =>
  new AdminError('AB08', 'This gateway cannot call OpenID Connect providers: sign in with a password.');

/** Used for queries when no user has the address, so that an unknown address takes as many queries as a known one. */
const noUser = { organisationId: '', id: '' };
/** Longest random delay of the answer to a failed sign-in, which hides small differences in time. Milliseconds. */
const jitterMs = 20;

/** Makes open streams of the user check again whether their session still exists. */
const ofUser = (user: string): readonly Forget[] => [{ kind: 'key', workspace: null, name: '*', user }];

function personOf(caller: Caller): Person {
  if (caller.person === null)
    throw new AdminError('AB03', 'This call needs a session, not a key: sign in first.');
  return caller.person;
}

/** Sign-in of people, and their sessions. */
export function authService({ store, log, publicUrl, fetchChecked }: AdminParts): Service<'Auth'> {
  const oidc =
    fetchChecked === undefined
      ? null
      : new OidcSignIn(store, new OidcProviders(store, fetchChecked), publicUrl ?? 'http://localhost:8787');
  const throttle = new SignInThrottle(store.failedSignIns);

  async function organisationOf(id: string): Promise<Organisation> {
    const organisation = await store.organisations.get(id);
    if (organisation === null) throw refused();
    return organisation;
  }

  const signedIn = (session: Session, user: User, organisation: Organisation, csrf: string): SignedIn => ({
    id: session.id,
    user: { id: user.id, email: user.email, role: user.role },
    csrf_token: csrf,
    created_at: timeOf(session.createdAt),
    expires_at: timeOf(sessionEnd(session, organisation)),
  });

  async function newlySignedIn(user: User, { session, token }: MadeSession): Promise<SignedIn> {
    const csrf = store.sessions.csrfToken(token.reveal()).reveal();
    const organisation = await organisationOf(user.organisationId);
    return { ...signedIn(session, user, organisation, csrf), session_token: token.reveal() };
  }

  /** Does the user have a session from that network? */
  async function isUsualAddress({ organisationId, id }: typeof noUser, address: string): Promise<boolean> {
    const page = { offset: 0, limit: 100 };
    const { rows } = await store.sessions.list(organisationId, { userId: id }, page);
    return rows.some((session) => networkOf(session.address) === networkOf(address));
  }

  async function begin(caller: Caller, { user, passwordHash }: SignInUser): Promise<MadeSession> {
    const { organisationId, id } = user;
    return caller.actAs(actorRecord(organisationId, id, user.email, id), async () => {
      // The password may have changed since it was verified.
      if ((await store.signIn.passwordHash(organisationId, id)) !== passwordHash) throw refused();
      const { address, userAgent } = caller.origin;
      const made = await store.sessions.create(organisationId, { userId: id, address, userAgent });
      if (made === 'missing') throw refused();
      caller.changed({ id: made.session.id, workspaceId: null });
      return made;
    });
  }

  async function sessionAt(caller: Caller, id: string): Promise<Session> {
    const session = await store.sessions.get(caller.organisationId, id);
    const isOwn = session !== null && session.userId === caller.person?.user.id;
    if (session === null || (!isOwn && !caller.has('organisation_users.update')))
      throw new AdminError('AB08', 'There is no such session.');
    if (!isOwn && (await isOwner(session)) && (await rolesOf(caller)).organisation !== 'owner')
      throw new AdminError('AB03', 'Only owners can end the sessions of an owner: ask one of them.');
    return session;
  }

  const isOwner = async ({ organisationId, userId }: Session): Promise<boolean> =>
    (await store.users.get(organisationId, userId))?.role === 'owner';

  return {
    async SignIn(caller, request) {
      const account = emailKey(request.email);
      const { address } = caller.origin;
      const users = await store.signIn.findByEmail(request.email, request.organisation_id || undefined);
      const found = users.find(({ passwordHash }) => passwordHash !== null) ?? users[0];
      if (await isUsualAddress(found?.user ?? noUser, address)) throttle.trust(account, address);
      await throttle.check(account, address);
      const turn = throttle.turn(account, address);
      if (!(await verifyPassword(found?.passwordHash ?? null, request.password, turn)) || !found) {
        await pause(randomInt(jitterMs));
        log.warn({ address }, 'a sign-in was refused: wrong e-mail address or password');
        throw refused();
      }
      await throttle.succeeded(account, address);
      return newlySignedIn(found.user, await begin(caller, found));
    },

    async StartOidc(_caller, request) {
      if (oidc === null) throw noOidc();
      return oidc.start(request.organisation_id || null);
    },

    async FinishOidc(caller, request) {
      if (oidc === null) throw noOidc();
      const { user, made } = await oidc.finish(caller, request);
      return newlySignedIn(user, made);
    },

    async SignOut(caller) {
      const { session, user } = personOf(caller);
      await store.sessions.end(session.organisationId, session.id);
      caller.changed({ id: session.id, workspaceId: null }, ofUser(user.id));
      return {};
    },

    async GetSession(caller) {
      const { session, user, csrf } = personOf(caller);
      const organisation = await organisationOf(session.organisationId);
      return signedIn(session, user, organisation, csrf.reveal());
    },

    async ListSessions(caller, request) {
      const own = caller.person?.user.id;
      const userId = request.user_id || own;
      if (userId === undefined)
        throw AdminError.field('user_id', 'is required if the call is made with a key.');
      if (userId !== own) {
        caller.need('organisation_users.read');
        if ((await store.users.get(caller.organisationId, userId)) === null)
          throw new AdminError('AB08', 'There is no such user.');
      }
      const organisation = await organisationOf(caller.organisationId);
      const { maxSessionTtl } = organisation;
      const since = maxSessionTtl === null ? undefined : Date.now() - maxSessionTtl * 1000;
      const { total, rows } = await store.sessions.list(
        caller.organisationId,
        { userId, since },
        pageOf(request),
      );
      const message = (session: Session): SessionMessage => ({
        object: 'session',
        id: session.id,
        user_id: session.userId,
        address: session.address,
        user_agent: session.userAgent,
        created_at: timeOf(session.createdAt),
        last_seen_at: timeOf(session.seenAt),
        expires_at: timeOf(sessionEnd(session, organisation)),
        current: session.id === caller.person?.session.id,
      });
      return { object: 'list', total, data: rows.map(message) };
    },

    async DeleteSession(caller, { session_id }) {
      const session = await sessionAt(caller, session_id);
      await store.sessions.end(session.organisationId, session.id);
      caller.changed({ id: session.id, workspaceId: null }, ofUser(session.userId));
      return {};
    },

    async UpdatePassword(caller, request) {
      const { user } = personOf(caller);
      const { organisationId, id, email } = user;
      const account = emailKey(email);
      const { address } = caller.origin;
      checkPassword(request.new_password, email, 'new_password');
      if (request.new_password.normalize('NFKC') === request.current_password.normalize('NFKC'))
        throw AdminError.field('new_password', 'must differ from the current one.');
      const before = await store.signIn.passwordHash(organisationId, id);
      await throttle.check(account, address);
      const turn = throttle.turn(account, address);
      if (!(await verifyPassword(before, request.current_password, turn))) {
        return caller.audited(async () => {
          throw new AdminError('AB03', 'current_password: is not your password.');
        });
      }
      const hash = await hashPassword(request.new_password, address);
      return caller.audited(async () => {
        if ((await store.signIn.passwordHash(organisationId, id)) !== before)
          throw AdminError.lost(
            'The password has been changed by another request: sign in with the new one.',
          );
        if ((await store.signIn.setPassword(organisationId, id, hash)) === 'missing') throw refused();
        await endSessions(store, organisationId, id);
        caller.changed({ id, workspaceId: null }, ofUser(id));
        return {};
      });
    },
  };
}
