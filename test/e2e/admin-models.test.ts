import { expect } from 'chai';
import { priceOf } from '../../src/common/prices/pricing.js';
import { type AdminPlane, startPlane } from '../support/admin-plane.js';

describe('models over the administration plane', () => {
  let plane: AdminPlane;

  before(async () => {
    plane = await startPlane();
    await plane.workspace.providers.create({ slug: 'main', provider: 'openai' });
    await plane.workspace.providers.create({ slug: 'claude', provider: 'anthropic' });
    await plane.admin.providers.create({ slug: 'theirs', provider: 'openai', workspace_id: 'other' });
  });
  after(() => plane.close());

  it('have prices in US cents, for every caller, under both paths', async () => {
    for (const path of ['/model-configs/pricing', '/v1/model-configs/pricing']) {
      const { status, json } = await plane.rest('GET', `${path}/openai/gpt-4o-mini`, undefined, {
        key: null,
      });
      expect(status).to.equal(200);
      expect(json.currency).to.equal('USD');
      expect(json.pay_as_you_go.request_token.price).to.be.closeTo(0.15 / 1e4, 1e-15);
      expect(json.pay_as_you_go.response_token.price).to.be.closeTo(0.6 / 1e4, 1e-15);
      expect(json.pay_as_you_go).to.deep.include({ request_audio_token: null, additional_units: {} });
      expect(json.calculate.response).to.deep.equal({
        operation: 'multiply',
        operands: [{ value: 'output_tokens' }, { value: 'rates.response_token' }],
      });
    }
    const cached = priceOf('anthropic', 'claude-sonnet-4-5')!.cached / 1e10;
    const { pay_as_you_go: rates } = await plane.admin.api.models.getModelPricing({
      provider: 'anthropic',
      model: 'claude-sonnet-4-5',
    });
    expect(rates.cache_read_input_token?.price).to.equal(cached);
    const unknown = await plane.rest('GET', '/model-configs/pricing/openai/a%2Fb', undefined, { key: null });
    expect([unknown.status, unknown.json.data.errorCode]).to.deep.equal([404, 'AB08']);
    expect(unknown.json.error).to.equal(unknown.json.data.message);
  });

  it('of an integration are those that it names, and the others where it lets them pass', async () => {
    const { rest } = plane;
    const made = await rest('POST', '/v1/integrations', {
      name: 'Lent',
      slug: 'lent',
      ai_provider_id: 'openai',
      key: 'k',
    });
    expect(made.status, JSON.stringify(made.json)).to.equal(200);
    const access = { workspaces: [{ id: plane.other, enabled: true }] };
    await rest('PUT', '/v1/integrations/lent/workspaces', access);
    await rest('POST', '/v1/providers', {
      name: 'L',
      slug: 'l',
      integration_id: 'lent',
      workspace_id: 'other',
    });
    const models = [
      { slug: 'ours', enabled: true, is_custom: true, base_model_slug: 'gpt-4o' },
      { slug: 'gpt-4o', enabled: false },
    ];
    const ask = async (): Promise<string[]> =>
      (await rest('GET', '/v1/providers/models?provider=@l&workspace_id=other&limit=1000')).json.data.map(
        ({ id }: { id: string }) => id,
      );
    const put = async (allow_all_models: boolean) => {
      const { status, json } = await rest('PUT', '/v1/integrations/lent/models', {
        allow_all_models,
        models,
      });
      expect(status, JSON.stringify(json)).to.equal(200);
    };
    await put(false);
    expect(await ask()).to.deep.equal(['@l/ours']);
    await put(true);
    expect(await ask())
      .to.include.members(['@l/ours', '@l/gpt-4o-mini'])
      .and.not.include('@l/gpt-4o');
  });

  it('are listed as calls name them, of the providers of the workspace', async () => {
    const ask = async (query: string): Promise<{ total: number; data: { id: string; owned_by: string }[] }> =>
      (
        await plane.rest('GET', `/v1/providers/models?${query}`, undefined, {
          key: plane.first.workspace_key,
        })
      ).json;
    const all = await ask('limit=1000');
    expect(all).to.include({ object: 'list', total: all.data.length });
    const ids = all.data.map(({ id }) => id);
    expect(ids).to.include.members(['@main/gpt-4o-mini', '@claude/claude-sonnet-4-5']);
    expect(ids.filter((id) => id.startsWith('@theirs/'))).to.deep.equal([]);
    const names = ids.map((id) => id.split('/')[1]!);
    expect(names).to.deep.equal([...names].sort());
    expect((await ask('limit=2&offset=1')).data).to.deep.equal(all.data.slice(1, 3));
    const claude = await ask('ai_service=anthropic&limit=1000');
    expect(new Set(claude.data.map(({ owned_by }) => owned_by))).to.deep.equal(new Set(['anthropic']));
    expect(await ask('provider=claude&limit=1000')).to.deep.equal(claude);
    const [last] = (await ask('sort=provider&order=desc')).data;
    expect(last?.id).to.match(/^@main\//);
    expect(last).to.have.keys('id', 'created', 'object', 'owned_by');
  });
});
