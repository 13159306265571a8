import { expect } from 'chai';
import type { AdminApi } from '../../src/client/index.js';
import { connectAdmin } from '../../src/client/index.js';
import { type RunningGateway, startGateway } from '../support/gateway.js';

/** Tries of key holders at the model endpoints; those at the administration are in admin-red-team. */
describe('who wants more of model calls than a key gives', () => {
  let gateway: RunningGateway;
  let admin: AdminApi;
  let mine: AdminApi;
  let close: () => void;
  let serial = 0;

  before(async () => {
    gateway = await startGateway({ env: { HEADGATE_SIMULATED: 'true', HEADGATE_EGRESS_ALLOW: '' } });
    admin = gateway.admin().api;
    const client = connectAdmin({ address: `127.0.0.1:${gateway.grpcPort}`, key: gateway.workspaceKey });
    mine = client.api;
    close = () => client.close();
  });
  after(async () => {
    close?.();
    await gateway?.stop();
  });

  async function ask(
    headers: Record<string, string>,
    { query = '', body = {} }: { query?: string; body?: object } = {},
  ): Promise<[number, string]> {
    const response = await fetch(`${gateway.url}/v1/chat/completions${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }], ...body }),
    });
    const { error } = (await response.json()) as { error?: { code: string } };
    return [response.status, error?.code ?? ''];
  }
  const target = { 'x-gateway-provider': '@simulated' };
  const own = (): Record<string, string> => ({ 'x-gateway-api-key': gateway.workspaceKey });

  it('sends the key where keys are looked for, and nowhere else', async () => {
    const good = gateway.workspaceKey;
    const accepted: Record<string, string>[] = [
      own(),
      { authorization: `Bearer ${good}` },
      { authorization: `bearer ${good}` },
    ];
    for (const headers of accepted) expect(await ask({ ...target, ...headers })).to.deep.equal([200, '']);
    const passedOver: Record<string, string>[] = [
      {},
      { authorization: 'Bearer' },
      { authorization: `Basic ${Buffer.from(`${good}:`).toString('base64')}` },
      { 'x-gateway-api-key': good.toLowerCase() },
      { 'x-gateway-api-key': `${good}x` },
      { cookie: `x-gateway-api-key=${good}` },
    ];
    for (const headers of passedOver) {
      const answer = await ask({ ...target, ...headers });
      expect(answer, JSON.stringify(headers).slice(0, 60)).to.deep.equal([401, '03']);
    }
    for (const name of ['key', 'api_key', 'x-gateway-api-key'])
      expect(await ask(target, { query: `?${name}=${good}`, body: { [name]: good } }), name).to.deep.equal([
        401,
        '03',
      ]);
  });

  it('with a key of a megabyte is refused before it is looked at', async () => {
    const status = await ask({ ...target, 'x-gateway-api-key': gateway.workspaceKey.repeat(20_000) }).then(
      ([code]) => code,
      () => 0,
    );
    expect(status).to.be.oneOf([0, 400, 401, 413, 431]);
    expect(await ask({ ...target, ...own() })).to.deep.equal([200, '']);
  });

  it('of the organisation calls no model', async () => {
    expect(await ask({ ...target, 'x-gateway-api-key': gateway.adminKey })).to.deep.equal([
      403,
      'permission_denied',
    ]);
  });

  describe('by an address of the workspace’s own', () => {
    const inside = [
      'http://127.0.0.1:1/v1',
      'http://127.1:1/v1',
      'http://2130706433:1/v1',
      'http://0x7f.0.0.1:1/v1',
      'http://0177.0.0.1:1/v1',
      'http://[::1]:1/v1',
      'http://[::ffff:127.0.0.1]:1/v1',
      'http://localhost:1/v1',
      'http://169.254.169.254/latest',
      'http://10.0.0.1/v1',
      'http://0.0.0.0:1/v1',
      'http://[fd00::1]/v1',
    ];
    /** A provider with that address; null where it was not even stored. */
    const stored = (work: Promise<{ slug: string }>): Promise<string | null> =>
      work.then(
        ({ slug }) => slug,
        () => null,
      );
    let called = 0;
    async function leadsNowhere(slug: string | null, headers: Record<string, string> = {}): Promise<void> {
      if (slug === null) return;
      called++;
      const answer = await ask({ ...own(), 'x-gateway-provider': `@${slug}`, ...headers });
      expect(answer, slug).to.deep.equal([400, 'invalid_custom_host']);
    }

    it('reaches nothing inside, by whichever face it is stored', async () => {
      for (const custom_host of inside) {
        const slug = `in-${++serial}`;
        const terms = { key: 'sk-mine', custom_host };
        await leadsNowhere(
          await stored(mine.providers.createProvider({ slug, provider: 'openai', ...terms })),
        );
        const integration = {
          slug: `i-${slug}`,
          name: slug,
          ai_provider_id: 'openai',
          key: 'sk-mine',
          configurations: { custom_host },
          default_provider_slug: `d-${slug}`,
        };
        const made = await stored(mine.integrations.createIntegration(integration));
        await leadsNowhere(made && `d-${slug}`);
      }
      expect(called).to.be.above(inside.length);
    });

    it('is not trusted more for what an admin does with it', async () => {
      const [custom_host = ''] = inside;
      const vk = { name: 'x', provider: 'openai', key: 'sk-mine', custom_host };
      for (const slug of ['kept', 'renamed', 'moved'])
        await mine.virtualKeys.createVirtualKey({ ...vk, slug });
      await admin.virtualKeys.updateVirtualKey({ slug: 'renamed', name: 'y', key: 'sk-other' });
      await admin.virtualKeys.migrateVirtualKey({ virtual_key_id: 'moved' });
      await admin.providers.createProvider({
        slug: 'copied',
        name: 'z',
        source_provider_api_key_id: 'kept',
      });
      for (const slug of ['kept', 'renamed', 'moved', 'copied']) await leadsNowhere(slug);
    });

    it('is not that of a model of its integration either', async () => {
      const [custom_host = ''] = inside;
      await mine.integrations.createIntegration({
        slug: 'models-inside',
        name: 'x',
        ai_provider_id: 'openai',
        key: 'sk-mine',
        default_provider_slug: 'by-model',
      });
      const models = [
        { slug: 'gpt-4o-mini', enabled: true, is_custom: true, configurations: { custom_host } },
      ];
      await stored(
        mine.integrations
          .updateIntegrationModels({ slug: 'models-inside', models })
          .then(() => leadsNowhere('by-model').then(() => ({ slug: '' }))),
      );
      const shown = await mine.integrations.listIntegrationModels({ slug: 'models-inside' });
      const hosts = shown.models.map(({ configurations }) => configurations?.custom_host).filter(Boolean);
      expect(hosts).to.deep.equal([]);
    });

    it('takes no stored credential along', async () => {
      await mine.providers.createProvider({ slug: 'safe', provider: 'openai', key: 'sk-kept' });
      await leadsNowhere('safe', { 'x-gateway-custom-host': 'https://thief.example/v1' });
      for (const work of [
        () => mine.providers.updateProvider({ slug: 'safe', custom_host: 'https://thief.example/v1' }),
        () => mine.virtualKeys.updateVirtualKey({ slug: 'safe', custom_host: 'https://thief.example/v1' }),
      ])
        expect(await stored(work().then(() => ({ slug: 'done' })))).to.equal(null);
    });
  });
});
