// lane: slow
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { awsKeys } from '../../src/simulated/aws/aws-auth.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { startCheckService } from '../support/check-service.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { accepted, type SecretManagers, startSecretManagers } from '../support/secret-managers.js';

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of all kinds.
  readonly json: any;
}

const plugin = `
export default {
  name: 'adds-token',
  options: {
    type: 'object',
    properties: { tokens: { type: 'array', items: { type: 'string' } } },
    required: ['tokens'],
  },
  setup: ({ tokens }) => ({
    attempt(x, call) {
      call.headers.push('x-tokens', tokens.join(' '));
    },
  }),
};
`;

describe('Secret references', () => {
  let gateway: RunningGateway;
  let managers: SecretManagers;
  let provider: SimulatedProvider;
  let folder: string;
  let count = 0;

  before(async function () {
    this.timeout(30_000);
    managers = await startSecretManagers();
    provider = await startSimulated({ record: true });
    folder = mkdtempSync(join(tmpdir(), 'headgate-secrets-'));
    mkdirSync(join(folder, 'secrets', 'deep'), { recursive: true });
    writeFileSync(join(folder, 'outside'), 'canary-outside');
    writeFileSync(join(folder, 'secrets', 'deep', 'key'), 'canary-of-a-file\n');
    symlinkSync(join(folder, 'outside'), join(folder, 'secrets', 'link'));
    symlinkSync('deep/key', join(folder, 'secrets', 'inner-link'));
    mkdirSync(join(folder, 'plugins'));
    writeFileSync(join(folder, 'plugins/package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'plugins/adds-token.js'), plugin);
    writeFileSync(join(folder, 'headgate.yaml'), `plugins:\n  directory: ${join(folder, 'plugins')}\n`);
    gateway = await startGateway({
      env: {
        HEADGATE_WORKERS: '2',
        HEADGATE_CONFIG: join(folder, 'headgate.yaml'),
        HEADGATE_OWN_IDENTITY: 'aws,azure',
        HEADGATE_SECRET_ENV: 'TEST_SECRET,TEST_OBJECT',
        HEADGATE_SECRET_DIR: join(folder, 'secrets'),
        TEST_SECRET: 'canary-of-the-environment',
        TEST_OBJECT: '{"inner":"canary-inner","number":7}',
        TEST_UNLISTED: 'canary-unlisted',
        AWS_ENDPOINT_URL: managers.url,
        AWS_ACCESS_KEY_ID: '',
        AWS_ROLE_ARN: '',
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${managers.url}/container`,
        AZURE_AUTHORITY_HOST: managers.url,
        IDENTITY_ENDPOINT: `${managers.url}/identity`,
        IDENTITY_HEADER: accepted.identityHeader,
      },
    });
  });
  after(async () => {
    await gateway?.stop();
    await provider?.close();
    await managers?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(() => {
    managers.fault = 'none';
  });

  async function call(
    method: string,
    path: string,
    body?: object,
    key = gateway.adminKey,
    more: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await fetch(gateway.url + path, {
      method,
      headers: { 'x-gateway-api-key': key, 'content-type': 'application/json', ...more },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, json: text === '' ? {} : JSON.parse(text) };
  }

  async function made(method: string, path: string, body: object): Promise<Answer['json']> {
    const { status, json } = await call(method, path, body);
    expect(status, JSON.stringify(json)).to.equal(200);
    return json;
  }

  const reference = async (body: object): Promise<string> => {
    const slug = `ref-${++count}`;
    await made('POST', '/v1/secret-references', { name: slug, slug, ...body });
    return slug;
  };

  /** A virtual key whose credential is mapped. */
  async function mapped(slug: string, more: object = {}): Promise<string> {
    const { data } = await made('POST', '/v1/virtual-keys', {
      name: `mapped ${++count}`,
      provider: 'openai',
      custom_host: `${provider.url}/v1`,
      workspace_id: gateway.workspaceId,
      secret_mappings: [{ target_field: 'key', secret_reference_id: slug, ...more }],
    });
    return data.slug;
  }

  const chat = (slug: string): Promise<Answer> =>
    call(
      'POST',
      '/v1/chat/completions',
      { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] },
      gateway.workspaceKey,
      { 'x-gateway-virtual-key': slug },
    );

  const lastKey = (): string => provider.requests.at(-1)!.headers['authorization']!;

  /** The key that a call of this virtual key is made with. */
  async function keyOf(slug: string): Promise<string> {
    const { status, json } = await chat(slug);
    expect(status, JSON.stringify(json)).to.equal(200);
    return lastKey().replace('Bearer ', '');
  }

  const env = { manager_type: 'env', auth_config: {}, secret_path: 'TEST_SECRET' };

  it('fill the key of a virtual key from the environment', async () => {
    const slug = await reference(env);
    const key = await mapped(slug);
    expect(await keyOf(key)).to.equal('canary-of-the-environment');
    const shown = await call('GET', `/v1/virtual-keys/${key}?workspace_id=${gateway.workspaceId}`);
    expect(shown.json.secret_mappings).to.deep.equal([
      { target_field: 'key', secret_reference_id: slug, secret_key: null, value_format: null },
    ]);
  });

  it('fill the key of an integration, for every workspace that has a provider of it', async () => {
    const slug = await reference({ ...env, secret_path: 'TEST_OBJECT', secret_key: 'inner' });
    const { slug: integration } = await made('POST', '/v1/integrations', {
      name: 'mapped integration',
      ai_provider_id: 'openai',
      configurations: { custom_host: `${provider.url}/v1` },
      secret_mappings: [{ target_field: 'key', secret_reference_id: slug }],
    });
    await made('PUT', `/v1/integrations/${integration}/workspaces`, {
      workspaces: [{ id: gateway.workspaceId, enabled: true, default_provider_slug: 'lent-mapped' }],
    });
    expect(await keyOf('lent-mapped')).to.equal('canary-inner');
  });

  it('fill credentials of a plugin, which checks of guardrails use', async () => {
    const service = await startCheckService(() => ({ body: { pii: false } }));
    try {
      const slug = await reference(env);
      const body = {
        plugin_provider_id: 'pillar',
        credentials: { baseUrl: service.url },
        secret_mappings: [{ target_field: 'credentials.apiKey', secret_reference_id: slug }],
      };
      const wrong = {
        ...body,
        secret_mappings: [{ ...body.secret_mappings[0], target_field: 'credentials.x' }],
      };
      expect((await call('POST', '/v1/plugins', wrong)).status).to.equal(400);
      const { id } = await made('POST', '/v1/plugins', body);
      const { json: shown } = await call('GET', `/v1/plugins/${id}`);
      expect(shown.secret_mappings[0]).to.include({ target_field: 'credentials.apiKey' });
      const checked = await mapped(slug);
      const answer = await call(
        'POST',
        '/v1/chat/completions',
        { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] },
        gateway.workspaceKey,
        {
          'x-gateway-config': JSON.stringify({
            virtual_key: checked,
            input_guardrails: [{ 'pillar.scanPrompt': { scanners: ['pii'] }, deny: true }],
          }),
        },
      );
      expect(answer.status, JSON.stringify(answer.json)).to.equal(200);
      expect(JSON.stringify(service.asked[0]!.headers)).to.include('canary-of-the-environment');
      const gone = await call('PUT', `/v1/plugins/${id}`, { secret_mappings: [] });
      expect(gone.status).to.equal(400);
      expect(JSON.stringify(gone.json)).to.include('credentials.apiKey');
      await made('DELETE', `/v1/plugins/${id}`, {});
    } finally {
      await service.close();
    }
  });

  it('fill options of plugins in the settings, which are replaced when the value is another one', async () => {
    const slug = await reference(env);
    const key = await mapped(slug);
    const tokens = async (): Promise<string | undefined> => {
      expect((await chat(key)).status).to.equal(200);
      return provider.requests.at(-1)!.headers['x-tokens'];
    };
    expect(await tokens()).to.equal(undefined);
    const settings = (placed: string) =>
      writeFileSync(
        join(folder, 'headgate.yaml'),
        `plugins:
  directory: ${join(folder, 'plugins')}
  insert:
    - name: adds-token
      after: config
      options:
        tokens: [plain, {secret_reference: ${placed}}]
`,
      );
    settings(slug);
    await eventually('the plugin', async () => (await tokens()) === 'plain canary-of-the-environment');
    await made('PUT', `/v1/secret-references/${slug}`, { secret_path: 'TEST_OBJECT', secret_key: 'inner' });
    await eventually('the other value', async () => (await tokens()) === 'plain canary-inner');
    settings('nowhere');
    await eventually('a line of the log', async () => gateway.output().includes('secret reference nowhere'));
    expect(await tokens()).to.equal('plain canary-inner');
    settings(slug);
  });

  it('read files of the folder alone, through links within it but not out of it', async () => {
    const file = (path: string) => ({ manager_type: 'file', auth_config: {}, secret_path: path });
    expect(await keyOf(await mapped(await reference(file('deep/key'))))).to.equal('canary-of-a-file');
    expect(await keyOf(await mapped(await reference(file('inner-link'))))).to.equal('canary-of-a-file');
    for (const path of ['link', 'deep', 'absent']) {
      const slug = await reference(file(path));
      const { status, json } = await chat(await mapped(slug));
      expect(status, path).to.equal(503);
      expect(json.error.code).to.equal('secret_unavailable');
      expect(json.error.message).to.include(slug).and.not.include('canary').and.not.include(folder);
    }
    for (const path of ['../outside', 'deep/../../outside', '/etc/passwd']) {
      const { status, json } = await call('POST', '/v1/secret-references', { name: 'x', ...file(path) });
      expect(status, path).to.equal(400);
      expect(JSON.stringify(json)).to.include('secret_path');
    }
  });

  it('read environment variables only where the operator lists them', async () => {
    const { status, json } = await chat(
      await mapped(await reference({ ...env, secret_path: 'TEST_UNLISTED' })),
    );
    expect(status).to.equal(503);
    expect(json.error.message).to.include('HEADGATE_SECRET_ENV');
  });

  it('without a value are named in the log once a minute, in one plain line', async () => {
    const slug = await reference({ ...env, secret_path: 'TEST_UNLISTED' });
    const key = await mapped(slug);
    for (let i = 0; i < 20; i++) expect((await chat(key)).status).to.equal(503);
    const linesOf = (): string[] =>
      gateway
        .output()
        .split('\n')
        .filter((line) => line.includes(slug) && line.includes('"code":"secret_unavailable"'));
    await eventually('a line', async () => linesOf().length > 0);
    // Each of the two workers has its own.
    expect(linesOf().length).to.be.at.most(2);
    for (const line of linesOf()) {
      expect(JSON.parse(line)).to.include({ level: 40, code: 'secret_unavailable' });
      expect(line).to.include(`the secret reference ${slug}`).and.not.include('stack');
    }
  });

  describe('of managers', () => {
    const aws = (auth: object, path = 'prod/openai') => ({
      manager_type: 'aws_sm',
      auth_config: auth,
      secret_path: path,
    });
    const azure = (auth: object) => ({
      manager_type: 'azure_kv',
      auth_config: { azure_vault_url: managers.url, ...auth },
      secret_path: 'openai-key',
    });
    const vault = (auth: object, path = 'secret/data/openai') => ({
      manager_type: 'hashicorp_vault',
      auth_config: { vault_addr: managers.url, ...auth },
      secret_path: path,
    });
    const token = { vault_auth_type: 'token', vault_token: accepted.vaultToken };

    before(() => {
      managers.secrets.set('prod/openai', 'canary-of-aws');
      managers.secrets.set('prod/object', { a: { b: 'canary-object' }, key: 'canary-of-a-key' });
      managers.secrets.set('openai-key', 'canary-of-azure');
      managers.secrets.set('secret/data/openai', { key: 'canary-of-vault', other: 'canary-other' });
      managers.secrets.set('kv/openai', { key: 'canary-of-kv1' });
      managers.secrets.set('team:secret/data/openai', { key: 'canary-of-a-namespace' });
    });

    const accessKey = () => ({
      aws_auth_type: 'accessKey',
      aws_access_key_id: awsKeys.accessKeyId,
      aws_secret_access_key: awsKeys.secretAccessKey,
      aws_region: 'eu-west-1',
    });
    const variants: readonly (readonly [string, () => object, string, object?])[] = [
      ['AWS Secrets Manager by access key', () => aws(accessKey()), 'canary-of-aws'],
      [
        'AWS Secrets Manager by an assumed role',
        () =>
          aws({
            aws_auth_type: 'assumedRole',
            aws_role_arn: accepted.roleArn,
            aws_external_id: accepted.externalId,
            aws_region: 'eu-west-1',
          }),
        'canary-of-aws',
      ],
      [
        'AWS Secrets Manager by the role of the service',
        () => aws({ aws_auth_type: 'serviceRole', aws_region: 'eu-west-1' }),
        'canary-of-aws',
      ],
      [
        'a key of a JSON secret',
        () => aws(accessKey(), 'prod/object'),
        'canary-of-a-key',
        { secret_key: 'key' },
      ],
      [
        'Azure Key Vault by a client secret',
        () =>
          azure({
            azure_auth_mode: 'entra',
            azure_entra_tenant_id: accepted.azureTenant,
            azure_entra_client_id: accepted.azureClient,
            azure_entra_client_secret: accepted.azureSecret,
          }),
        'canary-of-azure',
      ],
      [
        'Azure Key Vault by a managed identity',
        () => azure({ azure_auth_mode: 'managed', azure_managed_client_id: accepted.managedClient }),
        'canary-of-azure',
      ],
      ['Azure Key Vault by default', () => azure({ azure_auth_mode: 'default' }), 'canary-of-azure'],
      ['Vault by token', () => vault(token), 'canary-of-vault', { secret_key: 'key' }],
      ['Vault with the first version of KV', () => vault(token, 'kv/openai'), 'canary-of-kv1'],
      ['Vault with a namespace', () => vault({ ...token, vault_namespace: 'team' }), 'canary-of-a-namespace'],
      [
        'Vault by AppRole',
        () =>
          vault({
            vault_auth_type: 'approle',
            vault_role_id: accepted.vaultRoleId,
            vault_secret_id: accepted.vaultSecretId,
          }),
        'canary-of-vault',
        { secret_key: 'key' },
      ],
    ];
    for (const [name, body, value, more] of variants) {
      it(`are fetched from ${name}`, async () => {
        expect(await keyOf(await mapped(await reference(body()), more))).to.equal(value);
      });
    }

    it('are fetched once for many calls of both workers', async () => {
      managers.secrets.set('prod/many', 'canary-many');
      const key = await mapped(await reference(aws(accessKey(), 'prod/many')));
      const answers = await Promise.all(Array.from({ length: 100 }, () => chat(key)));
      expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([200]));
      expect(managers.fetches.get('prod/many')).to.equal(1);
    });

    it('do not serve an update with old credentials or an old path', async () => {
      const slug = await reference(vault(token, 'kv/openai'));
      const key = await mapped(slug, { secret_key: 'key' });
      expect(await keyOf(key)).to.equal('canary-of-kv1');
      await made('PUT', `/v1/secret-references/${slug}`, { secret_path: 'secret/data/openai' });
      expect(await keyOf(key)).to.equal('canary-of-vault');
      await made('PUT', `/v1/secret-references/${slug}`, { auth_config: { vault_token: 'wrong-token' } });
      const { status, json } = await chat(key);
      expect([status, json.error.code]).to.deep.equal([503, 'secret_unavailable']);
      expect(json.error.message).to.include(slug).and.include('status 403').and.not.include('wrong-token');
    });

    it('that answer 403, garbage, 10 MB or a redirect give an error that names the reference', async () => {
      for (const fault of ['forbidden', 'garbage', 'huge', 'redirect', 'dead'] as const) {
        managers.fault = fault;
        const slug = await reference(vault(token));
        const { status, json } = await chat(await mapped(slug, { secret_key: 'key' }));
        expect([status, json.error.code], fault).to.deep.equal([503, 'secret_unavailable']);
        expect(json.error.message, fault).to.include(slug).and.not.include('canary');
      }
    });

    it('are there again soon after their manager is', async () => {
      managers.fault = 'forbidden';
      const key = await mapped(await reference(vault(token)), { secret_key: 'key' });
      expect((await chat(key)).status).to.equal(503);
      managers.fault = 'none';
      await eventually('the manager is asked again', async () => (await chat(key)).status === 200);
    }).timeout(30_000);

    it('that were rotated are fetched again once the provider refuses the old one', async () => {
      const refuse = async (): Promise<void> => {
        provider.fault('*', '401');
        expect((await chat(key)).status).to.equal(401);
        provider.fault('*', null);
      };
      managers.secrets.set('prod/rotated', 'sk-before');
      const key = await mapped(await reference(aws(accessKey(), 'prod/rotated')));
      expect(await keyOf(key)).to.equal('sk-before');
      managers.secrets.set('prod/rotated', 'sk-after');
      expect(await keyOf(key)).to.equal('sk-before');
      await refuse();
      await eventually('the new secret', async () => (await keyOf(key)) === 'sk-after');
      await refuse();
      expect(await keyOf(key)).to.equal('sk-after');
      expect(managers.fetches.get('prod/rotated')).to.equal(2);
    });

    it('that are slow delay only the calls that have no value yet', async () => {
      managers.secrets.set('prod/slow', 'canary-slow');
      const cached = await mapped(await reference(aws(accessKey())));
      expect(await keyOf(cached)).to.equal('canary-of-aws');
      managers.fault = 'slow';
      managers.slowMs = 1500;
      const waiting = chat(await mapped(await reference(aws(accessKey(), 'prod/slow'))));
      let isDone = false;
      waiting.then(() => (isDone = true)).catch(() => {});
      expect(await keyOf(cached)).to.equal('canary-of-aws');
      expect(isDone).to.equal(false);
      expect((await waiting).status).to.equal(200);
    });

    it('may be private, but neither link-local nor a metadata service', async () => {
      for (const vault_addr of ['http://169.254.169.254', 'http://[fd00:ec2::254]', 'ftp://x']) {
        const body = { name: 'x', ...vault({ ...token, vault_addr }) };
        const { status, json } = await call('POST', '/v1/secret-references', body);
        expect(status, vault_addr).to.equal(400);
        expect(JSON.stringify(json)).to.include('vault_addr');
      }
    });
  });

  it('are listed, changed and deleted as the API has it', async () => {
    const tags = { team: 'search', stage: 'prod' };
    const body = {
      name: 'Listed',
      slug: 'listed',
      description: 'Where it is',
      manager_type: 'hashicorp_vault',
      auth_config: {
        vault_auth_type: 'token',
        vault_addr: managers.url,
        vault_token: 'canary-token-of-listed',
      },
      secret_path: 'kv/x',
      secret_key: 'key',
      tags,
    };
    const created = await made('POST', '/v1/secret-references', body);
    expect(created).to.deep.equal({ id: created.id, slug: 'listed', object: 'secret-reference' });
    const again = await call('POST', '/v1/secret-references', body);
    expect(again.status).to.equal(409);

    const list = async (query: string): Promise<string[]> => {
      const { json } = await call('GET', `/v1/secret-references?${query}`);
      expect(json.object).to.equal('list');
      return json.data.map(({ slug }: { slug: string }) => slug);
    };
    expect(await list('manager_type=hashicorp_vault&page_size=100')).to.include('listed');
    expect(await list('manager_type=aws_sm&page_size=100')).not.to.include('listed');
    expect(await list(`tags=${encodeURIComponent('{"team":"search"}')}`)).to.deep.equal(['listed']);
    expect(await list(`tags=${encodeURIComponent('{"team":"sea"}')}`)).to.deep.equal([]);
    expect(await list('search=LISTED')).to.deep.equal(['listed']);
    for (const query of ['page_size=101', 'tags=x', 'tags=[1]', 'manager_type=other'])
      expect((await call('GET', `/v1/secret-references?${query}`)).status, query).to.equal(400);

    const { json: detail } = await call('GET', '/v1/secret-references/listed');
    const { id, created_at, last_updated_at, created_by, etag, organisation_id, ...rest } = detail;
    expect({ id, organisation_id }).to.deep.equal({
      id: created.id,
      organisation_id: gateway.organisationId,
    });
    expect([created_at, last_updated_at, created_by, etag]).not.to.include(undefined);
    expect(rest).to.deep.equal({
      ...body,
      auth_config: { ...body.auth_config, vault_token: 'ca*****ted' },
      status: 'ACTIVE',
      object: 'secret-reference',
      allow_all_workspaces: true,
      allowed_workspaces: [],
    });

    const put = (change: object) => call('PUT', '/v1/secret-references/listed', change);
    expect(
      (await put({ auth_config: { vault_namespace: 'team', vault_token: 'ca*****ted' } })).json,
    ).to.deep.equal({});
    const merged = (await call('GET', `/v1/secret-references/${id}`)).json;
    expect(merged.auth_config).to.deep.equal({ ...rest.auth_config, vault_namespace: 'team' });
    await made('PUT', '/v1/secret-references/listed', { allowed_workspaces: [gateway.workspaceId] });
    const narrowed = (await call('GET', '/v1/secret-references/listed')).json;
    expect(narrowed).to.include({ allow_all_workspaces: false });
    expect(narrowed.allowed_workspaces).to.deep.equal([gateway.workspaceId]);
    await made('PUT', '/v1/secret-references/listed', { allow_all_workspaces: true, description: null });
    const opened = (await call('GET', '/v1/secret-references/listed')).json;
    expect(opened).to.include({ allow_all_workspaces: true, description: null });
    expect(opened.allowed_workspaces).to.deep.equal([]);
    for (const change of [
      { manager_type: 'env' },
      { slug: 'other' },
      { allow_all_workspaces: true, allowed_workspaces: [gateway.workspaceId] },
      { auth_config: { vault_auth_type: 'approle' } },
      { auth_config: { aws_region: 'eu-west-1' } },
      { auth_config: { vault_token: 'xx*****yyy' } },
    ])
      expect((await put(change)).status, JSON.stringify(change)).to.equal(400);
    expect((await put({ allowed_workspaces: ['nowhere'] })).status).to.equal(404);

    expect((await call('DELETE', '/v1/secret-references/listed')).json).to.deep.equal({});
    expect((await call('GET', '/v1/secret-references/listed')).status).to.equal(404);
  });

  it('are not open to all workspaces because a list of them is empty', async () => {
    const body = { name: 'Empty', slug: 'empty-list', ...env };
    const none = await call('POST', '/v1/secret-references', { ...body, allowed_workspaces: [] });
    expect([none.status, none.json.data]).to.deep.equal([
      400,
      { message: 'allowed_workspaces must not be an empty list.', errorCode: 'AB01' },
    ]);
    await made('POST', '/v1/secret-references', { ...body, allowed_workspaces: [gateway.workspaceId] });
    for (const allowed_workspaces of [[], null]) {
      const emptied = await call('PUT', '/v1/secret-references/empty-list', { allowed_workspaces });
      expect([emptied.status, emptied.json.data.message]).to.deep.equal([
        400,
        'allowed_workspaces names no workspace: send allow_all_workspaces, true for all of them or false for none.',
      ]);
    }
    const closed = { allow_all_workspaces: false, allowed_workspaces: [] };
    await made('PUT', '/v1/secret-references/empty-list', closed);
    expect((await call('GET', '/v1/secret-references/empty-list')).json).to.deep.include(closed);
    await call('DELETE', '/v1/secret-references/empty-list');
  });

  it('cannot be deleted while something is mapped, and the answer names it', async () => {
    const slug = await reference(env);
    const key = await mapped(slug);
    const { status, json } = await call('DELETE', `/v1/secret-references/${slug}`);
    expect(status).to.equal(400);
    expect(JSON.stringify(json)).to.include(`virtual key ${key}`);
    await made('PUT', `/v1/virtual-keys/${key}?workspace_id=${gateway.workspaceId}`, {
      key: 'own-key-0123456789',
      secret_mappings: [],
    });
    expect(await keyOf(key)).to.equal('own-key-0123456789');
    expect((await call('DELETE', `/v1/secret-references/${slug}`)).status).to.equal(200);
  });

  it('belong to the workspaces that are allowed, at once', async () => {
    const slug = await reference(env);
    const key = await mapped(slug);
    expect(await keyOf(key)).to.equal('canary-of-the-environment');
    const { id: other } = await made('POST', '/v1/admin/workspaces', { name: 'Other of secrets' });
    await made('PUT', `/v1/secret-references/${slug}`, { allowed_workspaces: [other] });
    const { status, json } = await chat(key);
    expect([status, json.error.code]).to.deep.equal([412, 'provider_credential_missing']);
    expect(json.error.message).to.include(slug).and.include('may not use');
    const again = await call('POST', '/v1/virtual-keys', {
      name: 'not allowed',
      provider: 'openai',
      workspace_id: gateway.workspaceId,
      secret_mappings: [{ target_field: 'key', secret_reference_id: slug }],
    });
    expect(again.status).to.equal(404);
    expect(JSON.stringify(again.json)).to.include('secret_mappings[0].secret_reference_id');
    await made('PUT', `/v1/secret-references/${slug}`, { allow_all_workspaces: true });
    expect(await keyOf(key)).to.equal('canary-of-the-environment');
  });

  it('are not sent to an address that a key of a workspace chooses', async () => {
    const slug = await reference(env);
    const body = {
      name: 'elsewhere',
      provider: 'openai',
      custom_host: `${provider.url}/v1`,
      secret_mappings: [{ target_field: 'key', secret_reference_id: slug }],
    };
    const { status, json } = await call('POST', '/v1/virtual-keys', body, gateway.workspaceKey);
    expect([status, JSON.stringify(json)].join(' ')).to.match(/^403 .*custom_host/);
  });

  it('with an identity of the gateway’s own need HEADGATE_OWN_IDENTITY', async () => {
    const { status, json } = await call('POST', '/v1/secret-references', {
      name: 'pod',
      manager_type: 'hashicorp_vault',
      auth_config: { vault_auth_type: 'kubernetes', vault_addr: managers.url, vault_role: 'gateway' },
      secret_path: 'kv/openai',
    });
    expect(status).to.equal(403);
    expect(JSON.stringify(json)).to.include('HEADGATE_OWN_IDENTITY').and.include('kubernetes');
  });

  describe('after all of this', () => {
    it('leave no secret in logs, audit logs or files', async () => {
      const audit = await call(
        'GET',
        '/v1/audit-logs?start_time=2020-01-01T00:00:00Z&end_time=2099-01-01T00:00:00Z&page_size=100',
      );
      const places = { output: gateway.output(), audit: JSON.stringify(audit.json) };
      for (const file of readdirSync(gateway.dataDir, { recursive: true, withFileTypes: true })) {
        if (!file.isFile()) continue;
        const bytes = readFileSync(join(file.parentPath, file.name));
        expect(bytes.includes('canary'), file.name).to.equal(false);
      }
      for (const [place, text] of Object.entries(places)) {
        expect(text, place).to.include('secret');
        expect(text, place).not.to.match(/canary/);
      }
    });
  });
});
