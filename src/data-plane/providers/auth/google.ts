import type { Awaitable } from '../../../common/core/directory.js';
import { GatewayError } from '../../../common/core/errors.js';
import { setHeader } from '../../../common/http/headers.js';
import type { CallFields } from '../call-fields.js';
import { type Ask, askOwnIdentity } from './ask.js';
import { askFetch } from './ask-fetch.js';
import { type Authorizer, checkOwnIdentity, type Unauthorized } from './authorizer.js';
import { serviceAccount, serviceAccountField } from './service-account.js';
import { type Expiring, TokenCache, tokenKey } from './token-cache.js';

const scope = 'https://www.googleapis.com/auth/cloud-platform';

/** Google's libraries assume an hour where an answer has no lifetime. */
const lifetimeMs = 3_600_000;

export interface GoogleToken extends Expiring {
  readonly text: string;
}

/** Where tokens come from: Google's library, except in tests. */
export interface GoogleTokens {
  ofServiceAccount(json: string, ask: Ask): Promise<GoogleToken>;
  /** Of the gateway's own identity: key file or federation of its environment, or its machine's metadata server. */
  ofOwnIdentity(ask: Ask): Promise<GoogleToken>;
}

/**
 * Vertex AI's credentials (cloud.google.com/vertex-ai/docs/authentication): a service account's key, whose token is
 * kept; the gateway's own identity, where a stored provider has `workloadIdentity`; a token or an API key of the
 * caller's own.
 */
export class GoogleAuthorizer implements Authorizer {
  readonly #kept = new TokenCache<GoogleToken>();

  constructor(readonly tokens: GoogleTokens = libraryTokens) {}

  authorize(to: Unauthorized): Awaitable<void> {
    const { call, credential, fields, ask } = to;
    const given = credential?.reveal() ?? null;
    const json = serviceAccountOf(fields, given);
    let token: Awaitable<GoogleToken>;
    if (json !== null) {
      token = this.#kept.get(tokenKey('key', json), () => this.tokens.ofServiceAccount(json, ask));
    } else if (fields.get('vertex_auth_type') === 'workloadIdentity') {
      if (fields.stored('vertex_auth_type') !== 'workloadIdentity') throw notTheirs();
      checkOwnIdentity(to, 'google', 'vertex_auth_type');
      if (!googleHost.test(new URL(call.url).hostname)) throw notThere();
      token = this.#kept.get('own', () => this.tokens.ofOwnIdentity(ask));
    } else {
      if (given === null) throw missing();
      if (isApiKey(given)) setHeader(call.headers, 'x-goog-api-key', given);
      else setHeader(call.headers, 'authorization', `Bearer ${given}`);
      return;
    }
    const write = ({ text }: GoogleToken): void => setHeader(call.headers, 'authorization', `Bearer ${text}`);
    return token instanceof Promise ? token.then(write) : write(token);
  }
}

/** A service account's key as a field of its own, or in place of the API key; null where there is none to be used. */
export function serviceAccountOf(fields: CallFields, key: string | null): string | null {
  if (key?.startsWith('{')) return key;
  const type = fields.get('vertex_auth_type');
  if (type !== null && type !== 'serviceAccount') return null;
  return fields.get(serviceAccountField);
}

/** Hosts that are Google's own service and not a customer's machine. */
const googleHost = /\.googleapis\.com$/;

/** Keys of express mode begin so; OAuth tokens begin with `ya29.` (cloud.google.com/vertex-ai/generative-ai/docs/start/api-keys). */
export const isApiKey = (key: string): boolean => /^(?:AIza|AQ\.)/.test(key);

const libraryTokens: GoogleTokens = {
  async ofServiceAccount(json, ask) {
    const { email, key, keyId } = serviceAccount(json);
    // Loaded when first needed: most gateways never are.
    const { JWT } = await import('google-auth-library');
    const client = new JWT({
      email,
      key,
      keyId,
      scopes: [scope],
      transporterOptions: { fetchImplementation: askFetch(ask) },
    });
    return tokenOf(client.authorize());
  },
  /**
   * The library asks a machine's metadata server by itself, not by `ask`. Its address is the environment's or a constant,
   * and nothing of a caller's or of a stored provider's goes into it.
   */
  async ofOwnIdentity(ask) {
    const { GoogleAuth } = await import('google-auth-library');
    const auth = new GoogleAuth({
      scopes: [scope],
      // Not used. Without one the library looks for it first: runs gcloud, and calls a service that may be turned off.
      projectId: 'none',
      clientOptions: { transporterOptions: { fetchImplementation: askFetch(askOwnIdentity(ask)) } },
    });
    const client = await auth.getClient().catch((cause: unknown) => {
      throw noToken('the gateway has no Google identity of its own', cause);
    });
    return tokenOf(client.getAccessToken().then(() => client.credentials));
  },
};

async function tokenOf(
  asked: Promise<{ access_token?: string | null; expiry_date?: number | null }>,
): Promise<GoogleToken> {
  let found: Awaited<typeof asked>;
  try {
    found = await asked;
  } catch (cause) {
    throw ours(cause) ?? noToken(cause instanceof Error ? cause.message : 'it failed', cause);
  }
  if (!found.access_token) throw noToken('its answer has none', null);
  return { text: found.access_token, expiresAt: found.expiry_date ?? Date.now() + lifetimeMs };
}

/** A failed connection is reported as such; the library has wrapped it. */
function ours(thrown: unknown): GatewayError | null {
  for (let at = thrown; at instanceof Error; at = at.cause) if (at instanceof GatewayError) return at;
  return null;
}

function noToken(why: string, cause: unknown): GatewayError {
  const text = why.replace(/\s+/g, ' ').slice(0, 300);
  return new GatewayError('upstream_invalid_response', `Google gave no access token: ${text}`, { cause });
}

function notTheirs(): GatewayError {
  return new GatewayError(
    'invalid_request',
    'vertex_auth_type workloadIdentity uses the identity of the gateway itself: only a stored provider may say so.',
    { param: 'vertex_auth_type' },
  );
}

function notThere(): GatewayError {
  return new GatewayError(
    'invalid_request',
    'vertex_auth_type workloadIdentity uses the identity of the gateway itself, which is shown to hosts of googleapis.com alone.',
    { param: 'vertex_auth_type' },
  );
}

function missing(): GatewayError {
  return new GatewayError(
    'invalid_request',
    'Vertex AI needs an access token (or an API key of express mode) as the key, or vertex_service_account_json.',
    { param: serviceAccountField },
  );
}
