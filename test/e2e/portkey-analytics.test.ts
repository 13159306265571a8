// lane: shared gateway
import { expect } from 'chai';
import { Portkey } from 'portkey-ai';
import { eventually } from '../support/gateway.js';
import { type SharedGateway, shareGateway, twoWorkers } from '../support/shared-gateway.js';

/** Graphs and groups as a client asks for them that others have written. */
describe('the analytics of the public Node client', () => {
  let gateway: SharedGateway;
  let client: Portkey;

  const range = {
    time_of_generation_min: new Date(Date.now() - 3_600_000).toISOString(),
    time_of_generation_max: new Date(Date.now() + 3_600_000).toISOString(),
  };
  /** All that its types allow of every question. */
  const everything = {
    ...{ total_units_min: 0, total_units_max: 1000, cost_min: 0, cost_max: 1000, status_code: '200,429' },
    ...{ prompt_token_min: 0, prompt_token_max: 1000, completion_token_min: 0, completion_token_max: 1000 },
    ...{ page_size: 10, order_by: 'requests', order_by_type: 'desc', workspace_slug: 'any' },
    ...{ ai_org_model: 'openai__gpt-4o-mini', metadata: '{"team":"a"}', cache_status: 'DISABLED' },
  };

  before(async function () {
    this.timeout(20_000);
    gateway = await shareGateway(twoWorkers);
    client = new Portkey({ apiKey: gateway.workspaceKey, baseURL: `${gateway.url}/v1` });
    const logs = ['a', 'a', 'b'].map((team) => ({
      request: { url: 'https://api.openai.com/v1/chat/completions', body: { model: 'gpt-4o-mini' } },
      response: {
        status: 200,
        body: {
          model: 'gpt-4o-mini',
          usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
        },
      },
      metadata: { team, _user: `user-${team}` },
    }));
    const added = await fetch(`${gateway.url}/v1/logs`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': gateway.workspaceKey, 'content-type': 'application/json' },
      body: JSON.stringify(logs),
    });
    expect(added.status, await added.text()).to.equal(200);
    await eventually('the requests are counted', async () => {
      const found = await client.analytics.graphs.requests(range).catch(() => null);
      return (found as { summary?: { total?: number } } | null)?.summary?.total === 3;
    });
  });
  after(() => gateway?.stop());

  const graphs = {
    ...{ requests: { total: 3 }, tokens: { total: 45, avg: 15 }, users: { total: 2 }, errors: { total: 0 } },
    ...{ cost: ['total', 'avg'], latency: ['avg', 'p50', 'p90', 'p99'], feedbacks: { total: 0 } },
    ...{ usersRequests: { total: 3, unique: 2, avg: 1.5 }, errors_rate: { rate: 0 } },
    ...{ errors_stack: { total: 0 }, errors_status_code: { total_errors: 0, unique_error_codes: 0 } },
    ...{ requests_rescued: { retry: 0, fallback: 0 }, cache_hit_rate: { total: 0, rate: 0 } },
    ...{ cache_latency: {}, feedbacks_score: { total: 0 }, feedbacks_weighted: { avg: null } },
    ...{ feedback_ai_models: {} },
  } as const;

  it('has every graph', async () => {
    const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(client.analytics.graphs));
    expect(methods.filter((name) => name !== 'constructor')).to.have.members(Object.keys(graphs));
    for (const [name, wanted] of Object.entries(graphs) as [keyof typeof graphs, object][]) {
      const answer = (await client.analytics.graphs[name](range)) as unknown as {
        readonly object: string;
        readonly summary: object;
        readonly data_points: readonly object[];
      };
      expect(answer.object, name).to.equal('analytics-graph');
      if (Array.isArray(wanted)) expect(Object.keys(answer.summary), name).to.deep.equal(wanted);
      else expect(answer.summary, name).to.deep.equal(wanted);
      expect(answer.data_points, name).to.be.an('array');
    }
  });

  it('has groups, and what the cache did', async () => {
    const { groups, summary } = client.analytics;
    const rows = async (asked: PromiseLike<unknown>) =>
      ((await asked) as { readonly data: readonly Record<string, unknown>[] }).data;
    const [first] = await rows(groups.users(range));
    expect(first).to.include({ user: 'user-a', requests: 2 });
    expect((await rows(groups.aiModels(range)))[0]).to.include({ ai_model: 'gpt-4o-mini', requests: 3 });
    expect((await rows(groups.workspaces(range)))[0]).to.include({ requests: 3 });
    const values = await rows(groups.metadata('team', range));
    expect(values.map((row) => [row['metadata_value'], row['requests']])).to.deep.equal([
      ['a', 2],
      ['b', 1],
    ]);
    for (const by of [
      'ai_service',
      'model',
      'status_code',
      'api_key',
      'config',
      'provider',
      'prompt',
    ] as const)
      expect((await rows(groups.groupedData(by, { ...range, columns: 'requests' })))[0], by).to.include({
        requests: 3,
      });
    const cache = (await summary.cache(range)) as unknown as { readonly summary: object };
    expect(cache.summary).to.include({ hits: 0, total_requests: 3 });
  });

  it('may give every filter that its types have', async () => {
    const { graphs, groups, summary } = client.analytics;
    const given = { ...range, ...everything };
    const found = (await graphs.requests(given)) as unknown as { readonly summary: object };
    expect(found.summary).to.deep.equal({ total: 2 });
    for (const asked of [groups.users(given), groups.aiModels(given), groups.metadata('team', given)])
      expect(((await asked) as { object?: string }).object).to.equal('list');
    expect(((await summary.cache(given)) as { object?: string }).object).to.equal('analytics-summary');
  });
});
