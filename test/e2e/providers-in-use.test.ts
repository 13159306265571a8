// lane: shared gateway
import { join } from 'node:path';
import { expect } from 'chai';
import type { AdminApi } from '../../src/client/index.js';
import { SqliteConnection } from '../../src/control-plane/database/sqlite.js';
import { type SimulatedProvider, type SimulatedRequest, startSimulated } from '../../src/simulated/index.js';
import { eventually } from '../support/gateway.js';
import { type SharedGateway, shareGateway, twoWorkers } from '../support/shared-gateway.js';

describe('integrations, providers and virtual keys while requests use them', () => {
  let gateway: SharedGateway;
  let upstream: SimulatedProvider;
  /** The organisation's, and the workspace's. */
  let api: AdminApi;
  let own: AdminApi;
  let custom_host: string;

  before(async function () {
    this.timeout(20_000);
    [gateway, upstream] = await Promise.all([shareGateway(twoWorkers), startSimulated({ record: true })]);
    api = gateway.organisation().api;
    own = gateway.admin().api;
    custom_host = `${upstream.url}/v1`;
    await api.integrations.createIntegration({
      slug: 'lent',
      name: 'Lent',
      ai_provider_id: 'openai',
      key: 'sk-first-key',
      configurations: {
        custom_host,
        openai_organization: 'org-stored',
        custom_headers: { 'X-Team': 'blue' },
      },
    });
    await access(true);
  });
  after(async () => {
    await gateway?.stop();
    await upstream?.close();
  });

  const access = (enabled: boolean) =>
    api.integrations.updateIntegrationWorkspaces({
      slug: 'lent',
      workspaces: [{ id: gateway.workspaceId, enabled }],
    });

  const chat = (headers: Record<string, string>, model = 'gpt-4o-mini'): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': gateway.workspaceKey,
        'content-type': 'application/json',
        // Each over a connection of its own, so that both workers are asked.
        connection: 'close',
        ...headers,
      },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
    });
  const of = (slug: string): Record<string, string> => ({ 'x-gateway-provider': `@${slug}` });
  async function answered(headers: Record<string, string>, model?: string): Promise<SimulatedRequest> {
    const response = await chat(headers, model);
    expect(response.status, await response.text()).to.equal(200);
    return upstream.requests.at(-1)!;
  }
  async function refused(headers: Record<string, string>, model?: string): Promise<[number, string, string]> {
    const response = await chat(headers, model);
    const { error } = (await response.json()) as { error: { type: string; code: string } };
    return [response.status, error.type, error.code];
  }
  /** So often that either worker has been asked. */
  const often = async (work: () => Promise<unknown>): Promise<void> => {
    for (let i = 0; i < 12; i++) await work();
  };

  it('call with the credential, address, headers and fields of the integration', async () => {
    const { headers } = await answered(of('lent'));
    expect(headers).to.include({
      authorization: 'Bearer sk-first-key',
      'openai-organization': 'org-stored',
      'x-team': 'blue',
    });
    expect((await answered({}, '@lent/gpt-4o')).body.toString()).to.include('"gpt-4o"');
  });

  it('are one record with three faces', async () => {
    await own.virtualKeys.createVirtualKey({
      slug: 'vk',
      name: 'VK',
      provider: 'openai',
      key: 'sk-vk',
      custom_host,
    });
    await own.providers.createProvider({ slug: 'own', provider: 'openai', key: 'sk-own', custom_host });
    for (const [slug, key] of [
      ['vk', 'sk-vk'],
      ['own', 'sk-own'],
      ['lent', 'sk-first-key'],
    ] as const) {
      for (const headers of [of(slug), { 'x-gateway-virtual-key': slug }])
        expect((await answered(headers)).headers['authorization']).to.equal(`Bearer ${key}`);
    }
    await own.virtualKeys.migrateVirtualKey({ virtual_key_id: 'vk' });
    expect((await answered(of('vk'))).headers['authorization']).to.equal('Bearer sk-vk');
  });

  it('are in the ledger with the integration of the target that answered', async () => {
    const ledger = await SqliteConnection.open(join(gateway.dataDir, 'ledger.db'), []);
    const row = (trace: string) =>
      eventually(`a row of ${trace}`, async () => {
        const query = 'SELECT provider_slug, integration FROM exchanges WHERE trace = ?';
        return (await ledger.all(query, [trace]))[0];
      });
    try {
      const targets = [{ provider: '@nowhere' }, { provider: '@lent' }];
      const config = JSON.stringify({ strategy: { mode: 'fallback', on_status_codes: [400] }, targets });
      const traced = (name: string) => ({ 'x-gateway-trace-id': `${gateway.workspaceId}-${name}` });
      await answered({ 'x-gateway-config': config, ...traced('lent') });
      await answered({ ...of('own'), ...traced('own') });
      const lent = await row(traced('lent')['x-gateway-trace-id']);
      expect(lent).to.deep.equal({ provider_slug: 'lent', integration: 'lent' });
      const own = await row(traced('own')['x-gateway-trace-id']);
      expect(own).to.deep.equal({ provider_slug: 'own', integration: null });
    } finally {
      await ledger.close();
    }
  });

  it('call with a new key once its change is answered, whichever worker they ask', async () => {
    await often(() => answered(of('lent')));
    await api.integrations.updateIntegration({ slug: 'lent', key: 'sk-second-key' });
    await often(async () => {
      expect((await answered(of('lent'))).headers['authorization']).to.equal('Bearer sk-second-key');
    });
  });

  it('are not to be used while the integration is off for the workspace', async () => {
    await access(false);
    await often(async () => {
      expect(await refused(of('lent'))).to.deep.equal([400, 'invalid_request_error', 'unknown_provider']);
    });
    await access(true);
    await often(() => answered(of('lent')));
  });

  it('let through the models of the integration alone, and a fallback goes on', async () => {
    const models = [{ slug: 'gpt-4o', enabled: true }];
    await api.integrations.updateIntegrationModels({ slug: 'lent', models, allow_all_models: false });
    await answered(of('lent'), 'gpt-4o');
    const denied = [412, 'model_not_allowed_error', 'model_not_allowed'];
    await often(async () => expect(await refused(of('lent'))).to.deep.equal(denied));
    const passed = await fetch(`${gateway.url}/v1/moderations-of-mine`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': gateway.workspaceKey, ...of('lent') },
      body: '{"model":"gpt-4o-mini"}',
    });
    expect(passed.status).to.equal(412);
    const config = { strategy: { mode: 'fallback' }, targets: [{ provider: '@lent' }, { provider: '@own' }] };
    const { headers } = await answered({ 'x-gateway-config': JSON.stringify(config) });
    expect(headers['authorization']).to.equal('Bearer sk-own');
    await api.integrations.updateIntegrationModels({ slug: 'lent', allow_all_models: true });
    await often(() => answered(of('lent')));
  });

  it('are suggested for a mistyped slug as soon as they exist, where the caller may use them', async () => {
    const hint = async (headers: Record<string, string>, model?: string): Promise<string> => {
      const response = await chat(headers, model);
      const { error } = (await response.json()) as { error: { message: string; code: string } };
      expect(error.code).to.equal('unknown_provider');
      return /did you mean (\S+)\?/.exec(error.message)?.[1] ?? '';
    };
    const workspace_id = (await api.workspaces.createWorkspace({ name: 'Beside' })).id;
    const elsewhere = { slug: 'embeddings-b', provider: 'openai', key: 'sk-b', custom_host };
    await api.providers.createProvider({ ...elsewhere, workspace_id });
    await often(async () => expect(await hint(of('embeddings-c'))).to.equal(''));
    await own.providers.createProvider({ ...elsewhere, slug: 'embeddings-a' });
    await often(async () => expect(await hint(of('embeddings-c'))).to.equal('@embeddings-a'));
    expect(await hint({}, '@embedings-a/gpt-4o')).to.equal('@embeddings-a');
    expect(await hint({ 'x-gateway-virtual-key': 'lentt' })).to.equal('@lent');
    await access(false);
    await often(async () => expect(await hint(of('lentt'))).to.equal(''));
    await access(true);
    await own.providers.deleteProvider({ slug: 'embeddings-a' });
    await often(async () => expect(await hint(of('embeddings-c'))).to.equal(''));
  });

  it('end when they expire, and come back when that is taken away', async () => {
    const expires_at = new Date(Date.now() + 1500).toISOString();
    await own.providers.updateProvider({ slug: 'own', expires_at });
    await answered(of('own'));
    await new Promise((wait) => setTimeout(wait, 1550));
    const expired = [401, 'virtual_key_expired_error', 'virtual_key_expired'];
    await often(async () => expect(await refused(of('own'))).to.deep.equal(expired));
    await own.providers.updateProvider({ slug: 'own', update_mask: ['expires_at'] });
    await often(() => answered(of('own')));
  });

  it('are gone for every worker once their deletion is answered', async () => {
    await often(() => answered(of('own')));
    await own.virtualKeys.deleteVirtualKey({ slug: 'own' });
    await often(async () => expect((await refused(of('own')))[2]).to.equal('unknown_provider'));
  });

  it('of a workspace reach no host that a caller could not reach', async () => {
    const made = await fetch(`${gateway.url}/v1/providers`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': gateway.workspaceKey, 'content-type': 'application/json' },
      body: JSON.stringify({ slug: 'inside', provider: 'openai', custom_host: 'http://127.0.0.2:1/v1' }),
    });
    expect(made.status).to.equal(200);
    expect((await refused(of('inside')))[2]).to.equal('invalid_custom_host');
  });
});
