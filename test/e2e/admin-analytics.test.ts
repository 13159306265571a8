import { expect } from 'chai';
import type { SetFlags } from '../../src/common/access/security-settings.js';
import type {
  Analytics,
  AnalyticsQuestion,
  AnswerTo,
  UsageAnswer,
} from '../../src/control-plane/analytics/question.js';
import { type AdminPlane, startPlane } from '../support/admin-plane.js';

describe('requests to analytics', () => {
  let plane: AdminPlane;
  const asked: AnalyticsQuestion[] = [];
  const answers: { usage: UsageAnswer } = { usage: { groups: [] } };
  /** What the ledger would answer: nothing has passed through. */
  const analytics: Analytics = {
    async ask<Q extends AnalyticsQuestion>(question: Q): Promise<AnswerTo<Q>> {
      asked.push(question);
      const all = {
        ...answers,
        graph: { summary: {}, points: [], series: 'groupBy' in question && question.groupBy ? [] : null },
        cache: {},
        groups: { total: 'hasTotal' in question && !question.hasTotal ? null : 0, rows: [] },
        values: { total: 0, values: [] },
        slots: [],
      };
      return all[question.kind] as unknown as AnswerTo<Q>;
    },
  };
  const time =
    'time_of_generation_min=2026-01-01T00:00:00Z&time_of_generation_max=2026-01-02T00:00:00%2B01:00';
  const get = async (path: string, key?: string) => {
    asked.length = 0;
    const [name = '', query = ''] = path.split('?');
    return plane.rest('GET', `/v1${name}?${query === '' ? time : `${query}&${time}`}`, undefined, {
      key: key ?? plane.first.admin_key,
    });
  };
  const refusedWith = async (path: string, code: string, key?: string): Promise<string> => {
    const { json } = await get(path, key);
    expect(json.data?.errorCode, path).to.equal(code);
    return json.data.message;
  };

  before(async () => {
    plane = await startPlane({ analytics });
  });
  after(() => plane?.close());

  it('reach every graph, under the older spellings too', async () => {
    const spellings = {
      'errors/rate': 'errors-rate',
      'errors/stacks': 'errors-stack errors-stacks',
      'errors/status-codes': 'errors-status-code errors-status-codes',
      'requests/rescued': 'requests-rescued',
      'users/requests': 'users-requests',
      'cache/hit-rate': 'cache-hit-rate',
      'cache/latency': 'cache-latency',
      'feedbacks/scores': 'feedbacks/score',
      'feedbacks/weighted': '',
      'feedbacks/ai-models': '',
      ...{ requests: '', cost: '', latency: '', ttft: '', tokens: '', users: '', errors: '', feedbacks: '' },
    };
    for (const [graph, others] of Object.entries(spellings)) {
      for (const path of [graph, ...others.split(' ').filter((one) => one !== '')]) {
        const { status, json } = await get(`/analytics/graphs/${path}`);
        expect(status, path).to.equal(200);
        expect(Object.keys(json), path).to.deep.equal(['summary', 'data_points', 'object']);
        expect(asked[0], path).to.include({ kind: 'graph', graph });
      }
    }
    expect((await get('/analytics/summary/cache')).json.object).to.equal('analytics-summary');
    expect((await get('/analytics/graphs/cost?group_by=model')).json.series).to.deep.equal([]);
  });

  it('reach groups and values of metadata under analytics and under logs', async () => {
    for (const under of ['analytics', 'logs']) {
      for (const path of [
        'users',
        'ai-models',
        'workspaces',
        'metadata/team',
        'model',
        'status_code',
        'api_key',
      ])
        expect((await get(`/${under}/groups/${path}`)).json, path).to.deep.equal({
          object: 'list',
          total: 0,
          data: [],
        });
      expect((await get(`/${under}/metadata/team`)).json).to.deep.equal({
        object: 'list',
        total: 0,
        data: [],
      });
    }
    await get(
      '/analytics/groups/model?page_size=20&current_page=3&order_by=cost&order_by_type=asc&columns=cost,avg_tokens&include_total=false',
    );
    expect(asked[0]).to.include({
      offset: 60,
      limit: 20,
      orderBy: 'cost',
      isDescending: false,
      hasTotal: false,
    });
    expect(asked[0]).to.deep.include({ figures: ['cost', 'avg_tokens'] });
    for (const spelling of ['include_total', 'includeTotal'])
      expect((await get(`/analytics/groups/model?${spelling}=false`)).json, spelling).to.deep.equal({
        object: 'list',
        data: [],
      });
    // Without columns groups have their number of requests alone.
    expect(asked[0]).to.deep.include({ figures: [] });
  });

  it('refuse missing and reversed times, and names that there are none of', async () => {
    const { json } = await plane.rest('GET', '/v1/analytics/graphs/cost');
    expect(json.data.message).to.contain('time_of_generation_min is required.');
    const reversed =
      'time_of_generation_min=2026-01-02T00:00:00Z&time_of_generation_max=2026-01-01T00:00:00Z';
    expect((await plane.rest('GET', `/v1/analytics/graphs/cost?${reversed}`)).json.data.errorCode).to.equal(
      'AB01',
    );
    await refusedWith('/analytics/graphs/cost?group_by=colour', 'AB01');
    await refusedWith('/analytics/graphs/users?group_by=model', 'AB01');
    await refusedWith('/analytics/groups/colour', 'AB01');
    await refusedWith('/analytics/groups/model?columns=cost,colour', 'AB01');
    await refusedWith('/analytics/groups/model?order_by=colour', 'AB01');
    await refusedWith('/analytics/groups/model?order_by_type=up', 'AB01');
    await refusedWith('/analytics/graphs/cost?colour=red', 'AB01');
    await refusedWith('/analytics/graphs/cost?cost_min=2&cost_max=1', 'AB01');
    await refusedWith('/analytics/graphs/cost?cost_min=-1', 'AB01');
    await refusedWith('/analytics/graphs/cost?metadata=%7B', 'AB01');
    expect(asked).to.deep.equal([]);
  });

  it("are about the own workspace of a key, and of an organisation's key about the default one or the one it names", async () => {
    const { workspace_id, workspace_key } = plane.first;
    await get('/analytics/graphs/cost');
    expect(asked[0]?.sight.workspaces).to.deep.equal([workspace_id]);
    await get('/analytics/graphs/cost?workspace_slug=other');
    expect(asked[0]?.sight.workspaces).to.deep.equal([plane.other]);
    await get('/analytics/groups/workspaces');
    expect(asked[0]?.sight.workspaces).to.equal(null);
    await get('/analytics/graphs/cost?workspace_slug=other', workspace_key);
    expect(asked[0]?.sight.workspaces).to.deep.equal([workspace_id]);
    await refusedWith('/analytics/graphs/cost?workspace_slug=nowhere', 'AB02');
  });

  it('take cents, and filter by them in picodollars', async () => {
    await get('/analytics/graphs/cost?cost_min=1.5&cost_max=2&status_code=429,500&trace_id=a,b');
    const { filters } = asked[0]!;
    expect(filters.cost).to.deep.equal({ min: 15_000_000_000, max: 20_000_000_000 });
    expect(filters.statuses).to.deep.equal([429, 500]);
    expect(filters.traces).to.deep.equal(['a', 'b']);
    expect(filters.at).to.deep.equal({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2026, 0, 1, 23) });
  });

  it('use a saved filter of the workspace; what the request gives besides wins', async () => {
    const filters = { status_code: '500,429', metadata: { team: 'a' } };
    const made = await plane.rest('POST', '/v1/analytics/filters', {
      name: 'errors',
      filters,
      workspace_id: 'other',
    });
    expect(made.json).to.include({ name: 'errors', workspace_id: plane.other, object: 'analytics-filter' });
    const { id } = made.json;
    await get(`/analytics/graphs/cost?filter_id=${id}`);
    expect(asked[0]?.filters).to.deep.include({ statuses: [500, 429], metadata: { team: 'a' } });
    expect(asked[0]?.sight.workspaces).to.deep.equal([plane.other]);
    await get(`/analytics/groups/users?filter_id=${id}&status_code=200`);
    expect(asked[0]?.filters).to.deep.include({ statuses: [200], metadata: { team: 'a' } });
    await refusedWith(`/analytics/graphs/cost?filter_id=${id}`, 'AB08', plane.first.workspace_key);
    expect((await plane.rest('GET', `/v1/logs?filter_id=${id}`)).json.data).to.deep.equal([]);
    expect((await plane.rest('GET', '/v1/logs?filter_id=none')).status).to.equal(404);
    expect((await plane.rest('PUT', `/v1/analytics/filters/${id}`, { filters: {} })).json).to.deep.equal({});
    expect((await plane.rest('GET', `/v1/analytics/filters/${id}`)).json).to.deep.include({
      name: 'errors',
      filters: {},
    });
    expect((await plane.rest('GET', '/v1/analytics/filters?workspace_id=other')).json.total).to.equal(1);
    expect((await plane.rest('DELETE', `/v1/analytics/filters/${id}`)).status).to.equal(200);
    await refusedWith(`/analytics/graphs/cost?filter_id=${id}`, 'AB08');
    const wrong = await plane.rest('POST', '/v1/analytics/filters', {
      name: 'x',
      filters: { colour: 1 },
      workspace_id: 'other',
    });
    expect(wrong.json.data.message).to.equal('filters."colour" is no filter.');
  });

  it('save no filter by a workspace that does not exist or that the key does not see', async () => {
    const save = (filters: object, key?: string) =>
      plane.rest(
        'POST',
        '/v1/analytics/filters',
        { name: 'x', filters, workspace_id: null },
        key ? { key } : {},
      );
    const { workspace_key: key } = plane.first;
    for (const [filters, name] of [
      [{ workspace_slug: 'nowhere' }, 'workspace_slug'],
      [{ workspace_id: plane.other }, 'workspace_id'],
      [{ workspace_slug: 'other' }, 'workspace_slug'],
    ] as const) {
      const { status, json } = await save(filters, key);
      expect([status, json.data?.errorCode], JSON.stringify(filters)).to.deep.equal([404, 'AB02']);
      expect(json.data.message).to.equal(`filters.${name}: there is no such workspace.`);
    }
    const made = await save({ workspace_id: plane.first.workspace_id }, key);
    expect(made.status, JSON.stringify(made.json)).to.equal(200);
    const path = `/v1/analytics/filters/${made.json.id}`;
    const changed = await plane.rest('PUT', path, { filters: { workspace_slug: 'nowhere' } }, { key });
    expect([changed.status, changed.json.data?.errorCode]).to.deep.equal([404, 'AB02']);
    const two = { workspace_id: plane.other, workspace_slug: 'elsewhere' };
    const twice = await plane.rest('POST', '/v1/analytics/filters', {
      ...{ name: 'x', workspace_id: 'other' },
      filters: two,
    });
    expect(twice.json.data.message).to.equal(
      'filters.workspace_slug names another workspace than workspace_id.',
    );
    await plane.rest('DELETE', path, undefined, { key });
  });

  it('price requests again with other models, by the prices of the organisation', async () => {
    const filters = {
      time_of_generation_min: '2026-01-01T00:00:00Z',
      time_of_generation_max: '2026-01-02T00:00:00Z',
      status_code: '200',
    };
    const used = {
      ...{ provider: 'openai', model: 'gpt-4o', integration: null, isStored: true, tier: null },
      ...{ longInput: 0, isUsed: true, requests: 4, cost: 8e10, unpriced: 0 },
      quantities: { input: 1_000_000, output: 500_000, cached: 200_000 },
    };
    answers.usage = {
      groups: [
        used,
        { ...used, model: 'gpt-4o-mini', requests: 2, cost: 2e10 },
        { ...used, model: 'o9', requests: 1, cost: 0, unpriced: 1 },
        { ...used, provider: null, model: null, isUsed: false, requests: 3, cost: 0, unpriced: 3 },
      ],
    };
    const put = await plane.rest('PUT', '/v1/model-configs/pricing/anthropic/own-model', {
      pay_as_you_go: {
        request_token: { price: 0.0001 },
        response_token: { price: 0.0004 },
        cache_read_input_token: { price: 0.00001 },
      },
    });
    expect(put.status, JSON.stringify(put.json)).to.equal(200);
    const replace = [
      { from: 'openai__gpt-4o', to: 'anthropic__own-model' },
      { from: 'openai__gpt-4o-mini', to: 'nobody__nothing' },
    ];
    asked.length = 0;
    const { status, json } = await plane.rest('POST', '/v1/analytics/what-if', { filters, replace });
    expect(status, JSON.stringify(json)).to.equal(200);
    expect(asked[0]).to.deep.include({ kind: 'usage' });
    expect(asked[0]?.filters.statuses).to.deep.equal([200]);
    expect(json).to.include({ requests: 10, cost: 10, what_if_cost: 302, unpriced: 3 });
    expect(json.by_model).to.deep.equal([
      {
        model: 'openai__gpt-4o',
        replaced_by: 'anthropic__own-model',
        ...{ requests: 4, cost: 8, what_if_cost: 302, unpriced: 0 },
      },
      {
        model: 'openai__gpt-4o-mini',
        replaced_by: 'nobody__nothing',
        ...{ requests: 2, cost: 2, what_if_cost: 0, unpriced: 2 },
      },
      { model: 'openai__o9', replaced_by: null, requests: 1, cost: 0, what_if_cost: 0, unpriced: 1 },
      { model: null, replaced_by: null, requests: 3, cost: 0, what_if_cost: 0, unpriced: 0 },
    ]);
    const refused = async (body: object): Promise<string> => {
      const answer = await plane.rest('POST', '/v1/analytics/what-if', body);
      expect(answer.json.data?.errorCode, JSON.stringify(body)).to.equal('AB01');
      return answer.json.data.message;
    };
    expect(await refused({ filters: {}, replace })).to.contain('filters.time_of_generation_min is required.');
    expect(await refused({ filters: { ...filters, colour: 'red' } })).to.contain('filters."colour"');
    expect(await refused({ filters, replace: [{ from: 'gpt-4o', to: 'a__b' }] })).to.contain(
      'replace[0].from must be provider__model.',
    );
    expect(await refused({ filters, replace: [replace[0], replace[0]] })).to.contain('replace[1].from');
  });

  it('list anomalies, page by page', async () => {
    const list = (query = '') => plane.rest('GET', `/v1/analytics/anomalies${query}`);
    expect((await list()).json).to.deep.equal({ object: 'list', data: [], total: 0 });
    expect((await list('?metric=cost&since=2026-01-01T00:00:00Z&page_size=5')).status).to.equal(200);
    expect((await list('?metric=colour')).json.data.errorCode).to.equal('AB01');
    expect((await list('?workspace_slug=nowhere')).json.data.errorCode).to.equal('AB02');
  });

  it("see what the roles and the security settings leave to a user's key", async () => {
    const { organisation_id: org, workspace_id: workspaceId } = plane.first;
    const user = await plane.store.users.create(org, {
      email: 'member@example.com',
      role: 'member',
      workspaces: [{ workspaceId, role: 'member' }],
    });
    if (typeof user === 'string') throw new Error(user);
    const made = await plane.store.keys.create(org, {
      ...{ type: 'workspace-user', workspaceId, userId: user.id, name: 'own' },
      scopes: ['analytics.view'],
    });
    if (made === 'missing') throw new Error(made);
    const key = made.text.reveal();
    const set = (securitySettings: SetFlags) =>
      plane.store.workspaces.update(org, workspaceId, { securitySettings });
    await get('/analytics/graphs/cost', key);
    expect(asked[0]?.sight.keys).to.equal(null);
    await set({ members_view_all_data: false });
    await get('/analytics/graphs/cost', key);
    expect(asked[0]?.sight.keys).to.deep.equal([made.key.id]);
    await set({ members_view_log_metadata: false });
    for (const path of [
      '/analytics/graphs/cost?metadata=%7B%22a%22:%22b%22%7D',
      '/analytics/groups/metadata/a',
      '/logs/metadata/a',
    ])
      await refusedWith(path, 'AB03', key);
    expect((await get('/analytics/graphs/cost', key)).status).to.equal(200);
    await set({ members_view_analytics: false });
    await refusedWith('/analytics/graphs/cost', 'AB03', key);
    await refusedWith('/logs/groups/model', 'AB03', key);
  });
});
