import { expect } from 'chai';
import { budgetName, toUnits } from '../../src/common/core/budget-rules.js';
import { type AdminPlane, refused, startPlane } from '../support/admin-plane.js';

const budgets = '/v1/policies/usage-limits';
const rates = '/v1/policies/rate-limits';
const budget = {
  name: 'Team',
  conditions: [{ key: 'metadata.team', value: ['a', 'b'] }],
  group_by: [{ key: 'api_key' }],
  type: 'cost',
  credit_limit: 10,
  alert_threshold: 8,
};
const rate = {
  conditions: [
    { key: 'model', value: '@main/*' },
    { key: 'endpoint_type', excludes: 'embed' },
  ],
  group_by: [{ key: 'workspace_id' }, { key: 'metadata._user' }],
  type: 'requests',
  unit: 'rpw',
  value: 100,
};

describe('policies over the administration plane', () => {
  let plane: AdminPlane;
  let workspaceKey: string;

  before(async () => {
    plane = await startPlane();
    workspaceKey = plane.first.workspace_key;
  });
  after(() => plane.close());

  const ask = (verb: string, path: string, body?: object) =>
    plane.rest(verb, path, body, { key: workspaceKey });
  async function make(path: string, body: object): Promise<string> {
    const { json } = await ask('POST', path, body);
    expect(json, JSON.stringify(json)).to.have.property('id');
    return json.id;
  }

  /** Dollars of one counter. */
  async function spend(id: string, valueKey: string, dollars: number): Promise<void> {
    const all = await plane.store.usageLimitsPolicies.inForce(plane.first.workspace_id);
    const policy = all.find((one) => one.id === id)!;
    const of = 'usage_limits_policy';
    const name = budgetName(policy.organisationId, of, id, policy.measure, valueKey);
    await plane.spend({ ...policy, of, name: id, budget: name }, toUnits('cost', dollars));
  }

  it('are budgets, read as they were written', async () => {
    const { json: made } = await ask('POST', budgets, budget);
    expect(made).to.have.keys('id', 'object');
    expect(made.object).to.equal('policy_usage_limits');
    const { json: one } = await ask('GET', `${budgets}/${made.id}`);
    expect(one).to.deep.include({
      ...budget,
      id: made.id,
      object: 'policy_usage_limits',
      description: null,
      periodic_reset: null,
      periodic_reset_days: null,
      next_usage_reset_at: null,
      last_reset_at: null,
      status: 'active',
      workspace_id: plane.first.workspace_id,
      organisation_id: plane.first.organisation_id,
      value_key_usage_map: {},
      conditions: [{ key: 'metadata.team', value: ['a', 'b'], excludes: null }],
    });
    const { data, total } = await plane.workspace.api.usageLimitsPolicies.listUsageLimitsPolicies({
      search: 'tea',
      type: 'cost',
    });
    expect([total, data[0]?.id]).to.deep.equal([1, made.id]);
  });

  it('reset on Mondays, on the first of the month, or after days', async () => {
    const next = async (more: object) => {
      const id = await make(budgets, { ...budget, ...more });
      return [id, new Date((await ask('GET', `${budgets}/${id}`)).json.next_usage_reset_at)] as const;
    };
    const [id, monday] = await next({ periodic_reset: 'weekly' });
    expect([monday.getUTCDay(), monday.getUTCHours()]).to.deep.equal([1, 0]);
    const [, first] = await next({ periodic_reset: 'monthly' });
    expect(first.getUTCDate()).to.equal(1);
    const [, later] = await next({ periodic_reset_days: 3 });
    expect(Number(later) - Date.now()).to.be.within(2 * 86_400_000, 3 * 86_400_000);

    await ask('PUT', `${budgets}/${id}`, { periodic_reset_days: 7 });
    const { json: days } = await ask('GET', `${budgets}/${id}`);
    expect(days).to.include({ periodic_reset: null, periodic_reset_days: 7 });
    await ask('PUT', `${budgets}/${id}`, { next_usage_reset_at: '2099-01-01T00:00:00Z' });
    await ask('PUT', `${budgets}/${id}`, { name: 'x' });
    const { json: given } = await ask('GET', `${budgets}/${id}`);
    expect(given.next_usage_reset_at).to.equal('2099-01-01T00:00:00.000Z');
    await ask('PUT', `${budgets}/${id}`, { periodic_reset_days: null });
    expect((await ask('GET', `${budgets}/${id}`)).json.next_usage_reset_at).to.equal(null);
  });

  it('count each value apart; counters can be looked at and reset', async () => {
    const id = await make(budgets, budget);
    await spend(id, 'api_key:a', 12);
    await spend(id, 'api_key:b', 1.5);
    const { json: list } = await ask('GET', `${budgets}/${id}/entities`);
    expect(list).to.include({ object: 'list', total: 2 });
    expect(list.data[0]).to.include({ value_key: 'api_key:a', current_usage: 12, status: 'exhausted' });
    expect(list.data[1]).to.include({ value_key: 'api_key:b', current_usage: 1.5, status: 'active' });
    const spent = await ask('GET', `${budgets}/${id}/entities?status=exhausted&search=KEY:A`);
    expect(spent.json.data).to.deep.equal([list.data[0]]);
    const { json: one } = await ask('GET', `${budgets}/${id}?include_usage=true`);
    const { projected_exhausted_at: at, ...counter } = one.value_key_usage_map['api_key:a'];
    expect(counter).to.deep.equal({
      current_usage: 12,
      status: 'exhausted',
      is_threshold_alerts_sent: true,
      is_exhausted_alerts_sent: true,
      projected_usage: 12,
    });
    expect(Date.parse(at)).to.be.closeTo(Date.now(), 60_000);
    await ask('PUT', `${budgets}/${id}`, { credit_limit: 20 });
    expect((await ask('GET', `${budgets}/${id}/entities?status=exhausted`)).json.total).to.equal(0);
    expect(
      (await ask('GET', `${budgets}/${id}/entities?page_size=1&current_page=1`)).json.data,
    ).to.have.length(1);
    const reset = await ask('PUT', `${budgets}/${id}/entities/${list.data[0].id}/reset`, {});
    expect(reset.json).to.deep.equal({});
    await ask('PUT', `${budgets}/${id}`, { reset_usage_for_value: 'api_key:b' });
    const after = await ask('GET', `${budgets}/${id}/entities`);
    expect(after.json.data.map((entity: { current_usage: number }) => entity.current_usage)).to.deep.equal([
      0, 0,
    ]);
    const none = await ask('PUT', `${budgets}/${id}`, { reset_usage_for_value: 'none' });
    expect([none.status, none.json.data.errorCode]).to.deep.equal([404, 'AB02']);
    expect(none.json.data.message).to.include('value_key');
    expect((await ask('PUT', `${budgets}/${id}/entities/none/reset`, {})).status).to.equal(404);
  });

  it('are rate limits, read as they were written', async () => {
    const { json: made } = await ask('POST', rates, rate);
    expect(made).to.deep.equal({ id: made.id, object: 'policy_rate_limits' });
    const { json: one } = await ask('GET', `${rates}/${made.id}`);
    expect(one).to.deep.include({
      id: made.id,
      object: 'policy_rate_limits',
      name: null,
      type: 'requests',
      unit: 'rpw',
      value: 100,
      target: 'llm',
      status: 'active',
      group_by: rate.group_by,
    });
    expect(
      (await ask('PUT', `${rates}/${made.id}`, { value: 5, unit: 'rpm', name: 'n' })).json,
    ).to.deep.equal({});
    expect((await ask('GET', `${rates}?unit=rpm`)).json.data[0]).to.include({ value: 5, name: 'n' });
    expect((await ask('GET', `${rates}?unit=rpw`)).json).to.deep.equal({
      object: 'list',
      total: 0,
      data: [],
    });
  });

  for (const path of [budgets, rates]) {
    it(`are archived by DELETE, and brought back by their status (${path})`, async () => {
      const id = await make(path, path === budgets ? budget : rate);
      expect((await ask('DELETE', `${path}/${id}`)).json).to.deep.equal({});
      expect((await ask('GET', `${path}/${id}`)).json.data.errorCode).to.equal('AB08');
      expect((await ask('GET', `${path}/${id}?status=archived`)).json.status).to.equal('archived');
      expect((await ask('DELETE', `${path}/${id}`)).status).to.equal(404);
      const archived = await ask('GET', `${path}?status=archived`);
      expect(archived.json.data.map((one: { id: string }) => one.id)).to.deep.equal([id]);
      await ask('PUT', `${path}/${id}`, { status: 'active' });
      expect((await ask('GET', `${path}/${id}`)).status).to.equal(200);
    });

    it(`are of one workspace, and lose no update (${path})`, async () => {
      const body = { ...(path === budgets ? budget : rate), workspace_id: 'other' };
      const { json: made } = await plane.rest('POST', path, body);
      const own = `${path}/${made.id}`;
      for (const verb of ['GET', 'PUT', 'DELETE']) {
        const { status, json } = await ask(verb, own, verb === 'PUT' ? { name: 'x' } : undefined);
        expect([status, json.data], verb).to.deep.equal([
          404,
          { message: 'There is no such policy.', errorCode: 'AB08' },
        ]);
      }
      const { headers } = await plane.rest('GET', own);
      const match = { headers: { 'if-match': headers.get('etag')! } };
      expect((await plane.rest('PUT', own, { name: 'a' }, match)).status).to.equal(200);
      expect((await plane.rest('PUT', own, { name: 'b' }, match)).status).to.equal(409);
      expect((await plane.rest('DELETE', own, undefined, match)).status).to.equal(409);
    });
  }

  it('refuse what they could not count by, with its path', async () => {
    const wrongBudgets: readonly [object, string][] = [
      [{ conditions: [{ key: 'model' }] }, 'conditions[0] needs value or excludes'],
      [{ conditions: [{ key: 'colour', value: 'x' }] }, 'conditions[0].key must match'],
      [{ conditions: [{ key: 'api_key', value: ['a', 5] }] }, 'conditions[0].value[1] must be text'],
      [{ conditions: [{ key: 'api_key', value: [] }] }, 'conditions[0].value must have 1 to 100 texts.'],
      [{ conditions: [{ key: 'model', value: 'gpt-4o' }] }, 'conditions[0].value must be @slug/model'],
      [{ conditions: [{ key: 'endpoint_type', value: 'embed' }] }, 'only in a rate limit'],
      [{ group_by: [{ key: 'mcp_tool' }] }, 'group_by[0].key can be mcp_tool only'],
      [{ group_by: [{ key: 'api_key' }, { key: 'api_key' }] }, 'group_by[1].key is named before.'],
      [{ type: 'tokens', credit_limit: 99, alert_threshold: null }, 'credit_limit must be at least 100'],
      [{ type: 'requests', credit_limit: 1.5, alert_threshold: 1 }, 'must be a whole number of requests.'],
      [{ credit_limit: 2 ** 53 }, 'credit_limit must be at most 9000000'],
      [{ type: 'tokens', credit_limit: 1e308 }, 'credit_limit must be at most 9007199254740991'],
      [{ alert_threshold: 10 }, 'alert_threshold must be below credit_limit.'],
      [{ periodic_reset: 'weekly', periodic_reset_days: 2 }, 'periodic_reset_days does not go together'],
      [{ next_usage_reset_at: '2020-01-01T00:00:00Z' }, 'next_usage_reset_at must be in the future.'],
    ];
    const wrongRates: readonly [object, string][] = [
      [{ conditions: [{ key: 'endpoint_type', value: 'chat' }] }, 'value must be one of chatComplete'],
      [{ conditions: [{ key: 'mcp_server', value: 'x' }] }, 'conditions[0].key can be mcp_server only'],
      [{ group_by: [{ key: 'endpoint_type' }] }, 'group_by[0].key must match'],
    ];
    const isRefused = async (path: string, body: object, message: string): Promise<void> => {
      const { status, json } = await ask('POST', path, body);
      expect(json.data.message).to.include(message);
      expect([status, json.data.errorCode]).to.deep.equal([400, 'AB01']);
    };
    for (const [more, message] of wrongBudgets) await isRefused(budgets, { ...budget, ...more }, message);
    for (const [more, message] of wrongRates) await isRefused(rates, { ...rate, ...more }, message);
    await make(rates, { ...rate, target: 'mcp_tools', conditions: [{ key: 'mcp_tool', value: '*' }] });
  });

  it('are the same over gRPC', async () => {
    const { usageLimitsPolicies: usage, rateLimitsPolicies: limits } = plane.workspace.api;
    const { id } = await usage.createUsageLimitsPolicy(budget as never);
    await usage.updateUsageLimitsPolicy({ id, name: 'By gRPC', alert_threshold: 9 });
    expect(await usage.getUsageLimitsPolicy({ id })).to.deep.include({
      name: 'By gRPC',
      alert_threshold: 9,
      credit_limit: 10,
      group_by: budget.group_by,
    });
    await spend(id, 'api_key:a', 1);
    const { data } = await usage.listUsageLimitsEntities({ id });
    await usage.resetUsageLimitsEntity({ id, entity_id: data[0]!.id });
    expect((await usage.listUsageLimitsEntities({ id })).data[0]?.current_usage).to.equal(0);
    await usage.deleteUsageLimitsPolicy({ id });
    await refused(usage.getUsageLimitsPolicy({ id }), 'NOT_FOUND', 'AB08');

    const made = await limits.createRateLimitsPolicy(rate as never);
    await limits.updateRateLimitsPolicy({ id: made.id, value: 7 });
    const { data: rows } = await limits.listRateLimitsPolicies({});
    expect(rows.find((one) => one.id === made.id)).to.include({ value: 7, unit: 'rpw' });
    expect((await limits.getRateLimitsPolicy({ id: made.id })).conditions[0]).to.include({
      value: '@main/*',
    });
    await limits.deleteRateLimitsPolicy({ id: made.id });
    await refused(limits.deleteRateLimitsPolicy({ id: made.id }), 'NOT_FOUND', 'AB08');
  });

  it('keep what they count, and by what', async () => {
    const id = await make(budgets, budget);
    for (const [field, value] of Object.entries({ type: 'tokens', group_by: [{ key: 'model' }] })) {
      const { status, json } = await ask('PUT', `${budgets}/${id}`, { [field]: value });
      expect([status, json.data.message]).to.deep.equal([400, `${field} cannot be changed.`]);
    }
    const { json } = await ask('PUT', `${budgets}/${id}`, { credit_limit: 5 });
    expect(json.data.message).to.equal('alert_threshold must be below credit_limit.');
    expect((await ask('PUT', `${budgets}/${id}`, { credit_limit: null })).status).to.equal(400);
    await ask('PUT', `${budgets}/${id}`, {
      credit_limit: 5,
      alert_threshold: null,
      conditions: rate.conditions.slice(0, 1),
    });
    const { json: changed } = await ask('GET', `${budgets}/${id}`);
    expect(changed).to.deep.include({ credit_limit: 5, alert_threshold: null });
  });

  it('know a workspace by its slug, too, and are read as they were written', async () => {
    const { workspace_id: id } = plane.first;
    const { json: workspace } = await ask('GET', `/v1/admin/workspaces/${id}`);
    const conditions = [
      { key: 'workspace_id', value: ['other', workspace.slug] },
      { key: 'workspace_id', excludes: workspace.slug },
      { key: 'metadata.team', value: workspace.slug },
    ];
    for (const [path, body, store] of [
      [budgets, budget, plane.store.usageLimitsPolicies],
      [rates, rate, plane.store.rateLimitsPolicies],
    ] as const) {
      const made = await make(path, { ...body, conditions });
      const all: { id: string; conditions: unknown }[] = await store.inForce(id);
      expect(all.find((one) => one.id === made)?.conditions).to.deep.equal([
        { key: 'workspace_id', value: ['other', id] },
        { key: 'workspace_id', excludes: id },
        { key: 'metadata.team', value: workspace.slug },
      ]);
      const { json } = await ask('GET', `${path}/${made}`);
      expect(
        json.conditions.map(({ value, excludes }: Record<string, unknown>) => value ?? excludes),
      ).to.deep.equal([['other', workspace.slug], workspace.slug, workspace.slug]);
      await ask('DELETE', `${path}/${made}`);
    }
  });
});
