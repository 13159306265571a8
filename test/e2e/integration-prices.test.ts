import { expect } from 'chai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { headgateHere } from '../support/cli-bench.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';

describe('Prices of an integration', function () {
  this.timeout(30_000);
  let gateway: RunningGateway;
  let upstream: SimulatedProvider;
  const api = () => gateway.admin().api;

  const tokenPrice = (price: number) => ({ price });
  const ownPrice = (request: number, response: number) => ({
    type: 'static' as const,
    pay_as_you_go: { request_token: tokenPrice(request), response_token: tokenPrice(response) },
  });

  /** Calls a model of the integration; returns the row of the log and what its answer used. */
  async function call(model: string, more: object = {}) {
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${gateway.workspaceKey}`,
        'x-gateway-provider': '@lent',
        'content-type': 'application/json',
        ...more,
      },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
    });
    const json = (await answer.json()) as { usage: { prompt_tokens: number; completion_tokens: number } };
    expect(answer.status, JSON.stringify(json)).to.equal(200);
    const id = answer.headers.get('x-gateway-request-id') ?? '';
    const row = await eventually('the row', async () => {
      const { data } = await api().logs.listLogs({ limit: 50 });
      return data.find((one) => one.id === id);
    });
    return { id, row, input: json.usage.prompt_tokens, output: json.usage.completion_tokens };
  }

  before(async () => {
    upstream = await startSimulated({ record: false });
    gateway = await startGateway();
    await api().integrations.createIntegration({
      name: 'Lent',
      slug: 'lent',
      ai_provider_id: 'openai',
      key: 'sk-simulated',
      configurations: { custom_host: `${upstream.url}/v1` },
      pricing_adjustments: { multiplier: { default: 0.5, response_token: 2 } },
    });
    await api().integrations.updateIntegrationModels({
      slug: 'lent',
      allow_all_models: true,
      models: [
        { slug: 'ours-1', enabled: true, is_custom: true, pricing_config: ownPrice(0.0001, 0.0002) },
        { slug: 'tuned-1', enabled: true, is_finetune: true, base_model_slug: 'gpt-4o' },
      ],
    });
    await api().integrations.updateIntegrationWorkspaces({
      slug: 'lent',
      workspaces: [
        {
          id: gateway.workspaceId,
          enabled: true,
          create_default_provider: true,
          default_provider_slug: 'lent',
        },
      ],
    });
  });
  after(async () => {
    await gateway?.stop();
    await upstream?.close();
  });

  for (const [model, costOf, source] of [
    ['ours-1', (input: number, output: number) => input * 1 + output * 2, 'integration'],
    ['gpt-4o-mini', (input: number, output: number) => input * 0.15 * 0.5 + output * 0.6 * 2, null],
    ['tuned-1', (input: number, output: number) => input * 2.5 * 0.5 + output * 10 * 2, null],
  ] as const)
    it(`are what a call of ${model} costs, and what explains that cost`, async () => {
      const { id, row, input, output } = await call(model);
      expect(row.cost).to.be.closeTo(costOf(input, output) / 1e6, 1e-12);
      const explained = await api().logs.explainCost({ id });
      expect(explained).to.include({ matches: true });
      const [attempt] = explained.attempts;
      expect(attempt).to.include({ integration: 'lent' });
      expect(attempt?.price_set_by ?? null).to.equal(source);
      expect(attempt?.lines.map(({ factor }) => factor ?? null)).to.deep.equal(
        source === null ? [0.5, 2] : [null, null],
      );
      const { stdout } = await headgateHere(['cost', 'explain', id], gateway.env);
      expect(stdout).to.include(
        source === null ? 'times the factors of the integration lent' : 'price of the integration lent',
      );
    });

  it('are compared by least_cost', async () => {
    const config = {
      strategy: { mode: 'least_cost' },
      targets: [
        { provider: '@lent', override_params: { model: 'gpt-4o-mini' } },
        { provider: '@lent', override_params: { model: 'ours-cheap' } },
      ],
    };
    const before = await call('any', {
      'x-gateway-config': JSON.stringify(config),
      'x-gateway-provider': '',
    });
    expect(before.row.ai_model).to.equal('gpt-4o-mini');
    await api().integrations.updateIntegrationModels({
      slug: 'lent',
      models: [
        { slug: 'ours-cheap', enabled: true, is_custom: true, pricing_config: ownPrice(0, 0.0000001) },
      ],
    });
    // The first call after a change looks the provider up, and compares nothing.
    await call('ours-1');
    const after = await call('any', { 'x-gateway-config': JSON.stringify(config), 'x-gateway-provider': '' });
    expect(after.row.ai_model).to.equal('ours-cheap');
  });

  it('that change later leave what a row has cost, and the explanation notes the change', async () => {
    const { id, row } = await call('ours-1');
    await api().integrations.updateIntegrationModels({
      slug: 'lent',
      models: [{ slug: 'ours-1', enabled: true, pricing_config: ownPrice(0.001, 0.002) }],
    });
    const explained = await api().logs.explainCost({ id });
    expect(explained).to.include({ matches: false });
    expect(explained.note).to.include('have changed since');
    expect(Number(explained.cost)).to.be.closeTo(10 * row.cost!, 1e-12);
    expect(Number(explained.recorded_cost)).to.equal(row.cost);
    const next = await call('ours-1');
    expect(next.row.cost).to.be.closeTo(10 * row.cost!, 1e-12);
  });

  it("come before the organisation's, which come before the gateway's, from their day on", async () => {
    const put = (body: object, key = gateway.adminKey, method = 'PUT') =>
      fetch(`${gateway.url}/v1/model-configs/pricing/openai/gpt-4.1-nano`, {
        method,
        headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const prices = { request_token: tokenPrice(0.0003), response_token: tokenPrice(0.0004) };
    const source = 'contract 7';
    expect((await put({ pay_as_you_go: prices, source })).status).to.equal(200);
    expect((await put({ pay_as_you_go: ownPrice(1, 1).pay_as_you_go, since: '2100-01-01' })).status).to.equal(
      200,
    );
    const { id, row, input, output } = await call('gpt-4.1-nano');
    // With the factors of the integration.
    expect(row.cost).to.be.closeTo((input * 3 * 0.5 + output * 4 * 2) / 1e6, 1e-12);
    const explained = await api().logs.explainCost({ id });
    expect(explained).to.include({ matches: true });
    expect(explained.attempts[0]).to.include({ price_set_by: 'organisation', price_source: source });
    const { data } = await api().modelPrices.listModelPrices({ provider: 'openai' });
    expect(data.map(({ model, since }) => [model, since ?? null])).to.deep.equal([
      ['gpt-4.1-nano', null],
      ['gpt-4.1-nano', '2100-01-01'],
    ]);
    expect(data[0]?.pay_as_you_go?.request_token?.price).to.equal(0.0003);
    expect((await put({}, gateway.adminKey, 'DELETE')).status).to.equal(200);
    const after = await call('gpt-4.1-nano');
    expect(after.row.cost).to.be.closeTo((input * 0.1 * 0.5 + output * 0.4 * 2) / 1e6, 1e-12);
    expect((await put({ pay_as_you_go: prices }, gateway.workspaceKey)).status).to.equal(403);
    expect((await put({ pay_as_you_go: { request_token: tokenPrice(1) } })).status).to.equal(400);
    expect((await put({ pay_as_you_go: prices, since: '2026-02-30' })).status).to.equal(400);
  });

  it('that the ledger could not count are refused', async () => {
    const refused = async (pricing_config: object): Promise<string> => {
      const answer = await fetch(`${gateway.url}/v1/integrations/lent/models`, {
        method: 'PUT',
        headers: { 'x-gateway-api-key': gateway.adminKey, 'content-type': 'application/json' },
        body: JSON.stringify({ models: [{ slug: 'm', enabled: true, pricing_config }] }),
      });
      expect(answer.status).to.equal(400);
      return ((await answer.json()) as { data: { message: string } }).data.message;
    };
    expect(await refused(ownPrice(1e-11, 0))).to.include(
      'request_token.price is no whole number of picodollars',
    );
    const units = { additional_units: { web_search: tokenPrice(1) } };
    expect(await refused({ type: 'static', pay_as_you_go: units })).to.include(
      'no unit that the gateway counts',
    );
  });
});
