import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { OwnIdentities } from '../../src/common/access/own-identity.js';
import { GatewayError } from '../../src/common/core/errors.js';
import type { FieldValues } from '../../src/common/vocabulary/provider-fields.js';
import { fieldValue } from '../../src/common/vocabulary/provider-fields.js';
import type { Ask } from '../../src/data-plane/providers/auth/ask.js';
import { EntraSignIn, entraAuth } from '../../src/data-plane/providers/auth/entra.js';
import { CallFields } from '../../src/data-plane/providers/call-fields.js';
import { azureFields } from '../../src/data-plane/providers/kinds/azure-fields.js';
import { azureFoundry } from '../../src/data-plane/providers/kinds/azure-foundry.js';
import { azureOpenAi } from '../../src/data-plane/providers/kinds/azure-openai.js';
import type { ProviderDefinition, RowCall } from '../../src/data-plane/providers/provider.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';

const values = (texts: Record<string, string>): FieldValues =>
  Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, fieldValue(name, text)]));

const call = (
  target: Record<string, string>,
  stored: Record<string, string> | null = null,
  rest: Partial<RowCall> = {},
): RowCall => ({
  format: 'openai-chat',
  model: 'gpt-4o',
  streaming: false,
  hasBase: false,
  fields: new CallFields(stored === null ? null : values(stored), values(target)),
  ...rest,
});

const url = ({ base, paths, query }: ProviderDefinition, format: RowCall['format'] = 'openai-chat'): string =>
  `${base}${paths[format]}${query === undefined ? '' : `?${query}`}`;

function refused(run: () => unknown): string | null {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown.param;
    throw thrown;
  }
  return 'nothing';
}

describe('Azure OpenAI', () => {
  const row = (...args: Parameters<typeof call>): ProviderDefinition => azureOpenAi.forCall!(call(...args));

  it('is called by deployment where the version is a date, by model where it is not', () => {
    const resource = { azure_resource_name: 'contoso' };
    const dated = row({ ...resource, azure_api_version: '2024-10-21', azure_deployment_id: 'a b' });
    expect(url(dated)).to.equal(
      'https://contoso.openai.azure.com/openai/deployments/a%20b/chat/completions?api-version=2024-10-21',
    );
    expect(dated.model).to.equal(undefined);
    const undated = row(resource);
    expect(url(undated)).to.equal('https://contoso.openai.azure.com/openai/v1/chat/completions');
    expect(undated.model).to.equal('gpt-4o');
    expect(url(row({ ...resource, api_version: 'preview' }))).to.match(
      /\/openai\/v1\/.*\?api-version=preview$/,
    );
  });

  it('has no deployment in the path of responses', () => {
    const fields = { resource_name: 'contoso', api_version: '2025-04-01-preview', deployment_id: 'd' };
    const responses = row(fields, null, { format: 'openai-responses' });
    expect(url(responses, 'openai-responses')).to.equal(
      'https://contoso.openai.azure.com/openai/responses?api-version=2025-04-01-preview',
    );
    expect(responses.model).to.equal('d');
  });

  it('refuses what is missing, and what would make another host', () => {
    expect(refused(() => row({}))).to.equal('azure_resource_name');
    for (const name of ['evil.test/#', 'a.b', 'a@b', '-a', ''])
      expect(
        refused(() => row({ azure_resource_name: name })),
        name,
      ).to.equal('azure_resource_name');
    expect(refused(() => row({ azure_resource_name: 'a', azure_api_version: 'v1&x=y' }))).to.equal(
      'azure_api_version',
    );
    expect(refused(() => row({}, null, { hasBase: true }))).to.equal('nothing');
  });

  it('a caller cannot have a stored key sent to another resource', () => {
    const theirs = { azure_resource_name: 'evil', resource_name: 'evil', azure_ad_token: 'x' };
    expect(url(row(theirs, { resource_name: 'contoso' }))).to.include('//contoso.openai');
    expect(refused(() => row(theirs, {}))).to.equal('azure_resource_name');
    expect(row(theirs, { resource_name: 'contoso' }).auth.kind).to.equal('header');
  });

  it('finds a deployment in a list, and lists the others where it finds none', () => {
    const config = JSON.stringify([
      {
        alias: 'a',
        azure_deployment_name: 'one',
        azure_api_version: '2024-10-21',
        azure_model_slug: 'gpt-4o',
      },
      { alias: 'b', deployment_name: 'two', api_version: '2025-01-01' },
    ]);
    const stored = { azure_resource_name: 'contoso', azure_deployment_config: config };
    const at = (model: string) => url(row({}, stored, { model }));
    expect(at('a')).to.include('/deployments/one/').and.include('2024-10-21');
    expect(at('gpt-4o')).to.include('/deployments/one/');
    expect(at('b')).to.include('/deployments/two/').and.include('2025-01-01');
    expect(() => at('zzz')).to.throw(GatewayError, 'ask for a, b');
  });
});

