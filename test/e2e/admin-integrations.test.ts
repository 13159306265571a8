import { expect } from 'chai';
import { Secret } from '../../src/common/access/secret.js';
import { type AdminPlane, type RestResult, refused, startPlane } from '../support/admin-plane.js';

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const uuid = /^[0-9a-f-]{36}$/;

describe('integrations over the administration plane', () => {
  let plane: AdminPlane;
  before(async () => {
    plane = await startPlane();
  });
  after(() => plane.close());

  const create = (body: object, options: object = {}): Promise<RestResult> =>
    plane.rest(
      'POST',
      '/v1/integrations',
      { name: 'OpenAI', ai_provider_id: 'openai', key: 'sk-canary-key-0123', ...body },
      options,
    );
  const get = async (path: string): Promise<RestResult['json']> => (await plane.rest('GET', path)).json;
  const put = (path: string, body: object): Promise<RestResult> => plane.rest('PUT', path, body);
  /** Expects a refusal over REST; gives its message. */
  async function no(work: Promise<RestResult>, status: number, code: string): Promise<string> {
    const { status: got, json } = await work;
    expect([got, json.data?.errorCode], JSON.stringify(json)).to.deep.equal([status, code]);
    return json.data.message;
  }
  const workspaceKey = (): { key: string } => ({ key: plane.first.workspace_key });
  /** What the providers of a workspace are called, and the integrations they use. */
  const providersOf = async (workspace: string): Promise<[string, string][]> =>
    (await get(`/v1/providers?workspace_id=${workspace}`)).data
      .map(({ slug, integration_id }: Record<string, string>) => [slug, integration_id])
      .sort();

  describe('the records', () => {
    it('are not stored with a link-local or metadata address, but with a private one', async () => {
      const refused = 'is a link-local or metadata address';
      for (const host of [
        'http://169.254.169.254/v1',
        'https://[::ffff:a9fe:a9fe]',
        'http://2852039166',
        'http://metadata.google.internal./v1',
        'http://[fd00:ec2::254]:80',
        'http://100.100.100.200',
      ]) {
        const { status, json } = await create({ slug: 'linked', configurations: { custom_host: host } });
        expect(status, host).to.equal(400);
        expect(JSON.stringify(json)).to.include(`configurations.custom_host ${refused}`);
        expect(JSON.stringify(json)).to.include('egress_allow (HEADGATE_EGRESS_ALLOW)');
      }
      const provider = await plane.rest('POST', '/v1/providers', {
        workspace_id: plane.first.workspace_id,
        slug: 'linked',
        provider: 'openai',
        key: 'sk-linked',
        custom_host: 'http://169.254.169.254/v1',
      });
      expect(JSON.stringify(provider.json)).to.include(`custom_host ${refused}`);
      const made = await create({
        slug: 'linked',
        configurations: { custom_host: 'http://10.0.0.7:8000/v1' },
      });
      expect(made.status).to.equal(200);
      const changed = await plane.rest('PUT', '/v1/integrations/linked', {
        configurations: { custom_host: 'http://169.254.1.1' },
      });
      expect(JSON.stringify(changed.json)).to.include(refused);
      const model = await plane.rest('PUT', '/v1/integrations/linked/models', {
        models: [{ slug: 'm', enabled: true, configurations: { custom_host: 'http://169.254.1.1' } }],
      });
      expect(JSON.stringify(model.json)).to.include(`models[0].configurations.custom_host ${refused}`);
      await plane.rest('DELETE', '/v1/integrations/linked');
    });

    it('are created, read, listed, changed and deleted, with all fields but their secrets', async () => {
      const made = await create({
        slug: 'full',
        description: 'For all',
        configurations: {
          openai_organization: 'org-1',
          custom_host: 'https://llm.example/v1/',
          custom_headers: { 'X-Team': 'canary-header-01' },
        },
        pricing_adjustments: { multiplier: { default: 1.5, image: { default: 2 } } },
      });
      expect(made.json).to.deep.equal({ id: made.json.id, slug: 'full' });
      const { etag, created_at, last_updated_at, ...full } = await get('/v1/integrations/full');
      expect(created_at).to.match(time);
      expect(last_updated_at).to.match(time);
      expect(etag).to.be.a('string');
      expect(full.pricing_adjustments.multiplier).to.include({ default: 1.5, request_token: null });
      expect({ ...full, pricing_adjustments: null }).to.deep.equal({
        id: made.json.id,
        organisation_id: plane.first.organisation_id,
        ai_provider_id: 'openai',
        name: 'OpenAI',
        status: 'active',
        slug: 'full',
        description: 'For all',
        object: 'integration',
        workspace_id: null,
        masked_key: 'sk*****123',
        configurations: {
          openai_organization: 'org-1',
          custom_host: 'https://llm.example/v1',
          masked_custom_headers: { 'X-Team': 'ca*****-01' },
        },
        global_workspace_access_settings: { enabled: false, usage_limits: [], rate_limits: [] },
        allow_all_models: true,
        workspace_count: 0,
        secret_mappings: [],
        pricing_adjustments: null,
        last_reset_at: null,
      });
      const list = await get('/v1/integrations?type=organisation');
      expect(list).to.include({ object: 'list', total: list.data.length });
      expect(list.data[0]).to.have.all.keys(
        ...['id', 'organisation_id', 'ai_provider_id', 'name', 'status', 'created_at', 'last_updated_at'],
        ...['slug', 'description', 'object', 'workspace_id', 'etag'],
      );
      const changed = await put('/v1/integrations/full', { name: 'Renamed', description: null });
      expect(changed.json).to.deep.equal({});
      expect(await plane.admin.api.integrations.getIntegration({ slug: made.json.id })).to.deep.include({
        name: 'Renamed',
        configurations: full.configurations,
      });
      expect((await get('/v1/integrations/full')).description).to.equal(null);
      expect((await plane.rest('DELETE', '/v1/integrations/full')).json).to.deep.equal({});
      await no(plane.rest('GET', '/v1/integrations/full'), 404, 'AB08');
      expect((await get(`/v1/integrations/${made.json.id}`)).status).to.equal('archived');
      await no(put(`/v1/integrations/${made.json.id}`, { name: 'x' }), 404, 'AB08');
      expect((await create({ slug: 'full' })).status).to.equal(200);
    });

    it('keep their slug to themselves, and are changed only as they were read', async () => {
      expect((await create({ name: 'My own' })).json.slug).to.match(/^my-own-[0-9a-f]{6}$/);
      await create({ slug: 'twice' });
      expect(await no(create({ slug: 'twice' }), 409, 'AB07')).to.include('twice');
      const { etag } = await get('/v1/integrations/twice');
      await put('/v1/integrations/twice', { name: 'x' });
      const late = { headers: { 'if-match': `"${etag}"` } };
      await no(plane.rest('PUT', '/v1/integrations/twice', { name: 'y' }, late), 409, 'AB07');
      await no(plane.rest('DELETE', '/v1/integrations/twice', undefined, late), 409, 'AB07');
      await no(put('/v1/integrations/twice', { ai_provider_id: 'anthropic' }), 400, 'AB01');
      const repeat = { headers: { 'idempotency-key': 'once' } };
      const [a, b] = [await create({ slug: 'repeated' }, repeat), await create({ slug: 'repeated' }, repeat)];
      expect(a.json).to.deep.equal(b.json);
    });

    it('need what their provider needs, and take nothing else', async () => {
      const azure = {
        azure_auth_mode: 'default',
        azure_resource_name: 'r',
        azure_deployment_config: [
          { azure_api_version: 'v', azure_deployment_name: 'd', azure_model_slug: 'm', is_default: true },
        ],
      };
      const aws = { aws_auth_type: 'accessKey', aws_region: 'r', aws_access_key_id: 'i' };
      const bad: [object, string][] = [
        [{ ai_provider_id: 'nobody' }, 'ai_provider_id is no provider'],
        [{ key: undefined }, 'key is required for openai'],
        [{ key: 'a\nb' }, 'key must be one line'],
        [{ configurations: { aws_region: 'x' } }, 'configurations.aws_region is no field of openai'],
        [{ configurations: { custom_headers: { 'a b': 'x' } } }, 'custom_headers.a b is no name'],
        [{ configurations: { custom_headers: { Host: 'x' } } }, 'custom_headers.Host is a header that'],
        [{ configurations: { custom_headers: { a: 'x\ny' } } }, 'custom_headers.a must be one line'],
        [{ ai_provider_id: 'azure-openai' }, 'configurations.azure_auth_mode is required'],
        [
          { ai_provider_id: 'azure-openai', configurations: { ...azure, azure_deployment_config: [] } },
          'configurations.azure_deployment_config is required',
        ],
        [
          { ai_provider_id: 'azure-openai', configurations: { ...azure, azure_entra_client_id: 'x' } },
          'configurations.azure_entra_client_id goes with azure_auth_mode entra',
        ],
        [
          { ai_provider_id: 'azure-openai', configurations: { ...azure, azure_auth_mode: 'entra' } },
          'configurations.azure_entra_tenant_id is required',
        ],
        [
          { ai_provider_id: 'bedrock', configurations: aws },
          'configurations.aws_secret_access_key is required',
        ],
        [{ ai_provider_id: 'workers-ai' }, 'configurations.workers_ai_account_id is required'],
        [{ default_provider_slug: 'models' }, 'default_provider_slug must match'],
      ];
      for (const [body, message] of bad)
        expect(await no(create(body), 400, 'AB01'), JSON.stringify(body)).to.include(message);
      const good: object[] = [
        { ai_provider_id: 'azure-openai', configurations: azure },
        {
          ai_provider_id: 'bedrock',
          key: undefined,
          configurations: { ...aws, aws_secret_access_key: 'canary-secret-01' },
        },
        {
          ai_provider_id: 'vertex-ai',
          key: undefined,
          configurations: {
            vertex_auth_type: 'serviceAccount',
            vertex_region: 'r',
            vertex_service_account_json: { client_email: 'canary-mail', private_key: 'canary-private' },
          },
        },
        { key: undefined, configurations: { custom_host: 'https://own.example/v1' } },
      ];
      for (const body of good) {
        const { status, json } = await create(body);
        expect(status, JSON.stringify(json)).to.equal(200);
        expect(JSON.stringify(await get(`/v1/integrations/${json.slug}`))).to.not.include('canary');
      }
    });

    it('are not made of a provider that cannot be called, and the nearest that can is named', async () => {
      for (const name of ['cortex', 'palm', 'anyscale', 'no-such-provider', '__proto__']) {
        const message = await no(create({ ai_provider_id: name }), 400, 'AB01');
        expect(message).to.include(
          `ai_provider_id is no provider that the gateway can call: ${JSON.stringify(name)}`,
        );
      }
      for (const name of ['fireworks', 'together', 'together-ia']) {
        const message = await no(create({ ai_provider_id: name }), 400, 'AB01');
        expect(message)
          .to.include(`did you mean ${name.slice(0, 8)}`)
          .and.match(/-ai\?$/);
      }
      const stored = { workspace_id: 'default', slug: 'c', name: 'C', provider: 'cortex', key: 'k' };
      for (const path of ['/v1/providers', '/v1/virtual-keys'])
        expect(await no(plane.rest('POST', path, stored), 400, 'AB01'), path).to.include(
          'provider is no provider that the gateway can call: "cortex"',
        );
    });

    it('of servers of one’s own are not made, nor changed, without a base URL', async () => {
      for (const ai_provider_id of ['ollama', 'vllm', 'lm-studio', 'openai-compatible', 'databricks']) {
        const bare = { ai_provider_id, key: undefined, slug: `own-${ai_provider_id}` };
        expect(await no(create({ ...bare, key: 'k' }), 400, 'AB01')).to.include(
          `configurations.custom_host is required for ${ai_provider_id}, which has no address of its own`,
        );
        const custom_host = 'http://10.0.0.8:11434/v1';
        expect((await create({ ...bare, key: 'k', configurations: { custom_host } })).status).to.equal(200);
        expect(
          await no(put(`/v1/integrations/own-${ai_provider_id}`, { configurations: null }), 400, 'AB01'),
        ).to.include('configurations.custom_host is required');
        expect((await put(`/v1/integrations/own-${ai_provider_id}`, { name: 'Ours' })).status).to.equal(200);
        await plane.rest('DELETE', `/v1/integrations/own-${ai_provider_id}`);
      }
    });

    it('nor are providers and virtual keys of such servers', async () => {
      const stored = { workspace_id: 'default', name: 'Own', provider: 'ollama' };
      for (const path of ['/v1/providers', '/v1/virtual-keys']) {
        const slug = path.slice(4);
        expect(await no(plane.rest('POST', path, { ...stored, slug }), 400, 'AB01'), path).to.include(
          'custom_host is required for ollama, which has no address of its own',
        );
        const custom_host = 'http://10.0.0.8:11434/v1';
        const made = await plane.rest('POST', path, { ...stored, slug, custom_host });
        expect(made.status, JSON.stringify(made.json)).to.equal(200);
        const at = `${path}/${slug}?workspace_id=default`;
        expect(await no(put(at, { custom_host: null }), 400, 'AB01'), path).to.include(
          'custom_host is required',
        );
        expect((await put(at, { note: 'Ours' })).status, path).to.equal(200);
        await plane.rest('DELETE', at);
      }
    });

    it('keep secrets that an update does not name, and drop those of another way to sign in', async () => {
      const aws = { aws_auth_type: 'accessKey', aws_region: 'r', aws_access_key_id: 'i' };
      const secret = { aws_secret_access_key: 'canary-secret-01' };
      await create({ slug: 'aws', ai_provider_id: 'bedrock', configurations: { ...aws, ...secret } });
      await put('/v1/integrations/aws', { configurations: { ...aws, aws_region: 'elsewhere' } });
      expect((await get('/v1/integrations/aws')).configurations).to.deep.equal({
        ...aws,
        aws_region: 'elsewhere',
        masked_aws_secret_access_key: 'ca*****-01',
      });
      const role = { aws_auth_type: 'assumedRole', aws_region: 'r', aws_role_arn: 'arn' };
      expect((await put('/v1/integrations/aws', { configurations: role })).status).to.equal(200);
      expect((await get('/v1/integrations/aws')).configurations).to.deep.equal(role);
      expect(await no(put('/v1/integrations/aws', { configurations: null }), 400, 'AB01')).to.include(
        'configurations.aws_auth_type is required',
      );
      await create({ slug: 'keyed' });
      expect(await no(put('/v1/integrations/keyed', { key: null }), 400, 'AB01')).to.include(
        'key is required',
      );
    });

    it('map no part of their credential to secret references that do not exist', async () => {
      const map = (target_field: string): object => ({ target_field, secret_reference_id: 'vault' });
      const mapped = {
        slug: 'mapped',
        key: undefined,
        ai_provider_id: 'workers-ai',
        secret_mappings: [map('key'), map('configurations.workers_ai_account_id')],
      };
      const unknown = /^secret_mappings\[0\]\.secret_reference_id: there is no secret reference "vault"/;
      expect(await no(create(mapped), 404, 'AB02')).to.match(unknown);
      await create({ slug: 'unmapped' });
      const change = { secret_mappings: [map('key')] };
      expect(await no(put('/v1/integrations/unmapped', change), 404, 'AB02')).to.match(unknown);
      expect((await put('/v1/integrations/unmapped', { secret_mappings: [] })).status).to.equal(200);
      const bad: [object[], string][] = [
        [[map('key'), map('key')], 'secret_mappings[1].target_field repeats key'],
        [
          [map('model_config.openai_project')],
          'secret_mappings[0].target_field must be one of these for openai: key, configurations.custom_host',
        ],
        [
          [map('configurations.colour')],
          'secret_mappings[0].target_field must be one of these for openai: key, configurations.custom_host',
        ],
        [
          [map('configurations.aws_region')],
          'secret_mappings[0].target_field must be one of these for openai',
        ],
      ];
      for (const [secret_mappings, message] of bad)
        expect(await no(create({ secret_mappings }), 400, 'AB01')).to.include(message);
    });
  });

  describe('of the organisation and of workspaces', () => {
    it('are seen by those who may use them', async () => {
      await create({ slug: 'org-only' });
      await create({ slug: 'ws-one', workspace_id: 'default', create_default_provider: false });
      await create({ slug: 'ws-two', workspace_id: 'other', create_default_provider: false });
      const made = await create({ slug: 'ws-own', create_default_provider: false }, workspaceKey());
      expect(made.status).to.equal(200);
      const seen = async (query: string, options: object = {}): Promise<string[]> =>
        (await plane.rest('GET', `/v1/integrations?page_size=100${query}`, undefined, options)).json.data
          .map(({ slug }: { slug: string }) => slug)
          .filter((slug: string) => /^(org-only|ws-)/.test(slug))
          .sort();
      expect(await seen('')).to.deep.equal(['org-only', 'ws-one', 'ws-own', 'ws-two']);
      expect(await seen('&type=organisation')).to.deep.equal(['org-only']);
      expect(await seen('&type=workspace')).to.deep.equal(['ws-one', 'ws-own', 'ws-two']);
      expect(await seen('&workspace_id=other')).to.deep.equal(['ws-two']);
      expect(await seen('', workspaceKey())).to.deep.equal(['ws-one', 'ws-own']);
      await put('/v1/integrations/org-only/workspaces', {
        workspaces: [{ id: 'default', enabled: true, create_default_provider: false }],
      });
      expect(await seen('', workspaceKey())).to.deep.equal(['org-only', 'ws-one', 'ws-own']);
      expect(await seen('&type=all&workspace_id=default')).to.deep.equal(['org-only', 'ws-one', 'ws-own']);
    });

    it('answer to others as if they did not exist, and to who only uses them that they may not', async () => {
      const { api } = plane.workspace;
      const foreign = await refused(api.integrations.getIntegration({ slug: 'ws-two' }), 'NOT_FOUND', 'AB08');
      const nothing = await refused(api.integrations.getIntegration({ slug: 'none' }), 'NOT_FOUND', 'AB08');
      expect(foreign).to.equal(nothing);
      await refused(api.integrations.updateIntegration({ slug: 'ws-two', name: 'x' }), 'NOT_FOUND', 'AB08');
      await refused(api.integrations.deleteIntegration({ slug: 'ws-two' }), 'NOT_FOUND', 'AB08');
      await refused(api.integrations.getIntegration({ slug: 'org-only' }), 'PERMISSION_DENIED', 'AB03');
      await refused(
        api.integrations.listIntegrationWorkspaces({ slug: 'org-only' }),
        'PERMISSION_DENIED',
        'AB03',
      );
      await refused(api.integrations.createIntegration({ name: 'x' }), 'INVALID_ARGUMENT', 'AB01');
      await no(plane.rest('GET', '/v1/integrations/ws-two?workspace_id=default'), 404, 'AB08');
      await no(create({ workspace_id: 'nowhere' }), 404, 'AB02');
      const made = await plane.store.integrations.create(plane.first.organisation_id, {
        name: 'x',
        provider: 'openai',
        workspaceId: 'nowhere',
        hostTrusted: true,
        key: new Secret('x'),
      });
      expect(made).to.equal('missing');
    });

    it('come with a provider in their workspace, unless it is not wanted', async () => {
      await create({ slug: 'with', workspace_id: 'other' });
      await create({ slug: 'named', workspace_id: 'other', default_provider_slug: 'chosen' });
      const taken = create({ workspace_id: 'other', default_provider_slug: 'chosen' });
      expect(await no(taken, 400, 'AB01')).to.include('default_provider_slug is taken');
      expect(await providersOf('other')).to.deep.include.members([
        ['with', 'with'],
        ['chosen', 'named'],
      ]);
    });

    it('are not deleted while providers depend on them', async () => {
      expect(await no(plane.rest('DELETE', '/v1/integrations/with'), 409, 'AB07')).to.equal(
        'slug: with is still used by provider with of workspace other: delete it first.',
      );
      await plane.rest('DELETE', '/v1/providers/with?workspace_id=other');
      expect((await plane.rest('DELETE', '/v1/integrations/with')).status).to.equal(200);
    });
  });

  describe('their workspaces', () => {
    const path = '/v1/integrations/lent/workspaces';
    before(() => create({ slug: 'lent', default_provider_slug: 'of-lent' }));
    const rows = async (): Promise<unknown[]> =>
      (await get(path)).workspaces.map(({ id, enabled, usage_limits, rate_limits }: RestResult['json']) => [
        id === plane.other ? 'other' : 'default',
        enabled,
        usage_limits?.[0]?.credit_limit ?? null,
        rate_limits?.[0]?.value ?? null,
      ]);

    it('are none at first, and those that are given access get limits and a provider', async () => {
      expect(await get(path)).to.deep.equal({ total: 0, workspaces: [] });
      const answer = await put(path, {
        workspaces: [
          {
            id: 'default',
            enabled: true,
            usage_limits: [{ type: 'cost', credit_limit: 10, alert_threshold: 5, periodic_reset: 'monthly' }],
            rate_limits: [{ type: 'requests', unit: 'rpm', value: 60 }],
          },
        ],
      });
      expect(answer.json).to.deep.equal({});
      const { workspaces } = await get(path);
      expect(workspaces[0].id).to.equal(plane.first.workspace_id).and.match(uuid);
      expect(workspaces[0].usage_limits[0]).to.include({
        type: 'cost',
        credit_limit: 10,
        alert_threshold: 5,
        periodic_reset: 'monthly',
        current_usage: 0,
        status: 'active',
      });
      expect(workspaces[0].usage_limits[0].next_usage_reset_at).to.match(/-01T00:00:00\.000Z$/);
      expect((await get('/v1/integrations/lent')).workspace_count).to.equal(1);
      expect(await providersOf('default')).to.deep.include(['of-lent', 'lent']);
    });

    it('allow every workspace where access is global, except those that are excluded', async () => {
      await put(path, {
        workspaces: [{ id: 'default', enabled: false }],
        global_workspace_access: { enabled: true, usage_limits: [{ credit_limit: 7 }] },
        create_default_provider: false,
      });
      expect(await rows()).to.deep.equal([
        ['default', false, 7, null],
        ['other', true, 7, null],
      ]);
      const { global_workspace_access_settings, workspace_count } = await get('/v1/integrations/lent');
      expect(global_workspace_access_settings).to.deep.include({ enabled: true });
      expect(global_workspace_access_settings.usage_limits[0]).to.include({ credit_limit: 7 });
      expect(workspace_count).to.equal(1);
      expect(await providersOf('other')).to.not.deep.include(['of-lent', 'lent']);
      await put(path, { override_existing_workspace_access: true });
      expect(await rows()).to.deep.equal([
        ['default', true, 7, null],
        ['other', true, 7, null],
      ]);
      await put(path, { global_workspace_access: { enabled: false } });
      expect(await rows()).to.deep.equal([['default', true, 7, null]]);
    });

    it('restart their usage on request', async () => {
      const found = await plane.store.providers.find(plane.first.workspace_id, 'of-lent');
      await plane.spend(found!.budgets!.find(({ of }) => of === 'integration')!, 9_000_000_000);
      const limits = { id: 'default', enabled: true, usage_limits: [{ credit_limit: 8 }] };
      await put(path, { workspaces: [limits] });
      const state = async (): Promise<object> => (await get(path)).workspaces[0].usage_limits[0];
      expect(await state()).to.include({ current_usage: 9, status: 'exhausted' });
      expect(
        await no(
          put(path, { workspaces: [{ ...limits, usage_limits: [{ type: 'tokens', credit_limit: 8 }] }] }),
          400,
          'AB01',
        ),
      ).to.include('workspaces[0].usage_limits[0].type');
      await put(path, { workspaces: [{ ...limits, reset_usage: true }] });
      expect(await state()).to.include({ current_usage: 0, status: 'active' });
      expect((await get('/v1/integrations/lent')).last_reset_at).to.match(time);
    });

    it('keep their limits when only their usage is reset', async () => {
      const rate = { type: 'requests', unit: 'rpm', value: 60 };
      const limits = { usage_limits: [{ type: 'cost', credit_limit: 9 }], rate_limits: [rate] };
      await put(path, { workspaces: [{ id: 'default', enabled: true, ...limits }] });
      await put(path, { workspaces: [{ id: 'default', enabled: true, reset_usage: true }] });
      const [row] = (await get(path)).workspaces;
      expect(row.usage_limits[0]).to.include({ credit_limit: 9, current_usage: 0 });
      expect(row.rate_limits).to.deep.equal([rate]);
      await put(path, { workspaces: [{ id: 'default', enabled: true }] });
      expect((await get(path)).workspaces[0]).to.include({ rate_limits: null });
    });

    it('must exist, be named once, and may not be another one of a workspace', async () => {
      const one = { id: 'default', enabled: true };
      expect(await no(put(path, { workspaces: [{ ...one, id: 'nowhere' }] }), 404, 'AB02')).to.include(
        'workspaces[0].id',
      );
      const twice = [one, { ...one, id: plane.first.workspace_id }];
      expect(await no(put(path, { workspaces: twice }), 400, 'AB01')).to.include('workspaces[1].id');
      const limits = [{ ...one, usage_limits: [{ credit_limit: 5, alert_threshold: 6 }] }];
      expect(await no(put(path, { workspaces: limits }), 400, 'AB01')).to.include(
        'workspaces[0].usage_limits[0].alert_threshold must be below',
      );
      const slug = [{ id: 'other', enabled: true, default_provider_slug: 'chosen' }];
      expect(await no(put(path, { workspaces: slug }), 400, 'AB01')).to.include(
        'workspaces[0].default_provider_slug is taken',
      );
      expect(
        await no(put('/v1/integrations/ws-one/workspaces', { workspaces: [one] }), 400, 'AB01'),
      ).to.include('one workspace');
      expect((await get('/v1/integrations/ws-one/workspaces')).workspaces[0]).to.deep.equal({
        id: plane.first.workspace_id,
        enabled: true,
        usage_limits: null,
        rate_limits: null,
      });
    });
  });

  describe('their models', () => {
    const path = '/v1/integrations/lent/models';
    const modelIn = ({ models }: RestResult['json'], slug: string): object =>
      models.find((one: { slug: string }) => one.slug === slug);

    it('are turned on and off, added and deleted', async () => {
      const pricing_config = {
        type: 'static',
        pay_as_you_go: { request_token: { price: 0.1 }, response_token: { price: 0.2 } },
      };
      const own = { slug: 'mine', enabled: true, is_custom: true, pricing_config };
      const off = { slug: 'gpt-4o', enabled: false };
      expect((await put(path, { models: [own, off], allow_all_models: false })).json).to.deep.equal({});
      const list = await get(path);
      expect(list).to.deep.include({ total: list.models.length, allow_all_models: false });
      const blank = { is_finetune: false, base_model_slug: null, configurations: null };
      expect(modelIn(list, 'mine')).to.deep.equal({ ...blank, ...own, name: 'mine' });
      const others = { name: 'gpt-4o', is_custom: false, pricing_config: null };
      expect(modelIn(list, 'gpt-4o')).to.deep.equal({ ...blank, ...off, ...others });
      // The catalogue's others are as allow_all_models says.
      expect(modelIn(list, 'gpt-4o-mini')).to.include({ enabled: false, is_custom: false });
      await put(path, {
        models: [{ slug: 'mine', enabled: false, configurations: { custom_host: 'https://m/v1/' } }],
      });
      const changed = await get(path);
      expect(changed.allow_all_models).to.equal(false);
      expect(modelIn(changed, 'mine')).to.deep.include({
        enabled: false,
        is_custom: true,
        pricing_config,
        configurations: { custom_host: 'https://m/v1' },
      });
      expect(await no(plane.rest('DELETE', `${path}?slugs=gpt-4o`), 400, 'AB01')).to.include('slugs[0]');
      expect(await no(plane.rest('DELETE', `${path}?slugs=mine,none`), 404, 'AB02')).to.include('slugs[1]');
      expect((await plane.rest('DELETE', `${path}?slugs=mine`)).json).to.deep.equal({});
      expect(modelIn(await get(path), 'mine')).to.equal(undefined);
    });

    it('are created once, with a reference to what they were made from', async () => {
      const twice = {
        models: [
          { slug: 'a', enabled: true },
          { slug: 'a', enabled: true },
        ],
      };
      expect(await no(put(path, twice), 400, 'AB01')).to.include('models[1].slug');
      const tuned = { models: [{ slug: 'a', enabled: true, is_finetune: true }] };
      expect(await no(put(path, tuned), 400, 'AB01')).to.include('models[0].base_model_slug is required');
    });
  });

  it('of a workspace send what is stored to another host by the word of the organisation alone', async () => {
    await create({ slug: 'bound', create_default_provider: false }, workspaceKey());
    const elsewhere = { configurations: { custom_host: 'https://thief.example/v1' } };
    const change = (body: object, path = ''): Promise<RestResult> =>
      plane.rest('PUT', `/v1/integrations/bound${path}`, body, workspaceKey());
    expect(await no(change(elsewhere), 400, 'AB01')).to.include('configurations.custom_host is another host');
    const model = { slug: 'm', enabled: true, ...elsewhere };
    await no(change({ models: [model] }, '/models'), 403, 'AB03');
    expect((await change({ ...elsewhere, key: 'sk-of-theirs-01' })).status).to.equal(200);
    expect(
      (await put('/v1/integrations/bound', { configurations: { custom_host: 'https://b/v1' } })).status,
    ).to.equal(200);
  });

  describe('changed', () => {
    it('make the workers look up each of their providers again when they change', async () => {
      const told = async (work: () => Promise<RestResult>): Promise<object[]> => {
        plane.forgotten.length = 0;
        expect((await work()).status).to.equal(200);
        return [...plane.forgotten];
      };
      const provider = { kind: 'provider', workspace: plane.first.workspace_id, name: 'of-lent' };
      const at = '/v1/integrations/lent';
      expect(await told(() => put(at, { key: 'sk-another-0123' }))).to.deep.equal([provider]);
      expect(await told(() => put(`${at}/models`, { allow_all_models: true }))).to.deep.equal([provider]);
      const off = { workspaces: [{ id: 'default', enabled: false }] };
      expect(await told(() => put(`${at}/workspaces`, off))).to.deep.equal([provider]);
    });

    it('leave no secret in audit rows', async () => {
      await create({ slug: 'audited', configurations: { custom_headers: { 'X-Key': 'canary-header-02' } } });
      const { records } = await get(
        '/v1/audit-logs?start_time=2020-01-01T00:00:00Z&end_time=2099-01-01T00:00:00Z&page_size=100',
      );

      const row = records.find(({ request_body }: { request_body: string }) =>
        JSON.stringify(request_body).includes('audited'),
      );
      expect(row).to.include({ resource_type: 'integration', action: 'create' });
      expect(JSON.stringify(records)).to.not.include('canary');
      expect(plane.logged.join('\n')).to.not.include('canary');
    });
  });
});
