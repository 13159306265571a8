import type {
  AuthSettings as AuthSettingsMessage,
  OidcSettings as OidcMessage,
  UpdateAuthSettingsRequest,
} from '../../../../../proto/messages.js';
import { maskGatewayKey } from '../../../../common/access/gateway-key.js';
import { Secret } from '../../../../common/access/secret.js';
import { defaultAuthSettings } from '../../../store/records/auth-settings.js';
import type { AuthSettings, AuthSettingsChange, KeySetDocument, OidcSettings } from '../../../store/store.js';
import { KeySetUnavailable } from '../../../tokens/key-sets.js';
import { AdminError } from '../../admin-error.js';
import { changeOf } from '../../audit/mask.js';
import type { AdminParts } from '../../service.js';

/** How people and tokens sign in, as the messages of `Organisations` have it. */

const oidcMessage = (oidc: OidcSettings): OidcMessage => ({
  issuer: oidc.issuer,
  client_id: oidc.clientId,
  client_secret: oidc.maskedSecret,
  allowed_email_domains: oidc.allowedEmailDomains,
  role_claim: oidc.roleClaim,
  role_mapping: oidc.roleMapping,
});

export const authMessage = (maxSessionTtl: number | null, settings: AuthSettings): AuthSettingsMessage => ({
  session_settings: { max_session_ttl: maxSessionTtl },
  jwks_url: settings.jwksUrl,
  jwks: settings.jwks as Record<string, unknown> | null,
  issuer: settings.issuer,
  audience: settings.audience,
  algorithms: settings.algorithms,
  user_id_claims: settings.userIdClaims,
  oidc: settings.oidc === null ? null : oidcMessage(settings.oidc),
});

/** What can be seen of the URL itself; the addresses of its host are checked with each fetch. */
function checkUrl(text: string, problemOf: AdminParts['keyServerProblem']): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw AdminError.field('jwks_url', 'must be an https URL.');
  if (url.username !== '' || url.password !== '' || url.hash !== '')
    throw AdminError.field('jwks_url', 'must have no user and no fragment.');
  const problem = problemOf?.(text) ?? null;
  if (problem !== null) throw AdminError.field('jwks_url', problem);
  return text;
}

const mostKeys = 100;
/** Members of a JWK that belong to private keys (RFC 7518, section 6). */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

function keySetOf(given: Readonly<Record<string, unknown>>): KeySetDocument {
  const { keys } = given;
  if (!Array.isArray(keys))
    throw AdminError.field('jwks.keys', 'must be a list of keys, as a JSON Web Key Set has it.');
  if (keys.length > mostKeys) throw AdminError.field('jwks.keys', `must have at most ${mostKeys} items.`);
  for (const [i, key] of keys.entries()) {
    const path = `jwks.keys[${i}]`;
    if (typeof key !== 'object' || key === null || Array.isArray(key))
      throw AdminError.field(path, 'must be an object.');
    if (typeof key.kty !== 'string') throw AdminError.field(`${path}.kty`, 'is required.');
    if (typeof key.kid !== 'string' || key.kid === '')
      throw AdminError.field(`${path}.kid`, 'is required: tokens name their key by it.');
    if (key.kty === 'oct' || privateMembers.some((name) => key[name] !== undefined))
      throw AdminError.field(path, 'contains a secret or private key: give only the public key.');
  }
  return { keys };
}

/** Its settings and its secret after an update; `undefined` leaves a part as it is. */
function oidcChangeOf(
  request: UpdateAuthSettingsRequest,
  before: OidcSettings | null,
): Pick<AuthSettingsChange, 'oidc' | 'clientSecret'> {
  if (changeOf(request, 'oidc') === undefined) return {};
  if (!request.oidc) return { oidc: null, clientSecret: null };
  const part = <V>(name: keyof OidcMessage, kept: V, cleared: V): V => {
    const value = changeOf<V>(request, `oidc.${name}`);
    return value === undefined ? kept : (value ?? cleared);
  };
  const needed = (name: 'issuer' | 'client_id', kept: string | undefined): string => {
    const value = part<string>(name, kept ?? '', '').trim();
    if (value === '') throw AdminError.field(`oidc.${name}`, 'is required.');
    return value;
  };
  const shown = before?.maskedSecret ?? null;
  const given = part<string | null>('client_secret', shown, null);
  const isKept = given === shown;
  return {
    oidc: {
      issuer: needed('issuer', before?.issuer),
      clientId: needed('client_id', before?.clientId),
      maskedSecret: isKept || given === null ? given : maskGatewayKey(given),
      allowedEmailDomains: part<readonly string[]>(
        'allowed_email_domains',
        before?.allowedEmailDomains ?? [],
        [],
      ).map((domain) => domain.toLowerCase()),
      roleClaim: part<string | null>('role_claim', before?.roleClaim ?? null, null),
      roleMapping: part<OidcSettings['roleMapping']>('role_mapping', before?.roleMapping ?? {}, {}),
    },
    ...(!isKept && { clientSecret: given === null ? null : new Secret(given) }),
  };
}

/** What an update changes. Throws AB01 where that is nothing to sign in with. */
export function authChangeOf(
  request: UpdateAuthSettingsRequest,
  before: AuthSettings,
  problemOf: AdminParts['keyServerProblem'],
): AuthSettingsChange {
  const url = changeOf(request, 'jwks_url');
  const jwks = changeOf<Readonly<Record<string, unknown>>>(request, 'jwks');
  const listed = <T>(value: readonly T[] | null | undefined, fallback: readonly T[]) =>
    value === undefined ? undefined : value === null || value.length === 0 ? fallback : value;
  return {
    jwksUrl: url ? checkUrl(url, problemOf) : url,
    jwks: jwks ? keySetOf(jwks) : jwks,
    issuer: changeOf(request, 'issuer'),
    audience: changeOf(request, 'audience'),
    algorithms: listed(changeOf(request, 'algorithms'), defaultAuthSettings.algorithms) as
      | AuthSettings['algorithms']
      | undefined,
    userIdClaims: listed(changeOf(request, 'user_id_claims'), defaultAuthSettings.userIdClaims),
    ...oidcChangeOf(request, before.oidc),
  } as AuthSettingsChange;
}

/** Fetches the key set now. Throws `unavailable` with the reason where that fails: the keys from before stay valid. */
export async function refreshedKeys(
  tokens: AdminParts['tokens'],
  organisationId: string,
): ReturnType<NonNullable<AdminParts['tokens']>['refresh']> {
  if (tokens === undefined) return { keys: [], fetchedOn: null };
  try {
    return await tokens.refresh(organisationId);
  } catch (error) {
    if (!(error instanceof KeySetUnavailable)) throw error;
    throw new AdminError(
      'unavailable',
      `The key set was not fetched, and the keys from before stay valid: ${error.message}`,
    );
  }
}
