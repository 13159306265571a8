import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { awsKeys, refuseAws, roleKeys } from '../../src/simulated/aws/aws-auth.js';

/** What each manager accepts. */
export const accepted = {
  azureTenant: 'tenant-1',
  azureClient: 'client-1',
  azureSecret: 'canary-azure-client-secret',
  identityHeader: 'canary-identity-header',
  managedClient: 'managed-client-1',
  vaultToken: 'canary-vault-token-0123456789',
  vaultRoleId: 'role-id-1',
  vaultSecretId: 'canary-vault-secret-id',
  vaultRole: 'gateway',
  podToken: 'canary-pod-token',
  roleArn: 'arn:aws:iam::123456789012:role/secrets',
  externalId: 'external-1',
} as const;

export type ManagerFault = 'none' | 'slow' | 'forbidden' | 'garbage' | 'huge' | 'redirect' | 'dead';

/**
 * AWS Secrets Manager with STS and the credentials of a container, Azure Key Vault with Entra and managed identities, and
 * HashiCorp Vault with KV 1 and 2, AppRole and Kubernetes, on one port. Signatures and tokens are checked.
 */
export interface SecretManagers {
  readonly url: string;
  /** By name: a text (AWS, Azure) or fields (Vault). */
  readonly secrets: Map<string, string | Record<string, unknown>>;
  /** Requests for secrets, by name. */
  readonly fetches: Map<string, number>;
  /** Logins and tokens, by kind. */
  readonly logins: Map<string, number>;
  fault: ManagerFault;
  /** Milliseconds that `slow` takes. */
  slowMs: number;
  close(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly body: string | object;
}

const ok = (body: string | object): Answer => ({ status: 200, body });
/** Real managers are careful; this one repeats what it was sent, to see where it ends up. */
const refused = (status: number, request: IncomingMessage, body: Buffer): Answer => ({
  status,
  body: { errors: ['permission denied'], sent: body.toString(), headers: request.headers },
});

export async function startSecretManagers(): Promise<SecretManagers> {
  const managers = {
    url: '',
    secrets: new Map<string, string | Record<string, unknown>>(),
    fetches: new Map<string, number>(),
    logins: new Map<string, number>(),
    fault: 'none' as ManagerFault,
    slowMs: 5000,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => serve(managers, request, Buffer.concat(chunks), response));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  managers.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return managers;
}

const count = (counts: Map<string, number>, name: string): unknown =>
  counts.set(name, (counts.get(name) ?? 0) + 1);

function serve(
  managers: SecretManagers,
  request: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): void {
  const { fault, slowMs } = managers;
  const { status, body: answer } = answerOf(managers, request, body);
  const send = (): void => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof answer === 'string' ? answer : JSON.stringify(answer));
  };
  if (fault === 'none') return send();
  if (fault === 'slow') return void setTimeout(send, slowMs).unref();
  if (fault === 'dead') return void request.socket.destroy();
  if (fault === 'redirect') {
    response.writeHead(307, { location: 'http://169.254.169.254/latest/meta-data/' });
    return void response.end();
  }
  response.writeHead(fault === 'forbidden' ? 403 : 200, { 'content-type': 'application/json' });
  if (fault === 'huge') response.end(`"${'canary-huge '.repeat(900_000)}"`);
  else response.end(`{"canary-answer": ${JSON.stringify(JSON.stringify(answer))}`);
}

function answerOf(managers: SecretManagers, request: IncomingMessage, body: Buffer): Answer {
  const url = new URL(request.url ?? '/', 'http://managers');
  const path = url.pathname;
  if (path.startsWith('/latest/')) return instance(path, request, body);
  if (path === '/container') return ok({ ...toAws(awsKeys) });
  if (request.headers['x-amz-target'] === 'secretsmanager.GetSecretValue')
    return secretsManager(managers, request, body);
  if (body.toString().includes('Action=AssumeRoleWithWebIdentity'))
    return webIdentity(managers, request, body);
  if (body.toString().includes('Action=AssumeRole')) return sts(managers, request, body);
  if (path.endsWith('/oauth2/v2.0/token')) return entra(managers, path, request, body);
  if (path === '/identity') return managedIdentity(managers, url, request, body);
  if (path.startsWith('/secrets/')) return keyVault(managers, url, request, body);
  if (path.startsWith('/v1/')) return vault(managers, path.slice(4), request, body);
  return { status: 404, body: {} };
}

const toAws = ({ accessKeyId, secretAccessKey }: typeof awsKeys) => ({
  AccessKeyId: accessKeyId,
  SecretAccessKey: secretAccessKey,
});

/** IMDSv2. */
function instance(path: string, request: IncomingMessage, body: Buffer): Answer {
  if (path === '/latest/api/token' && request.method === 'PUT') return ok('metadata-token');
  if (request.headers['x-aws-ec2-metadata-token'] !== 'metadata-token') return refused(401, request, body);
  const folder = '/latest/meta-data/iam/security-credentials/';
  if (path === folder) return ok('instance-role');
  return path === `${folder}instance-role` ? ok(toAws(awsKeys)) : { status: 404, body: {} };
}

