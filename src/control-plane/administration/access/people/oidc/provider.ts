import { LRUCache } from 'lru-cache';
import type * as OpenidClient from 'openid-client';
import type { Secret } from '../../../../../common/access/secret.js';
import type { OidcSettings, Store } from '../../../../store/store.js';
import { AdminError } from '../../../admin-error.js';

/** A request to an address that an administrator of a tenant has set: only where egress rules allow it. */
export type CheckedFetch = (
  url: string,
  init: {
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
  },
) => Promise<Response>;

/** Loaded at first use, which keeps the start of the gateway fast. */
const load = (): Promise<typeof OpenidClient> => import('openid-client');

/** What the provider vouches for. */
export type OidcClaims = Readonly<Record<string, unknown>>;

/** An organisation's provider, and the ways in which it lets this client authenticate; the next one is tried when one is refused. */
interface Provider {
  readonly configs: OpenidClient.Configuration[];
  readonly settings: OidcSettings;
}

export interface AuthorizationCode {
  /** The callback's URL with what the provider added. */
  readonly url: URL;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** How long the metadata of a provider is used. Milliseconds. */
const keptMs = 10 * 60_000;
/** How long one that gave no answer is not asked again. Milliseconds. */
const awayMs = 2000;
const maxProviders = 200;

const unavailable = (cause: unknown): AdminError =>
  new AdminError(
    'unavailable',
    'The OpenID Connect provider gave no usable answer: try again, or ask your administrator to look at its settings.',
    cause,
  );

/** The OpenID Connect providers of organisations. */
export class OidcProviders {
  readonly #known = new LRUCache<string, Promise<Provider>>({ max: maxProviders, ttl: keptMs });

  constructor(
    readonly store: Store,
    readonly fetch: CheckedFetch,
  ) {}

  /** The provider in force. Throws AB08 where the organisation has none, `unavailable` where it gives no answer. */
  async #of(organisationId: string): Promise<Provider> {
    const { oidc } = await this.store.authSettings.get(organisationId);
    if (oidc === null)
      throw new AdminError(
        'AB08',
        'This organisation has no OpenID Connect provider: sign in with a password, or ask your administrator to set oidc.',
      );
    const secret = await this.store.authSettings.clientSecret(organisationId);
    const key = this.store.hashKey(
      JSON.stringify(['oidc', organisationId, oidc.issuer, oidc.clientId, secret?.reveal() ?? null]),
    );
    let configs = this.#known.get(key);
    if (configs === undefined) {
      configs = this.#discover(oidc, secret);
      this.#known.set(key, configs);
      // One request for all callers while the provider does not answer.
      configs.catch(() => this.#known.set(key, configs!, { ttl: awayMs }));
    }
    try {
      return { ...(await configs), settings: oidc };
    } catch (error) {
      throw unavailable(error);
    }
  }

  async #discover(settings: OidcSettings, secret: Secret | null): Promise<Provider> {
    const client = await load();
    const { issuer, clientId } = settings;
    const fetch: OpenidClient.CustomFetch = (url, { method, headers, body }) =>
      this.fetch(url, { method, headers, ...(body != null && { body: String(body) }) });
    const found = await client.discovery(new URL(issuer), clientId, undefined, client.None(), {
      // Whether a host may be called without TLS is decided by the rules of egress.
      execute: [client.allowInsecureRequests],
      [client.customFetch]: fetch,
      timeout: 0,
    });
    const metadata = found.serverMetadata();
    // RFC 8414: the default if the metadata names none.
    const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const text = secret?.reveal();
    const ways =
      text === undefined
        ? [client.None()]
        : [
            ...(methods.includes('client_secret_basic') ? [client.ClientSecretBasic(text)] : []),
            ...(methods.includes('client_secret_post') ? [client.ClientSecretPost(text)] : []),
          ];
    const configs = (ways.length === 0 ? [client.ClientSecretBasic(text)] : ways).map((auth) => {
      const config = new client.Configuration(metadata, clientId, undefined, auth);
      client.allowInsecureRequests(config);
      config[client.customFetch] = fetch;
      config.timeout = 0;
      return config;
    });
    return { configs, settings };
  }

  /** The provider's page. */
  async authorizationUrl(organisationId: string, parameters: Record<string, string>): Promise<URL> {
    const { configs } = await this.#of(organisationId);
    const client = await load();
    try {
      const url = client.buildAuthorizationUrl(configs[0]!, parameters);
      if (url.protocol === 'https:' || url.protocol === 'http:') return url;
    } catch (error) {
      throw unavailable(error);
    }
    throw unavailable(new Error('authorization_endpoint is not an http or https URL'));
  }

  /** Exchanges the code. Throws AB05 for a code or token that is not valid, `unavailable` where there is no answer. */
  async claims(
    organisationId: string,
    { url, state, nonce, verifier }: AuthorizationCode,
  ): Promise<{ readonly claims: OidcClaims; readonly settings: OidcSettings }> {
    const { configs, settings } = await this.#of(organisationId);
    const client = await load();
    const checks = {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    };
    for (;;) {
      const config = configs[0]!;
      try {
        const tokens = await client.authorizationCodeGrant(config, url, checks);
        const own = tokens.claims()!;
        const more =
          config.serverMetadata().userinfo_endpoint === undefined
            ? {}
            : await client.fetchUserInfo(config, tokens.access_token, own.sub);
        return { claims: { ...more, ...own }, settings };
      } catch (error) {
        if (isOfClient(client, error) && configs.length > 1) configs.shift();
        else throw refusalOf(client, error);
      }
    }
  }
}

/** Did the provider refuse the way in which this client authenticates? The code is still good. */
const isOfClient = (client: typeof OpenidClient, error: unknown): boolean =>
  (error instanceof client.ResponseBodyError && error.error === 'invalid_client') ||
  (error instanceof client.WWWAuthenticateChallengeError && error.status === 401);

/** Codes of openid-client for invalid answers, as opposed to missing ones. */
const invalid = /INVALID|JWT|CLAIM|SIGNATURE|UNEXPECTED/i;

function refusalOf(client: typeof OpenidClient, error: unknown): AdminError {
  const isRefused =
    error instanceof client.AuthorizationResponseError ||
    (error instanceof client.ResponseBodyError && error.status < 500) ||
    (error instanceof client.ClientError && invalid.test(error.code ?? '') && !isOfResponse(error));
  return isRefused
    ? new AdminError('AB05', 'The OpenID Connect provider did not confirm this sign-in: begin again.', error)
    : unavailable(error);
}

/** An answer that is no answer of a provider, such as the error page of a proxy before it. */
const isOfResponse = (error: OpenidClient.ClientError): boolean =>
  ['OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON', 'OAUTH_PARSE_ERROR'].includes(
    error.code ?? '',
  );