describe('Microsoft Foundry', () => {
  const row = (...args: Parameters<typeof call>): ProviderDefinition => azureFoundry.forCall!(call(...args));
  const host = 'https://contoso.services.ai.azure.com';

  it('recognises by its address which API is meant', () => {
    const at = (azure_foundry_url: string) => url(row({ azure_foundry_url }));
    const models = `${host}/models/chat/completions?api-version=2024-05-01-preview`;
    expect(at(host)).to.equal(models);
    expect(at(`${host}/models/`)).to.equal(models);
    expect(at(`${host}/models/chat/completions`)).to.equal(models);
    expect(at(`${host}/openai/v1`)).to.equal(`${host}/openai/v1/chat/completions`);
    const claude = row({ azure_foundry_url: `${host}/anthropic/v1/messages` });
    expect(url(claude, 'anthropic-messages')).to.equal(`${host}/anthropic/v1/messages`);
    expect(claude.paths['openai-chat']).to.equal(undefined);
    expect(url(row({ azure_endpoint_name: 'llama', azure_region: 'eastus2' }))).to.match(
      /^https:\/\/llama\.eastus2\.models\.ai\.azure\.com\/chat/,
    );
  });

  it('an address that a field gave is judged as a custom host is', () => {
    expect(row({ azure_foundry_url: host }).givenBase).to.equal(true);
    for (const bad of ['ftp://x', 'https://a@b/', 'https://x/?q', 'x'])
      expect(
        refused(() => row({ azure_foundry_url: bad })),
        bad,
      ).to.equal('azure_foundry_url');
    expect(refused(() => row({ azure_foundry_url: host }, {}))).to.equal('azure_foundry_url');
  });
});

