import { timingSafeEqual } from 'node:crypto';
import { scopesOf } from '../../../../common/access/scopes.js';
import type { KeyRecord } from '../../../../common/ipc/records.js';
import type { Organisation, Session, Store, User } from '../../../store/store.js';
import { AdminError } from '../../admin-error.js';
import { Caller, type Person } from '../caller.js';
import { standingInOrganisation, standingOf } from '../can.js';
import type { CookieProof, Inbound } from '../inbound.js';

const ended = (): AdminError =>
  new AdminError('AB05', 'This session is unknown or has ended: sign in again.');

/** When the session ends, by its own age and by the organisation's `max_session_ttl`. Unix milliseconds. */
export const sessionEnd = (
  session: Session,
  { maxSessionTtl }: Pick<Organisation, 'maxSessionTtl'>,
): number =>
  Math.min(session.expiresAt, session.createdAt + (maxSessionTtl ?? Number.POSITIVE_INFINITY) * 1000);

/** What a person may do in a workspace, before the roles limit it. */
const workspaceScopes = [...new Set([...scopesOf('workspace-service'), ...scopesOf('workspace-user')])];
const organisationScopes = scopesOf('organisation-service');

/** Methods that list what is in all workspaces of a person. */
const ofAllWorkspaces = new Set(['Workspaces.ListWorkspaces']);
/** Methods that report the changes in all workspaces of a person. */
const inAllWorkspaces = new Set(['Watch.WatchConfig']);

function checkCookie(store: Store, token: string, proof: CookieProof | null | undefined): void {
  if (!proof?.changes) return;
  if (proof.isForeign)
    throw new AdminError(
      'AB03',
      'Another site made this request: send it from a page of the gateway, or with a key.',
    );
  const wanted = Buffer.from(store.sessions.csrfToken(token).reveal());
  const given = Buffer.from(proof.tokens.length === 1 ? (proof.tokens[0] ?? '') : '');
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted))
    throw new AdminError(
      'AB03',
      'x-gateway-csrf-token is missing or wrong: send the csrf_token of GET /v1/auth/session.',
    );
}

/** Finds the caller by the token of a session. Reads the store each time, so that a session ends at once on every node. */
export class SessionCallers {
  constructor(readonly store: Store) {}

  /** `call` null: to a path without a method. */
  async of(
    token: string,
    proof: CookieProof | null | undefined,
    call: Pick<Inbound, 'method' | 'read' | 'address' | 'userAgent'> | null,
  ): Promise<Caller> {
    const { store } = this;
    const session = await store.sessions.findByToken(token);
    if (session === null) throw ended();
    const { organisationId } = session;
    const user = await store.users.get(organisationId, session.userId);
    const organisation = await store.organisations.get(organisationId);
    if (user === null || organisation === null) throw ended();
    const end = sessionEnd(session, organisation);
    if (end <= Date.now()) throw ended();
    checkCookie(store, token, proof);
    if (call !== null) await this.#seen(session, call);
    const key: KeyRecord = {
      organisationId,
      workspaceId: null,
      keyId: session.id,
      keyName: user.email,
      keyType: 'organisation-service',
      userId: user.id,
      scopes: organisationScopes,
      expiresAt: end,
      blockInline: false,
      defaults: { configId: null, allowConfigOverride: true, metadata: {} },
    };
    const person = { user, session, csrf: store.sessions.csrfToken(token) };
    if (user.role === 'member') return this.#member(key, person, call);
    const standing = await standingInOrganisation(store, organisationId, user.role);
    if (standing === null) throw ended();
    return new Caller(key, store, standing, person);
  }

  /** That a session was used is not worth a refused call. */
  async #seen(
    session: Session,
    { address, userAgent }: Pick<Inbound, 'address' | 'userAgent'>,
  ): Promise<void> {
    try {
      await this.store.sessions.seen(session, address, userAgent ?? '');
    } catch {
      // The store is read-only or unavailable: the call itself will report that.
    }
  }

  /** A member acts in one workspace at a time: with the role that they have there. */
  async #member(
    key: KeyRecord,
    person: Person,
    call: Pick<Inbound, 'method' | 'read'> | null,
  ): Promise<Caller> {
    const { user } = person;
    const workspaceId = call === null ? (user.workspaceIds[0] ?? null) : await this.#workspaceOf(user, call);
    const caller = await this.#memberIn(workspaceId, key, person);
    if (call !== null && inAllWorkspaces.has(call.method.name)) {
      const elsewhere: Caller[] = [];
      for (const other of user.workspaceIds)
        if (other !== workspaceId) elsewhere.push(await this.#memberIn(other, key, person));
      caller.elsewhere = elsewhere;
    }
    return caller;
  }

  async #memberIn(workspaceId: string | null, key: KeyRecord, person: Person): Promise<Caller> {
    const { store } = this;
    const { user } = person;
    const place = { organisationId: user.organisationId, workspaceId: workspaceId ?? '' };
    const standing = (workspaceId === null ? null : await standingOf(store, place, user.id)) ?? {
      organisation: user.role,
      workspace: null,
      security: (await store.organisations.settings(user.organisationId))!.security,
    };
    const own = { ...key, ...place, keyType: 'workspace-user', scopes: workspaceScopes } as const;
    return new Caller(own, store, standing, person);
  }

  /**
   * The workspace that the request names, if the user is in it; else the only one, or the one that the key is in which
   * the request is about. Where the request names another, any: it is then answered as if that did not exist.
   */
  async #workspaceOf(user: User, { method, read }: Pick<Inbound, 'method' | 'read'>): Promise<string | null> {
    const [first = null, second] = user.workspaceIds;
    let request: Readonly<Record<string, unknown>> = {};
    try {
      request = read();
    } catch {
      // It is refused when it is read for the method.
      return first;
    }
    const named = request['workspace_id'] || request['workspace_slug'];
    if (typeof named === 'string' && named !== '') {
      const workspace = await this.store.workspaces.get(user.organisationId, named);
      if (workspace !== null && user.workspaceIds.includes(workspace.id)) return workspace.id;
      if (request['workspace_id']) return first;
      throw new AdminError('AB02', 'workspace_slug: there is no such workspace.');
    }
    if (second === undefined) return first;
    if (method.service === 'ApiKeys' && typeof request['id'] === 'string') {
      const key = await this.store.keys.get(user.organisationId, request['id']);
      return user.workspaceIds.find((id) => id === key?.workspaceId) ?? first;
    }
    const takesOne = method.request.field('workspace_id') ?? method.request.field('workspace_slug');
    if (takesOne !== undefined && !method.access.organisationOnly && !ofAllWorkspaces.has(method.name))
      throw AdminError.field('workspace_id', 'is required: you are in several workspaces.');
    return first;
  }
}
