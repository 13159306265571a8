import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FinishOidcRequest } from '../../../../../../proto/messages.js';
import { FailedAttempts, networkOf } from '../../../../../common/access/failed-attempts.js';
import { tokensOfStrangers } from '../../../../../common/ipc/messages.js';
import type { MadeSession, Store, User } from '../../../../store/store.js';
import { AdminError } from '../../../admin-error.js';
import type { Caller } from '../../caller.js';
import { actorRecord } from '../accepted-links.js';
import { personOf, userOf } from './accounts.js';
import { type Flow, flowMs, openFlow, sealFlow } from './flow-seal.js';
import type { OidcProviders } from './provider.js';

const scope = 'openid email profile';

const notBegun = (): AdminError =>
  new AdminError(
    'AB01',
    'This sign-in was not begun in this browser, was finished before, or took too long: begin again at /v1/auth/oidc/start.',
  );

/** 256 bits. */
const random = (): string => randomBytes(32).toString('base64url');

const same = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));

/** Sign-in by OpenID Connect: authorization code with PKCE, state and nonce. */
export class OidcSignIn {
  readonly #failed = new FailedAttempts(20);

  constructor(
    readonly store: Store,
    readonly providers: OidcProviders,
    readonly publicUrl: string,
  ) {}

  get #redirectUri(): string {
    return `${this.publicUrl}/v1/auth/oidc/callback`;
  }

  async start(asked: string | null): Promise<{ readonly url: string; readonly flow: string }> {
    const organisationId = asked ?? (await this.store.first())?.organisationId ?? '';
    const flow: Flow = {
      organisationId,
      state: random(),
      nonce: random(),
      verifier: random(),
      expiresAt: Date.now() + flowMs,
    };
    const url = await this.providers.authorizationUrl(organisationId, {
      redirect_uri: this.#redirectUri,
      response_type: 'code',
      scope,
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: createHash('sha256').update(flow.verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    return { url: url.href, flow: sealFlow(this.store.pepper, flow) };
  }

  /** Signs in the person whom the provider has sent back. */
  async finish(
    caller: Caller,
    request: FinishOidcRequest,
  ): Promise<{ readonly user: User; readonly made: MadeSession }> {
    const network = networkOf(caller.origin.address);
    const waitMs = this.#failed.retryAfterMs(network);
    if (waitMs > 0)
      throw AdminError.later('Too many failed sign-ins: try again in a minute.', Math.ceil(waitMs / 1000));
    try {
      return await this.#finish(caller, request);
    } catch (error) {
      if (!(error instanceof AdminError) || error.code !== 'unavailable') this.#failed.add(network);
      throw error;
    }
  }

  async #finish(
    caller: Caller,
    request: FinishOidcRequest,
  ): Promise<{ readonly user: User; readonly made: MadeSession }> {
    const { store } = this;
    const flow = openFlow(store.pepper, request.flow ?? '', Date.now());
    if (flow === null || !same(flow.state, request.state ?? '')) throw notBegun();
    // Before the code is exchanged: of two callbacks with the same state, only one is accepted.
    if (!(await store.signIn.useState(flow.state, flow.expiresAt))) throw notBegun();
    if (request.error || !request.code)
      throw new AdminError('AB03', `The OpenID Connect provider refused this sign-in${reasonOf(request)}.`);
    const url = new URL(this.#redirectUri);
    for (const name of ['code', 'state', 'iss'] as const)
      if (request[name]) url.searchParams.set(name, request[name]);
    const { organisationId } = flow;
    const { claims, settings } = await this.providers.claims(organisationId, { ...flow, url });
    const person = personOf(claims, settings);
    return caller.actAs(actorRecord(organisationId, person.subject, person.email), async () => {
      const { user, change } = await userOf(store, organisationId, settings.issuer, person);
      caller.isUser(actorRecord(organisationId, user.id, user.email, user.id));
      const { address, userAgent } = caller.origin;
      const made = await store.sessions.create(organisationId, { userId: user.id, address, userAgent });
      if (made === 'missing')
        throw new AdminError('AB03', 'Your account is not active: ask your administrator.');
      caller.changed({ id: made.session.id, workspaceId: null });
      if (change !== null)
        caller.changed({ kind: 'user', action: change, id: user.id, workspaceId: null }, [
          { kind: 'key', workspace: null, name: '*', user: user.id },
          ...(change === 'create' ? [tokensOfStrangers(organisationId)] : []),
        ]);
      return { user, made };
    });
  }
}

/** Only codes of the standards are repeated: the rest of the address is whatever someone made it. */
const reasonOf = ({ error }: FinishOidcRequest): string =>
  /^[a-z_]{1,40}$/.test(error ?? '') ? ` (${error})` : '';
