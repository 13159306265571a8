import { expect } from 'chai';
import {
  type AdminPlane,
  type RestOptions,
  type RestResult,
  refused,
  startPlane,
} from '../support/admin-plane.js';

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const future = '2090-01-01T00:00:00.000Z';

describe('providers and virtual keys over the administration plane', () => {
  let plane: AdminPlane;
  let inDefault: RestOptions;
  before(async () => {
    plane = await startPlane();
    inDefault = { key: plane.first.workspace_key };
    for (const slug of ['lent', 'closed'])
      await plane.rest('POST', '/v1/integrations', {
        slug,
        name: 'OpenAI',
        ai_provider_id: 'openai',
        key: 'sk-canary-key-0123',
      });
    await plane.rest('PUT', '/v1/integrations/lent/workspaces', {
      workspaces: [{ id: 'default', enabled: true, create_default_provider: false }],
    });
  });
  after(() => plane.close());

  const ask = (verb: string, path: string, body?: object, options = inDefault): Promise<RestResult> =>
    plane.rest(verb, path, body, options);
  const get = async (path: string): Promise<RestResult['json']> => (await ask('GET', path)).json;
  async function no(work: Promise<RestResult>, status: number, code: string): Promise<string> {
    const { status: got, json } = await work;
    expect([got, json.data?.errorCode], JSON.stringify(json)).to.deep.equal([status, code]);
    return json.data.message;
  }
  const provider = (body: object, options = inDefault): Promise<RestResult> =>
    ask('POST', '/v1/providers', body, options);
  const virtualKey = (body: object): Promise<RestResult> =>
    ask('POST', '/v1/virtual-keys', { name: 'VK', provider: 'openai', key: 'sk-canary-key-0123', ...body });

  describe('providers', () => {
    it('are made of an integration, read, listed, changed and deleted', async () => {
      const made = await provider({
        slug: 'mine',
        name: 'Mine',
        integration_id: 'lent',
        note: 'n',
        usage_limits: { credit_limit: 5, alert_threshold: 4, periodic_reset: 'weekly' },
        rate_limits: [{ type: 'tokens', unit: 'rpd', value: 1000 }],
        expires_at: future,
        tags: { team: 'a' },
      });
      expect(made.json).to.deep.equal({ id: made.json.id, slug: 'mine' });
      const { usage_limits, etag, created_at, last_updated_at, ...rest } = await get('/v1/providers/mine');
      expect([created_at, last_updated_at].every((text) => time.test(text))).to.equal(true);
      expect(etag).to.be.a('string');
      expect(usage_limits).to.include({ type: 'cost', credit_limit: 5, current_usage: 0, status: 'active' });
      expect(rest).to.deep.equal({
        id: made.json.id,
        slug: 'mine',
        name: 'Mine',
        note: 'n',
        provider: 'openai',
        masked_api_key: 'sk*****123',
        custom_host: null,
        status: 'active',
        workspace_id: plane.first.workspace_id,
        object: 'provider',
        integration_id: 'lent',
        rate_limits: [{ type: 'tokens', unit: 'rpd', value: 1000 }],
        reset_usage: null,
        expires_at: future,
        last_reset_at: null,
        last_used_at: null,
        secret_mappings: [],
        tags: { team: 'a' },
      });
      const changed = await ask('PUT', '/v1/providers/mine', { name: 'Two', note: null, expires_at: null });
      expect(changed.json).to.deep.equal(made.json);
      expect(await plane.workspace.api.providers.getProvider({ slug: made.json.id })).to.include({
        name: 'Two',
      });
      expect(await get('/v1/providers/mine')).to.include({ note: null, expires_at: null });
      const list = await get('/v1/providers?page_size=1');
      expect(list).to.include({ object: 'list', total: 1 });
      expect((await get('/v1/providers?tags=team:a')).total).to.equal(1);
      expect((await get('/v1/providers?tags=team:b')).total).to.equal(0);
      expect((await ask('DELETE', '/v1/providers/mine')).json).to.deep.equal({});
      await no(ask('GET', '/v1/providers/mine'), 404, 'AB08');
      await no(ask('DELETE', '/v1/providers/mine'), 404, 'AB08');
    });

    it('are made with a credential of their own, in the fields that the specification gives', async () => {
      const made = await provider({
        slug: 'own',
        ai_provider_id: 'openai',
        key: 'sk-canary-key-0123',
        openaiOrganization: 'org-1',
        custom_headers: { 'X-Team': 'canary-header-01' },
        custom_host: 'https://llm.example/v1/',
      });
      expect(made.status, JSON.stringify(made.json)).to.equal(200);
      const read = await get('/v1/providers/own');
      expect(read).to.include({ name: 'own', custom_host: 'https://llm.example/v1', integration_id: null });
      expect(JSON.stringify(read)).to.not.include('canary');
      await ask('PUT', '/v1/providers/own', {
        openaiOrganization: null,
        openaiProject: 'p',
        key: 'sk-new-key-99',
      });
      const found = await plane.store.providers.find(plane.first.workspace_id, 'own');
      expect(found).to.deep.include({ credential: 'sk-new-key-99', headers: ['x-team', 'canary-header-01'] });
      expect(found?.fields).to.deep.equal({ openai_project: 'p' });
    });

    it("have an address that passes as a caller's unless the organisation gave it", async () => {
      const trusted = async (slug: string): Promise<boolean | undefined> =>
        (await plane.store.providers.find(plane.first.workspace_id, slug))?.hostTrusted;
      expect(await trusted('own')).to.equal(false);
      const body = { custom_host: 'https://llm.example/v2' };
      await plane.rest('PUT', '/v1/providers/own?workspace_id=default', body);
      expect(await trusted('own')).to.equal(true);
      await ask('PUT', '/v1/providers/own', { name: 'Renamed' });
      expect(await trusted('own')).to.equal(true);
      const elsewhere = { custom_host: 'https://llm.example/v3' };
      expect(await no(ask('PUT', '/v1/providers/own', elsewhere), 400, 'AB01')).to.include(
        'custom_host is another host than the stored credential was given for',
      );
      const anew = { ...elsewhere, key: 'sk-new-key-99', custom_headers: { 'X-Team': 'canary-header-01' } };
      expect((await ask('PUT', '/v1/providers/own', anew)).status).to.equal(200);
      expect(await trusted('own')).to.equal(false);
    });

    it('are refused where their fields do not fit', async () => {
      const bad: [object, number, string, string][] = [
        [{ name: 'x' }, 400, 'AB01', 'provider is required'],
        [{ name: 'x', provider: 'nobody' }, 400, 'AB01', 'provider is no provider'],
        [{ name: 'x', provider: 'openai', slug: 'models' }, 400, 'AB01', 'slug must match'],
        [{ name: 'x', provider: 'openai', awsRegion: 'r' }, 400, 'AB01', 'awsRegion is no field of openai'],
        [{ name: 'x', integration_id: 'closed' }, 404, 'AB02', 'integration_id'],
        [{ name: 'x', integration_id: 'none' }, 404, 'AB02', 'integration_id'],
        [{ name: 'x', integration_id: 'lent', key: 'k' }, 400, 'AB01', 'key does not go with integration_id'],
        [{ name: 'x', integration_id: 'lent', provider: 'anthropic' }, 400, 'AB01', 'provider is openai'],
        [
          { name: 'x', integration_id: 'lent', expires_at: '2020-01-01T00:00:00Z' },
          400,
          'AB01',
          'expires_at must be',
        ],
        [{ name: 'x', integration_id: 'lent', tags: { a: 1 } }, 400, 'AB01', 'tags.a must be text'],
        [
          {
            name: 'x',
            integration_id: 'lent',
            rate_limits: [
              { type: 'requests', unit: 'rpm', value: 1 },
              { type: 'requests', unit: 'rph', value: 1 },
            ],
          },
          400,
          'AB01',
          'rate_limits[1].type',
        ],
        [
          {
            name: 'x',
            integration_id: 'lent',
            usage_limits: { credit_limit: 5, periodic_reset: 'weekly', periodic_reset_days: 3 },
          },
          400,
          'AB01',
          'usage_limits.periodic_reset_days',
        ],
      ];
      for (const [body, status, code, message] of bad)
        expect(await no(provider(body), status, code), JSON.stringify(body)).to.include(message);
      await provider({ slug: 'of-lent', integration_id: 'lent' });
      const key = await no(ask('PUT', '/v1/providers/of-lent', { key: 'x' }), 400, 'AB01');
      expect(key).to.include("key is the integration's: change it in lent");
      expect(await no(provider({ slug: 'of-lent', integration_id: 'lent' }), 409, 'AB07')).to.include(
        'of-lent',
      );
      await no(ask('PUT', '/v1/providers/of-lent', { integration_id: 'closed' }), 400, 'AB01');
    });

    it('are of their workspace, and to all others as if they did not exist', async () => {
      await provider({ slug: 'theirs', provider: 'openai', workspace_id: 'other' }, {});
      const { api } = plane.workspace;
      const foreign = await refused(api.providers.getProvider({ slug: 'theirs' }), 'NOT_FOUND', 'AB08');
      const nothing = await refused(api.providers.getProvider({ slug: 'none' }), 'NOT_FOUND', 'AB08');
      expect(foreign).to.equal(nothing);
      await refused(api.providers.updateProvider({ slug: 'theirs', name: 'x' }), 'NOT_FOUND', 'AB08');
      await refused(api.virtualKeys.deleteVirtualKey({ slug: 'theirs' }), 'NOT_FOUND', 'AB08');
      await no(ask('GET', '/v1/providers?workspace_id=other'), 404, 'AB02');
    });

    it('are changed only as they were read, and made once for one request', async () => {
      const { etag } = await get('/v1/providers/of-lent');
      await ask('PUT', '/v1/providers/of-lent', { name: 'x' });
      const late = { ...inDefault, headers: { 'if-match': `"${etag}"` } };
      await no(ask('PUT', '/v1/providers/of-lent', { name: 'y' }, late), 409, 'AB07');
      await no(ask('DELETE', '/v1/providers/of-lent', undefined, late), 409, 'AB07');
      const once = { ...inDefault, headers: { 'idempotency-key': 'p1' } };
      const body = { name: 'Repeated', provider: 'openai' };
      expect((await provider(body, once)).json).to.deep.equal((await provider(body, once)).json);
    });

    it('expire, run out, and come back', async () => {
      const place = { organisationId: plane.first.organisation_id, workspaceId: plane.first.workspace_id };
      const status = async (): Promise<string> => (await get('/v1/providers/of-lent')).status;
      await plane.store.providers.update(place, 'of-lent', { expiresAt: 1 });
      expect(await status()).to.equal('expired');
      await ask('PUT', '/v1/providers/of-lent', { expires_at: null, usage_limits: { credit_limit: 5 } });
      expect(await status()).to.equal('active');
      const spend = async (amount: number): Promise<void> => {
        const found = await plane.store.providers.find(place.workspaceId, 'of-lent');
        await plane.spend(found!.budgets!.find(({ of }) => of === 'virtual_key')!, amount);
      };
      await spend(5_000_000_000);
      expect(await status()).to.equal('exhausted');
      const face = (await ask('GET', '/v1/virtual-keys/of-lent')).json;
      expect([face.status, face.usage_limits.current_usage]).to.deep.equal(['exhausted', 5]);
      await ask('PUT', '/v1/providers/of-lent', { usage_limits: { credit_limit: 6 } });
      expect(await status()).to.equal('active');
      await spend(2_000_000_000);
      expect(await status()).to.equal('exhausted');
      await ask('PUT', '/v1/providers/of-lent', { reset_usage: true });
      const read = await get('/v1/providers/of-lent');
      expect(read.usage_limits).to.include({ current_usage: 0, credit_limit: 6, status: 'active' });
      expect(read.last_reset_at).to.match(time);
      await ask('PUT', '/v1/providers/of-lent', { usage_limits: null });
      expect((await get('/v1/providers/of-lent')).usage_limits).to.equal(null);
    });

    it('take over a credential only as a whole, from one in their workspace', async () => {
      const { id } = await get('/v1/providers/own');
      const body = { slug: 'twin', source_provider_api_key_id: id };
      expect((await provider(body)).status).to.equal(200);
      const found = await plane.store.providers.find(plane.first.workspace_id, 'twin');
      expect(found).to.include({ credential: 'sk-new-key-99', baseUrl: 'https://llm.example/v3' });
      const elsewhere = { ...body, slug: 'thief', custom_host: 'https://thief.example' };
      expect(await no(provider(elsewhere), 400, 'AB01')).to.include('custom_host does not go with');
      await no(provider({ ...body, slug: 'far', workspace_id: 'other' }, {}), 404, 'AB02');
      await no(provider({ ...body, slug: 'x', provider: 'anthropic' }), 400, 'AB01');
    });
  });

  it('are found without workspace_id where only one workspace has them', async () => {
    const organisation = { key: plane.first.admin_key };
    for (const [path, slug, rest] of [
      ['/v1/providers', 'one-place', { integration_id: 'lent' }],
      ['/v1/virtual-keys', 'one-place-key', { provider: 'openai', key: 'sk-canary-key-0123' }],
    ] as const) {
      expect((await ask('POST', path, { name: 'N', slug, ...rest })).status).to.equal(200);
      const read = await ask('GET', `${path}/${slug}`, undefined, organisation);
      expect([read.status, read.json.slug], path).to.deep.equal([200, slug]);
      expect((await ask('PUT', `${path}/${slug}`, { name: 'M' }, organisation)).status).to.equal(200);
      const again = { name: 'N', slug, workspace_id: 'other', provider: 'openai', key: 'sk-canary-key-0123' };
      expect((await ask('POST', path, again, organisation)).status).to.equal(200);
      const message = await no(ask('GET', `${path}/${slug}`, undefined, organisation), 400, 'AB01');
      expect(message).to.include('workspace_id is required: several workspaces have a');
      const other = `${path}/${slug}?workspace_id=other`;
      expect((await ask('DELETE', other, undefined, organisation)).status).to.equal(200);
      expect((await ask('DELETE', `${path}/${slug}`, undefined, organisation)).status).to.equal(200);
      await no(ask('DELETE', `${path}/${slug}`, undefined, organisation), 404, 'AB08');
    }
  });

  describe('virtual keys', () => {
    it('are the same records by their older name', async () => {
      const made = await virtualKey({ slug: 'vk', note: 'n', custom_headers: { a: 'canary-header-02' } });
      expect(made.json).to.deep.equal({
        success: true,
        data: { id: made.json.data.id, slug: 'vk', object: 'virtual-key' },
      });
      const { etag, created_at, last_updated_at, ...read } = await get('/v1/virtual-keys/vk');
      expect(etag).to.equal((await get('/v1/providers/vk')).etag);
      expect([created_at, last_updated_at].every((text) => time.test(text))).to.equal(true);
      expect(read).to.deep.equal({
        id: made.json.data.id,
        slug: 'vk',
        name: 'VK',
        note: 'n',
        status: 'active',
        provider: 'openai',
        ai_provider_name: 'openai',
        organisation_id: plane.first.organisation_id,
        workspace_id: plane.first.workspace_id,
        workspace_name: 'default',
        integration_id: null,
        masked_api_key: 'sk*****123',
        key: '',
        model_config: { masked_custom_headers: { a: 'ca*****-02' } },
        usage_limits: null,
        rate_limits: [],
        reset_usage: null,
        expires_at: null,
        last_reset_at: null,
        last_used_at: null,
        secret_mappings: [],
        tags: null,
        object: 'virtual-key',
      });
      const { data, total } = await get('/v1/virtual-keys?page_size=1000&current_page=0');
      expect(total).to.equal((await get('/v1/providers')).total);
      const row = data.find(({ slug }: { slug: string }) => slug === 'vk');
      expect(row).to.deep.include({ model_config: null, workspace_name: 'default' });
      const change = { name: 'Two', key: 'sk-other-key-77', usage_limits: { credit_limit: 3 } };
      expect((await ask('PUT', '/v1/virtual-keys/vk', change)).json).to.deep.equal({});
      expect(await get('/v1/providers/vk')).to.include({ name: 'Two', masked_api_key: 'sk*****-77' });
      expect((await ask('DELETE', '/v1/virtual-keys/vk')).json).to.deep.equal({});
      await no(ask('GET', '/v1/virtual-keys/vk'), 404, 'AB08');
      expect(await get('/v1/virtual-keys/of-lent')).to.deep.include({
        integration_id: 'lent',
        model_config: {},
      });
    });

    it('need a key, map none to references that do not exist, and know older names of providers', async () => {
      expect(await no(virtualKey({ key: undefined }), 400, 'AB01')).to.include('key is required for openai');
      const mapping = { target_field: 'key', secret_reference_id: 'vault' };
      const unknown = virtualKey({ slug: 'mapped', key: undefined, secret_mappings: [mapping] });
      expect(await no(unknown, 404, 'AB02')).to.match(
        /^secret_mappings\[0\]\.secret_reference_id: there is no secret reference "vault"/,
      );
      await no(ask('GET', '/v1/virtual-keys/mapped'), 404, 'AB08');
      const wrong = { target_field: 'configurations.openai_project', secret_reference_id: 'vault' };
      await no(virtualKey({ secret_mappings: [wrong] }), 400, 'AB01');
      await virtualKey({ slug: 'older', provider: 'open-ai' });
      expect((await get('/v1/virtual-keys/older')).provider).to.equal('openai');
      const deployment = { apiVersion: 'v', deploymentName: 'd' };
      const azure = { provider: 'azure-openai', resourceName: 'r', deploymentConfig: [deployment] };
      expect(await no(virtualKey(azure), 400, 'AB01')).to.include('deploymentConfig[0].alias is required');
      const good = { ...azure, slug: 'azure', deploymentConfig: [{ ...deployment, alias: 'a' }] };
      expect((await virtualKey(good)).status).to.equal(200);
      expect((await get('/v1/virtual-keys/azure')).model_config.resource_name).to.equal('r');
    });

    it('become integrations, and calls go on', async () => {
      await virtualKey({ slug: 'moving', openaiProject: 'p' });
      const { id } = await get('/v1/virtual-keys/moving');
      const migrate = (): Promise<RestResult> =>
        ask('POST', '/v1/virtual-keys/migrate', { virtual_key_id: id });
      expect((await migrate()).json).to.deep.equal({
        success: true,
        data: { slug: 'moving', integration_id: 'moving' },
      });
      expect((await migrate()).json.data.integration_id).to.equal('moving');
      expect(await get('/v1/integrations/moving')).to.deep.include({
        workspace_id: plane.first.workspace_id,
        masked_key: 'sk*****123',
        configurations: { openai_project: 'p' },
      });
      expect(await plane.store.providers.find(plane.first.workspace_id, 'moving')).to.include({
        credential: 'sk-canary-key-0123',
      });
      await no(ask('POST', '/v1/virtual-keys/migrate', { virtual_key_id: 'none' }), 404, 'AB08');
    });
  });

  it('notify data workers what to forget, and put no secret into a log', async () => {
    plane.forgotten.length = 0;
    await provider({ slug: 'gone', provider: 'openai', key: 'sk-canary-key-0123' });
    await ask('PUT', '/v1/virtual-keys/gone', { key: 'sk-canary-key-4567' });
    await ask('DELETE', '/v1/providers/gone');
    const forget = { kind: 'provider', workspace: plane.first.workspace_id, name: 'gone' };
    expect(plane.forgotten).to.deep.equal([forget, forget, forget]);
    const { json } = await plane.rest(
      'GET',
      '/v1/audit-logs?start_time=2020-01-01T00:00:00Z&end_time=2099-01-01T00:00:00Z&page_size=100',
    );
    expect(json.total).to.be.above(2);
    expect(JSON.stringify(json)).to.not.include('canary');
    expect(plane.logged.join('\n')).to.not.include('canary');
  });
});
