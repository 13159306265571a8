import type { Secret } from '../../../common/access/secret.js';

export type TokenAlgorithm = 'RS256' | 'ES256' | 'EdDSA';

/** A JSON Web Key Set with public keys. */
export interface KeySetDocument {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

/** Sign-in of people through an OpenID Connect provider. */
export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** Of the client secret, for people to recognise it by; null: there is none. */
  readonly maskedSecret: string | null;
  /** In lower case; empty: every domain. */
  readonly allowedEmailDomains: readonly string[];
  /** null: the token does not decide on the role. */
  readonly roleClaim: string | null;
  /** By value of that claim. */
  readonly roleMapping: Readonly<Record<string, 'admin' | 'member'>>;
}

/** How an organisation's people and tokens sign in. */
export interface AuthSettings {
  /** Where the keys of JSON web tokens are fetched from; null: nowhere. */
  readonly jwksUrl: string | null;
  /** Keys of JSON web tokens beside those of `jwksUrl`; null: none. */
  readonly jwks: KeySetDocument | null;
  /** What `iss` and `aud` of a token must be; null: anything. */
  readonly issuer: string | null;
  readonly audience: string | null;
  readonly algorithms: readonly TokenAlgorithm[];
  /** The first of these claims that a token has names its user. */
  readonly userIdClaims: readonly string[];
  readonly oidc: OidcSettings | null;
}

/** Of an organisation that has set nothing. */
export const defaultAuthSettings: AuthSettings = {
  jwksUrl: null,
  jwks: null,
  issuer: null,
  audience: null,
  algorithms: ['RS256'],
  userIdClaims: ['email_id', 'sub', 'uid'],
  oidc: null,
};

/** Absent: stays as it is. */
export interface AuthSettingsChange extends Partial<AuthSettings> {
  /** null removes it. */
  readonly clientSecret?: Secret | null;
}

export interface AuthSettingsStore {
  /** The defaults where nothing is set. */
  get(organisationId: string): Promise<AuthSettings>;
  /** The client secret of its OpenID Connect provider; null: none is set. */
  clientSecret(organisationId: string): Promise<Secret | null>;
  update(organisationId: string, change: AuthSettingsChange): Promise<AuthSettings>;
}
