// lane: shared gateway
import Anthropic from '@anthropic-ai/sdk';
import { ApiError, GoogleGenAI } from '@google/genai';
import { expect } from 'chai';
import OpenAI from 'openai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

const ours = '@lent/our-org/llama-70b';

describe('the list of models that a gateway key may use', () => {
  let gateway: SharedGateway;
  let provider: SimulatedProvider;
  let openai: OpenAI;
  let anthropic: Anthropic;
  let google: GoogleGenAI;

  before(async function () {
    this.timeout(20_000);
    [gateway, provider] = await Promise.all([shareGateway(), startSimulated({ record: true })]);
    const base_url = `${provider.url}/v1`;
    const { providers } = gateway.admin();
    await providers.create({ slug: 'main', provider: 'openai', key: 'sk-sim', base_url });
    await providers.create({ slug: 'claude', provider: 'anthropic', key: 'sk-ant-sim', base_url });
    const { api } = gateway.organisation();
    const integration = `lent-${gateway.workspaceId.slice(0, 8)}`;
    await api.integrations.createIntegration({
      name: 'Lent',
      slug: integration,
      ai_provider_id: 'openai',
      key: 'sk-sim',
    });
    await api.integrations.updateIntegrationWorkspaces({
      slug: integration,
      workspaces: [{ id: gateway.workspaceId, enabled: true }],
    });
    await api.integrations.updateIntegrationModels({
      slug: integration,
      allow_all_models: false,
      models: [
        { slug: 'our-org/llama-70b', enabled: true, is_custom: true },
        { slug: 'gpt-4o', enabled: false },
      ],
    });
    await providers.create({ slug: 'lent', integration_id: integration, name: 'Lent' } as never);
    openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.workspaceKey, maxRetries: 0 });
    anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.workspaceKey, maxRetries: 0 });
    google = new GoogleGenAI({ apiKey: gateway.workspaceKey, httpOptions: { baseUrl: gateway.url } });
  });

  beforeEach(() => provider.reset());

  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(gateway.url + path, { headers: { 'x-gateway-api-key': gateway.workspaceKey, ...headers } });
  const idsOf = async (response: Response): Promise<string[]> => {
    const body = (await response.json()) as { data: { id: string }[] };
    expect(response.status, JSON.stringify(body)).to.equal(200);
    return body.data.map(({ id }) => id);
  };

  it('is read by the openai client, whole, without asking a provider', async () => {
    const models = await openai.models.list();
    const ids = models.data.map(({ id }) => id);
    expect(ids).to.include.members(['@main/gpt-4o-mini', '@claude/claude-sonnet-4-5', ours]);
    expect(ids).to.not.include('@lent/gpt-4o');
    expect(ids.filter((id) => id.startsWith('@lent/'))).to.deep.equal([ours]);
    expect(models.data[0]).to.have.keys('id', 'object', 'created', 'owned_by');
    expect(provider.requests).to.have.length(0);
  });

  it('has each of its models for the openai client, with slashes in its name or not', async () => {
    for (const id of ['@main/gpt-4o-mini', ours]) {
      const model = await openai.models.retrieve(id);
      expect(model).to.deep.include({ id, object: 'model', owned_by: 'openai' });
    }
    const plain = await get(`/v1/models/${ours}`);
    expect((await plain.json()) as object).to.deep.include({ id: ours });
  });

  it('answers 404 for a model that is not on it, in the shape of each client', async () => {
    for (const id of ['@main/no-such-model', '@nothing/gpt-4o', 'gpt-4o', '@lent/gpt-4o']) {
      const error = await openai.models.retrieve(id).catch((thrown: unknown) => thrown);
      expect(error, id).to.be.instanceOf(OpenAI.NotFoundError);
      expect((error as InstanceType<typeof OpenAI.NotFoundError>).code).to.equal('not_found');
    }
    const error = await anthropic.models.retrieve('@main/nothing').catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(Anthropic.NotFoundError);
    expect((error as { error: object }).error).to.deep.include({ type: 'error' });
    expect((error as { error: { error: object } }).error.error).to.deep.include({ type: 'not_found_error' });
    const gemini = await google.models.get({ model: '@main/nothing' }).catch((thrown: unknown) => thrown);
    expect(gemini).to.be.instanceOf(ApiError);
    expect((gemini as ApiError).status).to.equal(404);
    expect((gemini as ApiError).message).to.include('NOT_FOUND');
  });

  it('is walked page by page by the client of Anthropic', async () => {
    const ids: string[] = [];
    for await (const model of anthropic.models.list({ limit: 7 })) ids.push(model.id);
    expect(ids).to.have.members((await openai.models.list()).data.map(({ id }) => id));
    const first = await anthropic.models.list({ limit: 2 });
    expect(first).to.deep.include({ has_more: true, first_id: ids[0], last_id: ids[1] });
    expect(first.data[0]).to.deep.include({ type: 'model', display_name: ids[0]!.split('/')[1] });
    expect(new Date(first.data[0]!.created_at).getTime()).to.equal(0);
    const before = await anthropic.models.list({ limit: 2, before_id: ids[3]! });
    expect(before.data.map(({ id }) => id)).to.deep.equal(ids.slice(1, 3));
    expect(before.has_more).to.equal(true);
    expect(await anthropic.models.retrieve(ours)).to.deep.include({ id: ours, type: 'model' });
  });

  it('is walked page by page by the client of Google', async () => {
    const names: string[] = [];
    for await (const model of await google.models.list({ config: { pageSize: 7 } })) names.push(model.name!);
    const ids = (await openai.models.list()).data.map(({ id }) => `models/${id}`);
    expect(names).to.have.members(ids);
    const model = await google.models.get({ model: ours });
    expect(model.name).to.equal(`models/${ours}`);
    const answer = await google.models.generateContent({
      model: '@main/gpt-4o-mini',
      contents: 'Hello',
    });
    expect(answer.text).to.include('Hello');
    const byQuery = await fetch(`${gateway.url}/v1beta/models?pageSize=1&key=${gateway.workspaceKey}`);
    expect(((await byQuery.json()) as { models: object[] }).models).to.have.length(1);
  });

  it('is cut, sorted and filtered as its query asks', async () => {
    const all = await idsOf(await get('/v1/models'));
    expect(await idsOf(await get('/v1/models?limit=2&offset=1'))).to.deep.equal(all.slice(1, 3));
    expect(
      new Set((await idsOf(await get('/v1/models?ai_service=anthropic'))).map((id) => id.split('/')[0])),
    ).to.deep.equal(new Set(['@claude']));
    expect(await idsOf(await get('/v1/models?provider=@lent'))).to.deep.equal([ours]);
    expect((await idsOf(await get('/v1/models?sort=provider&order=desc')))[0]).to.match(/^@main\//);
    for (const [path, headers] of [
      ['/v1/models?limit=0', {}],
      ['/v1/models?limit=two', {}],
      ['/v1/models?order=up', {}],
      ['/v1/models?limit=1001', { 'anthropic-version': '2023-06-01' }],
      ['/v1beta/models?pageToken=%C3%BF', {}],
    ] as const) {
      expect((await get(path, headers)).status, path).to.equal(400);
    }
  });

  it('answers HEAD as GET, without the body', async () => {
    const head = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(gateway.url + path, {
        method: 'HEAD',
        headers: { 'x-gateway-api-key': gateway.workspaceKey, ...headers },
      });
    for (const path of [
      '/v1/models',
      '/v1/models/@main/gpt-4o-mini',
      '/v1beta/models',
      '/v1/models/@main/none',
    ]) {
      const [read, asked] = [await get(path), await head(path)];
      expect([asked.status, await asked.text()], path).to.deep.equal([read.status, '']);
      // An error has the id of its request in the body, of the same length in each.
      expect(asked.headers.get('content-length'), path).to.equal(
        String((await read.arrayBuffer()).byteLength),
      );
    }
    expect(provider.requests).to.have.length(0);
    expect((await head('/v1/models', { 'x-gateway-provider': '@main' })).status).to.equal(200);
    expect(provider.requests.map(({ method, path }) => `${method} ${path}`)).to.deep.equal([
      'HEAD /v1/models',
    ]);
    const posted = await fetch(`${gateway.url}/v1/models`, { method: 'POST', body: '{}' });
    expect([posted.status, posted.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD']);
  });

  it('is the provider’s own where a provider is named', async () => {
    const ids = await idsOf(await get('/v1/models', { 'x-gateway-provider': '@main' }));
    expect(ids).to.include('gpt-4o-mini');
    expect(provider.requests.map(({ path }) => path)).to.deep.equal(['/v1/models']);

    const { data } = await gateway.admin().configs.create({ name: 'Main', config: { provider: '@main' } });
    const { key } = await gateway.organisation().api.apiKeys.createApiKey({
      type: 'workspace',
      sub_type: 'service',
      name: 'with a config',
      workspace_id: gateway.workspaceId,
      scopes: ['completions.write'],
      defaults: { config_id: data.id },
    });
    expect(await idsOf(await get('/v1/models', { 'x-gateway-api-key': key }))).to.deep.equal(ids);
  });

  it('is that of the key although a provider is named, where a header or the config asks for it', async () => {
    const own = await idsOf(await get('/v1/models'));
    const named = { 'x-gateway-provider': '@main' };
    const header = 'x-gateway-fetch-integrated-models';
    const config = (fetch_integrated_models: boolean) => ({
      'x-gateway-config': JSON.stringify({ provider: '@main', fetch_integrated_models }),
    });
    for (const headers of [
      { ...named, [header]: 'true' },
      config(true),
      { ...config(false), [header]: 'True' },
    ]) {
      expect(await idsOf(await get('/v1/models', headers)), JSON.stringify(headers)).to.deep.equal(own);
      expect((await get(`/v1/models/${ours}`, headers)).status).to.equal(200);
    }
    expect(provider.requests).to.have.length(0);
    for (const headers of [{ ...named, [header]: 'false' }, config(false)]) {
      expect(await idsOf(await get('/v1/models', headers)), JSON.stringify(headers)).to.not.include(ours);
    }
    expect(provider.requests).to.have.length(2);
    const unclear = await get('/v1/models', { ...named, [header]: 'maybe' });
    expect([unclear.status, await unclear.text()].join()).to.match(/^400,.*fetch-integrated-models/);
    const placed = await get('/v1/models', {
      'x-gateway-config': JSON.stringify({
        strategy: { mode: 'fallback' },
        targets: [{ provider: '@main', fetch_integrated_models: true }],
      }),
    });
    expect(await placed.text()).to.include('config.targets[0].fetch_integrated_models');
  });

  it('is there for keys that may list virtual keys alone, and for admin keys, and for no others', async () => {
    const keyWith = async (scopes: string[]): Promise<string> =>
      (
        await gateway.organisation().api.apiKeys.createApiKey({
          type: 'workspace',
          sub_type: 'service',
          name: scopes.join(),
          workspace_id: gateway.workspaceId,
          scopes,
        })
      ).key;
    const listing = { 'x-gateway-api-key': await keyWith(['virtual_keys.list']) };
    expect(await idsOf(await get('/v1/models', listing))).to.include(ours);
    expect((await get(`/v1/models/${ours}`, listing)).status).to.equal(200);
    const named = { ...listing, 'x-gateway-provider': '@main' };
    expect((await get('/v1/models/gpt-4o-mini', named)).status).to.equal(403);
    const other = await get('/v1/models', { 'x-gateway-api-key': await keyWith(['logs.list']) });
    expect(other.status).to.equal(403);
    expect(JSON.stringify(await other.json())).to.include('virtual_keys.list');

    const admin = { 'x-gateway-api-key': gateway.adminKey };
    expect(await idsOf(await get(`/v1/models?workspace_id=${gateway.workspaceId}`, admin))).to.include(ours);
    expect((await get('/v1/models', admin)).status).to.equal(200);
    expect((await get('/v1/models?workspace_id=none', admin)).status).to.equal(404);
    expect((await get('/v1/models', { ...admin, 'x-gateway-provider': '@main' })).status).to.equal(403);
    const foreign = await get('/v1/models?workspace_id=default', listing);
    expect(foreign.status).to.equal(404);
  });

  it('refuses a wrong key in the shape of each client', async () => {
    const wrong = { 'x-gateway-api-key': 'no-key' };
    const [plain, claude, gemini] = await Promise.all([
      get('/v1/models', wrong),
      get('/v1/models', { ...wrong, 'anthropic-version': '2023-06-01' }),
      get('/v1beta/models', wrong),
    ]);
    expect([plain.status, claude.status, gemini.status]).to.deep.equal([401, 401, 401]);
    expect((await plain.json()) as object).to.have.property('status', 'failure');
    expect((await claude.json()) as object).to.have.property('type', 'error');
    expect(((await gemini.json()) as { error: object }).error).to.have.property('status', 'UNAUTHENTICATED');
  });
});