describe('Signing in at Entra', () => {
  let simulated: SimulatedProvider;
  const asked: string[] = [];
  /** Questions to the metadata service of the machine. */
  const ofMachine: Parameters<Ask>[0][] = [];

  /** Entra's public address, answered by the simulated one. */
  const ask: Ask = async (question) => {
    const { method, url: to, headers, body } = question;
    asked.push(to);
    const { pathname, hostname } = new URL(to);
    if (hostname === '169.254.169.254') {
      ofMachine.push(question);
      const token = { access_token: 'of-this-machine', expires_in: '3600', token_type: 'Bearer' };
      return {
        status: 200,
        headers: ['content-type', 'application/json'],
        body: Buffer.from(JSON.stringify(token)),
      };
    }
    expect(hostname).to.equal('login.microsoftonline.com');
    const pairs: [string, string][] = [];
    for (let i = 0; i < headers.length; i += 2)
      if (headers[i] !== 'content-length') pairs.push([headers[i]!, headers[i + 1]!]);
    const response = await fetch(simulated.url + pathname, {
      method,
      headers: pairs,
      body: body === null ? null : new Uint8Array(body),
    });
    return {
      status: response.status,
      headers: ['content-type', response.headers.get('content-type') ?? ''],
      body: Buffer.from(await response.arrayBuffer()),
    };
  };

  let ownIdentities: OwnIdentities;

  before(async () => {
    simulated = await startSimulated();
  });
  after(() => simulated?.close());
  beforeEach(() => {
    asked.splice(0);
    ownIdentities = new OwnIdentities(['azure']);
  });

  const tenant = '72f988bf-86f1-41af-91ab-2d7cd011db47';
  const fields = (secret = 's') => ({
    azure_auth_mode: 'entra',
    azure_entra_tenant_id: tenant,
    azure_entra_client_id: 'client-1',
    azure_entra_client_secret: secret,
  });

  async function header(
    target: Record<string, string>,
    stored: Record<string, string> | null,
    signIn: EntraSignIn,
    to = 'https://contoso.openai.azure.com/openai/v1/chat/completions',
  ): Promise<string | undefined> {
    const given = new CallFields(stored === null ? null : values(stored), values(target));
    const auth = entraAuth(azureFields(given), { kind: 'header', name: 'api-key' }, signIn);
    if (auth.kind !== 'per-call') return auth.kind;
    const headers: string[] = [];
    const outgoing = {
      target: null as never,
      provider: 'azure-openai',
      method: 'POST',
      url: to,
      headers,
      body: null,
    };
    await auth.authorizer.authorize({
      call: outgoing,
      credential: null,
      fields: given,
      ask,
      tenant: { organisationId: 'o', workspaceId: 'w' },
      ownIdentities,
    });
    return headers[headers.indexOf('authorization') + 1];
  }

  it('a client’s secret becomes a token, once however many wait, by Microsoft’s own library', async function () {
    this.timeout(20_000);
    const signIn = new EntraSignIn();
    const all = await Promise.all(Array.from({ length: 20 }, () => header({}, fields(), signIn)));
    expect(all[0]).to.match(new RegExp(`^Bearer token-of-${tenant}-client-1-`));
    expect(new Set(all).size).to.equal(1);
    const tokens = () => asked.filter((to) => to.includes('/token')).length;
    expect(tokens()).to.equal(1);
    expect(await header(fields(), null, signIn), 'the same identity, sent along').to.equal(all[0]);
    expect(tokens()).to.equal(1);
  });

  it('a wrong secret is reported without its text, and is not kept', async function () {
    this.timeout(20_000);
    const signIn = new EntraSignIn();
    for (let i = 0; i < 2; i++) {
      const failure = await header({}, fields('sk-invalid-secret'), signIn).catch((error) => error);
      expect(failure).to.be.instanceOf(GatewayError);
      expect(failure.message).to.include('AADSTS7000215').and.not.include('sk-invalid-secret');
    }
    expect(asked.filter((to) => to.includes('/token')).length).to.equal(2);
  });

  it('tokens are got again shortly before they end', async () => {
    let made = 0;
    let expiresAt = Date.now() + 3_600_000;
    const signIn = new EntraSignIn(async () => ({ text: `t${++made}`, expiresAt }));
    const token = () => header({}, { azure_auth_mode: 'managed' }, signIn);
    expect([await token(), await token()]).to.deep.equal(['Bearer t1', 'Bearer t1']);
    const late = new EntraSignIn(async () => ({ text: `t${++made}`, expiresAt }));
    expiresAt = Date.now() + 30_000;
    const next = () => header({}, { azure_auth_mode: 'managed' }, late);
    expect([await next(), await next()]).to.deep.equal(['Bearer t2', 'Bearer t3']);
  });

  it('the gateway’s own identity is for stored providers and for Azure’s own hosts alone', async () => {
    const signIn = new EntraSignIn(async ({ kind }) => ({ text: kind, expiresAt: Date.now() + 3_600_000 }));
    for (const mode of ['managed', 'workload']) {
      expect(await header({}, { azure_auth_mode: mode }, signIn)).to.equal(`Bearer ${mode}`);
      const own = await header({ azure_auth_mode: mode }, null, signIn).catch((error) => error);
      expect(own.param).to.equal('azure_auth_mode');
      for (const to of [
        'https://evil.test/',
        'https://x.cloudapp.azure.com/',
        'https://openai.azure.com.evil.test/',
      ]) {
        const away = await header({}, { azure_auth_mode: mode }, signIn, to).catch((error) => error);
        expect(away.param, to).to.equal('azure_auth_mode');
      }
    }
  });

  it('the gateway’s own identity is for those alone whom its operator lets', async () => {
    const signIn = new EntraSignIn(async ({ kind }) => ({ text: kind, expiresAt: Date.now() + 3_600_000 }));
    for (const mode of ['managed', 'workload']) {
      ownIdentities = new OwnIdentities(['aws', 'google', 'azure:another']);
      const refused = await header({}, { azure_auth_mode: mode }, signIn).catch((error) => error);
      expect(refused).to.include({ code: 'own_identity_blocked', param: 'azure_auth_mode', status: 403 });
      ownIdentities = new OwnIdentities(['azure:o']);
      expect(await header({}, { azure_auth_mode: mode }, signIn)).to.equal(`Bearer ${mode}`);
    }
  });

  it('a machine and a workload sign in by Microsoft’s own library too', async function () {
    this.timeout(20_000);
    const signIn = new EntraSignIn();
    expect(await header({}, { azure_auth_mode: 'managed' }, signIn)).to.equal('Bearer of-this-machine');
    // Marked as the gateway's own identity, with the header that the service demands.
    const { headers } = ofMachine.at(-1)!;
    expect(headers[headers.indexOf('metadata') + 1]).to.equal('true');
    expect(ofMachine.every(({ ownIdentity }) => ownIdentity === true)).to.equal(true);
    const folder = mkdtempSync(join(tmpdir(), 'headgate-federated-'));
    const file = join(folder, 'token');
    writeFileSync(file, 'federated');
    process.env['AZURE_FEDERATED_TOKEN_FILE'] = file;
    try {
      const workload = {
        azure_auth_mode: 'workload',
        azure_entra_tenant_id: tenant,
        azure_workload_client_id: 'w',
      };
      expect(await header({}, workload, signIn)).to.match(new RegExp(`^Bearer token-of-${tenant}-w-`));
    } finally {
      delete process.env['AZURE_FEDERATED_TOKEN_FILE'];
      rmSync(folder, { recursive: true });
    }
  });

  it('names the missing field, and refuses other modes', async () => {
    const signIn = new EntraSignIn();
    const { azure_entra_tenant_id: _, ...rest } = fields();
    expect((await header(rest, null, signIn).catch((error) => error)).param).to.equal(
      'azure_entra_tenant_id',
    );
    expect((await header({ azure_auth_mode: 'x' }, null, signIn).catch((error) => error)).param).to.equal(
      'azure_auth_mode',
    );
    expect(await header({ azure_ad_token: 'mine' }, null, signIn)).to.equal('Bearer mine');
    expect(await header({}, null, signIn)).to.equal('header');
  });
});