function secretsManager(managers: SecretManagers, request: IncomingMessage, body: Buffer): Answer {
  const { SecretId: name } = JSON.parse(body.toString()) as { SecretId: string };
  count(managers.fetches, name);
  const refusal = refuseAws(request, body, 'secretsmanager');
  if (refusal !== null) return refused(400, request, body);
  const secret = managers.secrets.get(name);
  if (secret === undefined) return { status: 400, body: { __type: 'ResourceNotFoundException' } };
  return ok({
    ARN: 'arn',
    Name: name,
    SecretString: typeof secret === 'string' ? secret : JSON.stringify(secret),
  });
}

function sts(managers: SecretManagers, request: IncomingMessage, body: Buffer): Answer {
  count(managers.logins, 'sts');
  const form = new URLSearchParams(body.toString());
  const isRight =
    refuseAws(request, body, 'sts') === null &&
    form.get('RoleArn') === accepted.roleArn &&
    form.get('ExternalId') === accepted.externalId;
  return isRight ? keysOfRole() : refused(403, request, body);
}

/** The token of a pod takes the place of a signature. */
function webIdentity(managers: SecretManagers, request: IncomingMessage, body: Buffer): Answer {
  count(managers.logins, 'web identity');
  const form = new URLSearchParams(body.toString());
  const isRight =
    request.headers.authorization === undefined &&
    form.get('Version') === '2011-06-15' &&
    form.get('RoleArn') === accepted.roleArn &&
    form.get('RoleSessionName') !== null &&
    form.get('WebIdentityToken') === accepted.podToken;
  return isRight ? keysOfRole() : refused(403, request, body);
}

function keysOfRole(): Answer {
  const { accessKeyId, secretAccessKey, sessionToken } = roleKeys;
  const ends = new Date(Date.now() + 3_600_000).toISOString();
  return ok(
    `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretAccessKey}</SecretAccessKey><SessionToken>${sessionToken}</SessionToken><Expiration>${ends}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
  );
}

/** A token that names who got it. */
const tokenOf = (who: string): string => `token-${createHash('sha256').update(who).digest('hex')}`;
const tokens = new Set([tokenOf('entra'), tokenOf('managed'), tokenOf('approle'), tokenOf('kubernetes')]);

function entra(managers: SecretManagers, path: string, request: IncomingMessage, body: Buffer): Answer {
  count(managers.logins, 'entra');
  const form = new URLSearchParams(body.toString());
  const isRight =
    path === `/${accepted.azureTenant}/oauth2/v2.0/token` &&
    form.get('grant_type') === 'client_credentials' &&
    form.get('client_id') === accepted.azureClient &&
    isProven(form) &&
    form.get('scope') === 'https://vault.azure.net/.default';
  if (!isRight) return refused(401, request, body);
  return ok({ token_type: 'Bearer', expires_in: 3599, access_token: tokenOf('entra') });
}

/** By the client's secret, or by the token of a pod, never by both. */
function isProven(form: URLSearchParams): boolean {
  const assertion = form.get('client_assertion');
  if (assertion === null) return form.get('client_secret') === accepted.azureSecret;
  return (
    assertion === accepted.podToken &&
    form.get('client_assertion_type') === 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' &&
    !form.has('client_secret')
  );
}

function managedIdentity(managers: SecretManagers, url: URL, request: IncomingMessage, body: Buffer): Answer {
  count(managers.logins, 'managed');
  const client = url.searchParams.get('client_id');
  const isRight =
    request.headers['x-identity-header'] === accepted.identityHeader &&
    url.searchParams.get('resource') === 'https://vault.azure.net' &&
    (client === null || client === accepted.managedClient);
  if (!isRight) return refused(401, request, body);
  return ok({
    access_token: tokenOf('managed'),
    expires_on: String(Math.floor(Date.now() / 1000) + 3600),
    token_type: 'Bearer',
    resource: 'https://vault.azure.net',
  });
}

function keyVault(managers: SecretManagers, url: URL, request: IncomingMessage, body: Buffer): Answer {
  const name = url.pathname.slice('/secrets/'.length);
  count(managers.fetches, name);
  const token = String(request.headers.authorization).replace('Bearer ', '');
  if (!tokens.has(token) || !url.searchParams.has('api-version')) return refused(401, request, body);
  const value = managers.secrets.get(name);
  return typeof value === 'string' ? ok({ value, id: url.href }) : { status: 404, body: {} };
}

function vault(managers: SecretManagers, path: string, request: IncomingMessage, body: Buffer): Answer {
  const namespace = request.headers['x-vault-namespace'];
  if (path.startsWith('auth/')) {
    count(managers.logins, path);
    const given = JSON.parse(body.toString()) as Record<string, unknown>;
    const isRight =
      (path === 'auth/approle/login' &&
        given['role_id'] === accepted.vaultRoleId &&
        given['secret_id'] === accepted.vaultSecretId) ||
      (path === 'auth/kubernetes/login' &&
        given['role'] === accepted.vaultRole &&
        given['jwt'] === accepted.podToken);
    if (!isRight) return refused(400, request, body);
    const client_token = tokenOf(path.split('/')[1]!);
    return ok({ auth: { client_token, lease_duration: 3600, renewable: true } });
  }
  const name = namespace === undefined ? path : `${namespace}:${path}`;
  count(managers.fetches, name);
  const token = String(request.headers['x-vault-token']);
  if (token !== accepted.vaultToken && !tokens.has(token)) return refused(403, request, body);
  const fields = managers.secrets.get(name);
  if (typeof fields !== 'object') return { status: 404, body: { errors: [] } };
  const isSecond = path.includes('/data/');
  return ok({ data: isSecond ? { data: fields, metadata: { version: 1 } } : fields });
}
