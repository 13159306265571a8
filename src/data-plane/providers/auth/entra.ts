import type { Awaitable } from '../../../common/core/directory.js';
import { GatewayError } from '../../../common/core/errors.js';
import { setHeader } from '../../../common/http/headers.js';
import { azureEnvironment } from '../../../common/settings/environment/secret-environment.js';
import { type AzureFields, missing } from '../kinds/azure-fields.js';
import type { Auth } from '../provider.js';
import { type Ask, askOwnIdentity } from './ask.js';
import { askPipeline } from './ask-pipeline.js';
import { type Authorizer, checkOwnIdentity, type Unauthorized } from './authorizer.js';
import { type Expiring, TokenCache, tokenKey } from './token-cache.js';

export interface EntraToken extends Expiring {
  readonly text: string;
}

/** The identity that signs in. null in an own identity: from the gateway's environment. */
export type Identity =
  | { readonly kind: 'entra'; readonly tenant: string; readonly client: string; readonly secret: string }
  | { readonly kind: 'managed'; readonly client: string | null }
  | { readonly kind: 'workload'; readonly tenant: string | null; readonly client: string | null };

/** Where tokens come from: Microsoft's library, except in tests. */
export type EntraTokens = (identity: Identity, scope: string, ask: Ask) => Promise<EntraToken>;

const defaultScope = 'https://cognitiveservices.azure.com/.default';

/** Tokens are kept for all providers together: one identity's is the same wherever it is used. */
export class EntraSignIn {
  readonly #kept = new TokenCache<EntraToken>();

  constructor(readonly tokens: EntraTokens = libraryTokens) {}

  get(identity: Identity, scope: string, ask: Ask): Awaitable<EntraToken> {
    const { kind, client } = identity;
    const tenant = kind === 'managed' ? null : identity.tenant;
    const secret = kind === 'entra' ? identity.secret : null;
    return this.#kept.get(tokenKey(kind, tenant, client, secret, scope), () =>
      this.tokens(identity, scope, ask),
    );
  }
}

const signIn = new EntraSignIn();

/** How this call signs in: by `azure_auth_mode`, a token of the caller's own, else by key as `byKey` has it. */
export function entraAuth(field: AzureFields, byKey: Auth, from: EntraSignIn = signIn): Auth {
  const identity = identityOf(field);
  if (identity !== null) {
    const scope = field('azure_entra_scope') ?? defaultScope;
    return { kind: 'per-call', authorizer: new EntraAuthorizer(identity, scope, from) };
  }
  const token = field('azure_ad_token');
  return token === null ? byKey : { kind: 'per-call', authorizer: new GivenToken(token) };
}

function identityOf(field: AzureFields): Identity | null {
  const mode = field('azure_auth_mode') ?? 'default';
  switch (mode) {
    case 'default':
      return null;
    case 'entra':
      return {
        kind: mode,
        tenant: needed(field, 'azure_entra_tenant_id'),
        client: needed(field, 'azure_entra_client_id'),
        secret: needed(field, 'azure_entra_client_secret'),
      };
    case 'managed':
      return { kind: mode, client: field('azure_managed_client_id') };
    case 'workload':
      return {
        kind: mode,
        tenant: field('azure_entra_tenant_id'),
        client: field('azure_workload_client_id'),
      };
    default:
      throw missing('azure_auth_mode', 'must be default, entra, managed or workload.');
  }
}

function needed(field: AzureFields, name: string): string {
  const value = field(name);
  if (value === null) throw missing(name, 'is missing: azure_auth_mode entra needs it.');
  return value;
}

class GivenToken implements Authorizer {
  constructor(readonly token: string) {}

  authorize({ call }: Unauthorized): void {
    setHeader(call.headers, 'authorization', `Bearer ${this.token}`);
  }
}

/** Hosts that are Microsoft's own service and not a customer's machine. */
const azureHost = /\.(?:openai|cognitiveservices|services\.ai|models\.ai)\.azure\.(?:com|us|cn)$/;

class EntraAuthorizer implements Authorizer {
  constructor(
    readonly identity: Identity,
    readonly scope: string,
    readonly from: EntraSignIn,
  ) {}

  authorize(to: Unauthorized): Awaitable<void> {
    const { call, fields, ask } = to;
    const { kind } = this.identity;
    if (kind !== 'entra') {
      if (fields.stored('azure_auth_mode') !== kind) throw notTheirs(kind);
      checkOwnIdentity(to, 'azure', 'azure_auth_mode');
      if (!azureHost.test(new URL(call.url).hostname)) throw notThere(kind);
    }
    const token = this.from.get(this.identity, this.scope, ask);
    const write = ({ text }: EntraToken): void => setHeader(call.headers, 'authorization', `Bearer ${text}`);
    return token instanceof Promise ? token.then(write) : write(token);
  }
}

function notTheirs(mode: string): GatewayError {
  return missing(
    'azure_auth_mode',
    `${mode} uses the identity of the gateway itself: only a stored provider may say so.`,
  );
}

function notThere(mode: string): GatewayError {
  return missing(
    'azure_auth_mode',
    `${mode} uses the identity of the gateway itself, which is shown to hosts of Azure's own services alone.`,
  );
}

/** Microsoft's own client (learn.microsoft.com/en-us/javascript/api/@azure/identity). */
async function libraryTokens(identity: Identity, scope: string, ask: Ask): Promise<EntraToken> {
  // Loaded when first needed: most gateways never are.
  const { ClientSecretCredential, ManagedIdentityCredential, WorkloadIdentityCredential } = await import(
    '@azure/identity'
  );
  const options = {
    httpClient: askPipeline(identity.kind === 'managed' ? askOwnIdentity(ask) : ask),
    retryOptions: { maxRetries: 1 },
    // An authority of one's own is not known at Microsoft's, which would be asked first.
    ...(azureEnvironment().authorityHost !== null && { disableInstanceDiscovery: true }),
    // Not asked for these, but the library refuses an authority of the environment without TLS.
    ...(identity.kind === 'managed' && { authorityHost: 'https://login.microsoftonline.com' }),
  };
  const given = (name: string, value: string | null): object => (value === null ? {} : { [name]: value });
  try {
    const credential =
      identity.kind === 'entra'
        ? new ClientSecretCredential(identity.tenant, identity.client, identity.secret, options)
        : identity.kind === 'managed'
          ? new ManagedIdentityCredential({ ...options, ...given('clientId', identity.client) })
          : new WorkloadIdentityCredential({
              ...options,
              ...given('tenantId', identity.tenant),
              ...given('clientId', identity.client),
            });
    const token = await credential.getToken(scope);
    return { text: token.token, expiresAt: token.expiresOnTimestamp };
  } catch (thrown) {
    throw ours(thrown) ?? noToken(thrown);
  }
}

/** A failed connection is reported as such; the library has wrapped it. */
function ours(thrown: unknown): GatewayError | null {
  for (let at = thrown; at instanceof Error; at = at.cause) if (at instanceof GatewayError) return at;
  return null;
}

function noToken(cause: unknown): GatewayError {
  const why = cause instanceof Error ? cause.message.replace(/\s+/g, ' ').slice(0, 300) : 'it failed';
  return new GatewayError('upstream_invalid_response', `Microsoft Entra gave no access token: ${why}`, {
    cause,
  });
}
