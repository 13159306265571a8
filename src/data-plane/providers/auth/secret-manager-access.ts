import { readFile } from 'node:fs/promises';
import type { Tenant } from '../../../common/access/own-identity.js';
import { type AzureIdentity, type SecretAccess, SecretFailure } from '../../../common/http/secret-access.js';
import { isJsonObject } from '../../../common/json/json.js';
import { azureEnvironment } from '../../../common/settings/environment/secret-environment.js';
import type { Upstream } from '../../upstream/upstream.js';
import { type Ask, askThrough } from './ask.js';
import { ownAwsKeys } from './aws-own-identity.js';
import { type AssumedRole, assumeRole, type RoleKeys, stsOf } from './aws-sts.js';
import { EntraSignIn, type EntraToken } from './entra.js';
import { TokenCache, tokenKey } from './token-cache.js';

const keepAliveMs = 30_000;
/** To one address at the same time. */
const connections = 16;
const maxOpen = 128;

/**
 * The ways to secret managers, for the control process: by the client and the egress rules of calls to providers, and with the
 * same code for tokens and signatures.
 */
export class SecretAccesses {
  readonly #roles = new TokenCache<RoleKeys>();
  readonly #tokens = new TokenCache<EntraToken>();
  readonly #signIn = new EntraSignIn();
  #upstream: Promise<Upstream> | null = null;

  /** `deadlineMs`: of a single request. */
  constructor(
    readonly egressAllow: readonly string[],
    readonly deadlineMs: number,
  ) {}

  async of(organisationId: string): Promise<SecretAccess> {
    this.#upstream ??= this.#open();
    const tenant: Tenant = { organisationId, workspaceId: null };
    const ask = askThrough(await this.#upstream, tenant, this.deadlineMs);
    return {
      ask: failing(ask),
      awsKeys: async (region, role) => {
        try {
          if (role === null) return await ownAwsKeys(region, ask, stsOf);
          const key = tokenKey(organisationId, role.arn, role.externalId, region);
          return await this.#roles.get(key, () => assume(region, role, ask));
        } catch {
          throw new SecretFailure(
            role === null
              ? 'the gateway has no AWS identity of its own here'
              : 'AWS did not let the gateway assume its role',
          );
        }
      },
      azureToken: async (identity, scope) => {
        try {
          return (await this.#azureToken(organisationId, identity, scope, ask)).text;
        } catch (error) {
          if (error instanceof SecretFailure) throw error;
          throw new SecretFailure('Microsoft Entra gave the gateway no access token');
        }
      },
    };
  }

  async #open(): Promise<Upstream> {
    const { createUpstream } = await import('../../upstream/dispatch.js');
    return createUpstream({
      connectionsPerOrigin: connections,
      keepAliveMs,
      egressAllow: [...this.egressAllow],
      maxOpen,
    });
  }

  async #azureToken(
    organisationId: string,
    identity: AzureIdentity,
    scope: string,
    ask: Ask,
  ): Promise<EntraToken> {
    const found = identity.kind === 'default' ? defaultIdentity() : identity;
    if (found.kind === 'managed') return this.#signIn.get(found, scope, ask);
    const { tenant, client } = found;
    const proof = found.kind === 'entra' ? found.secret : found.tokenFile;
    const key = tokenKey(organisationId, found.kind, tenant, client, proof, scope);
    return this.#tokens.get(key, () => clientToken(found, scope, ask));
  }

  async close(): Promise<void> {
    await (await this.#upstream)?.close();
  }
}

/** Authenticates by the token of the pod's service account, which is in that file. */
interface Workload {
  readonly kind: 'workload';
  readonly tenant: string;
  readonly client: string;
  readonly tokenFile: string;
}

type EntraClient = Extract<AzureIdentity, { kind: 'entra' }> | Workload;

/** The order of Microsoft's own libraries, without the tools of developers' machines. */
function defaultIdentity(): EntraClient | Extract<AzureIdentity, { kind: 'managed' }> {
  const { tenantId: tenant, clientId: client, clientSecret: secret, federatedTokenFile } = azureEnvironment();
  if (tenant !== null && client !== null && secret !== null) return { kind: 'entra', tenant, client, secret };
  if (tenant !== null && client !== null && federatedTokenFile !== null)
    return { kind: 'workload', tenant, client, tokenFile: federatedTokenFile };
  return { kind: 'managed', client };
}

/** Without its cause: what a manager has answered may hold secrets. */
const failing =
  (ask: Ask): SecretAccess['ask'] =>
  async (request) => {
    try {
      return await ask(request);
    } catch (error) {
      throw new SecretFailure(reasonOf(error));
    }
  };

function reasonOf(error: unknown): string {
  const code = (error as { readonly code?: unknown }).code;
  switch (code) {
    case 'invalid_custom_host':
      return 'the address of its secret manager may not be reached: have the operator add it to HEADGATE_EGRESS_ALLOW';
    case 'upstream_too_large':
      return 'its secret manager answered with more than 256 KiB';
    case 'upstream_tls':
      return 'the certificate of its secret manager is not trusted: NODE_EXTRA_CA_CERTS adds a certificate authority';
    case 'upstream_redirect':
      return 'its secret manager answered with a redirect, which is not followed';
    case 'upstream_invalid_response':
    case 'upstream_truncated':
      return 'its secret manager answered with something that is not HTTP';
    default:
      return 'its secret manager does not answer';
  }
}

async function assume(region: string, role: AssumedRole, ask: Ask): Promise<RoleKeys> {
  return assumeRole(role, await ownAwsKeys(region, ask, stsOf), { region, url: stsOf(region) }, ask);
}

/**
 * OAuth 2.0 client credentials (learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-client-creds-grant-flow): one
 * request, where Microsoft's library first makes two for the addresses of the tenant.
 */
async function clientToken(identity: EntraClient, scope: string, ask: Ask): Promise<EntraToken> {
  const { tenant, client } = identity;
  const host = azureEnvironment().authorityHost ?? 'https://login.microsoftonline.com';
  const base = /^https?:\/\//.test(host) ? host : `https://${host}`;
  const form = { grant_type: 'client_credentials', client_id: client, scope, ...(await proofOf(identity)) };
  const { status, body } = await ask({
    method: 'POST',
    url: `${base.replace(/\/+$/, '')}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`,
    headers: ['content-type', 'application/x-www-form-urlencoded', 'accept', 'application/json'],
    body: Buffer.from(new URLSearchParams(form).toString()),
  });
  if (status !== 200) throw new SecretFailure(`Microsoft Entra refused the client with status ${status}`);
  const answer: unknown = JSON.parse(body.toString('utf8'));
  if (!isJsonObject(answer) || typeof answer['access_token'] !== 'string')
    throw new SecretFailure('Microsoft Entra gave no access token');
  const seconds = Number(answer['expires_in']);
  return {
    text: answer['access_token'],
    expiresAt: Date.now() + (Number.isFinite(seconds) ? seconds : 300) * 1000,
  };
}

async function proofOf(identity: EntraClient): Promise<Record<string, string>> {
  if (identity.kind === 'entra') return { client_secret: identity.secret };
  let token: string;
  try {
    // Kubernetes replaces it while the gateway runs.
    token = (await readFile(identity.tokenFile, 'utf8')).trim();
  } catch {
    throw new SecretFailure('the file AZURE_FEDERATED_TOKEN_FILE cannot be read by the gateway');
  }
  return {
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: token,
  };
}
