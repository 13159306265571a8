import { expect } from 'chai';
import { type AdminPlane, refused, startPlane } from '../support/admin-plane.js';

describe('workspaces', () => {
  let plane: AdminPlane;
  let serial = 0;
  before(async () => {
    plane = await startPlane();
  });
  after(() => plane.close());

  const makeUser = (more: object = {}) =>
    plane.admin.api.users.createUser({ email: `w${++serial}@example.com`, role: 'member', ...more });
  const make = (more: object = {}) => plane.rest('POST', '/v1/admin/workspaces', { name: 'Made', ...more });
  const get = async (id: string) => (await plane.rest('GET', `/v1/admin/workspaces/${id}`)).json;
  const put = (id: string, change: object) => plane.rest('PUT', `/v1/admin/workspaces/${id}`, change);
  const remove = (id: string, body: object) => plane.rest('DELETE', `/v1/admin/workspaces/${id}`, body);
  const codeOf = ({ json }: { json: { data: { errorCode: string } } }): string => json.data.errorCode;

  it('are created with every field, and read back', async () => {
    const user = await makeUser();
    const made = await make({
      name: 'Research',
      description: 'for trying things out',
      icon: '🧪',
      users: [user.id],
      defaults: { metadata: { team: 'red' } },
      usage_limits: [
        { credit_limit: 100, alert_threshold: 80, periodic_reset: 'monthly', metadata: { team: 'red' } },
      ],
      rate_limits: [{ type: 'requests', unit: 'rps', value: 5 }],
    });
    expect(made.status, JSON.stringify(made.json)).to.equal(200);
    const { id, slug, created_at, last_updated_at, etag, created_by, security_settings, usage_limits } =
      made.json;
    expect(slug).to.match(/^ws-research-/);
    expect(Object.keys(security_settings)).to.have.length(35);
    expect(security_settings).to.include({ membersViewLogs: true, membersWriteConfigs: false });
    expect(usage_limits).to.have.length(1);
    expect(usage_limits[0]).to.deep.include({
      type: 'cost',
      credit_limit: 100,
      alert_threshold: 80,
      periodic_reset: 'monthly',
      metadata: { team: 'red' },
      status: 'active',
    });
    expect(made.json).to.deep.equal({
      id,
      slug,
      name: 'Research',
      description: 'for trying things out',
      created_at,
      last_updated_at,
      defaults: {
        metadata: { team: 'red' },
        input_guardrails: [],
        output_guardrails: [],
        user_api_key_config: null,
        is_default: 0,
        object: 'workspace',
      },
      usage_limits,
      rate_limits: [{ type: 'requests', unit: 'rps', value: 5 }],
      status: 'active',
      security_settings,
      settings: {
        user_api_key_ttl: 0,
        user_api_key_max_ttl: 0,
        user_api_key_count: -1,
        debug_log: 1,
        log_retention_days: 0,
        log_body_retention_days: 0,
        user_key_metadata: 0,
        user_key_metadata_override: 0,
        user_api_key_rotation_period: null,
        user_api_key_auto_create: false,
      },
      last_reset_at: null,
      object: 'workspace',
      icon: '🧪',
      is_default: 0,
      organisation_id: plane.first.organisation_id,
      created_by,
      creation_source: 'api',
      scim_source_id: null,
      etag,
    });
    const { users, ...rest } = await get(slug);
    expect(rest).to.deep.equal(made.json);
    expect(users.map((one: { id: string; role: string }) => [one.id, one.role])).to.deep.equal([
      [user.id, 'member'],
    ]);
    const detail = await plane.admin.api.workspaces.getWorkspace({ workspace_id: id, include_usage: true });
    expect(detail.usage_limits[0]).to.deep.include({ current_usage: 0, is_exhausted_alerts_sent: false });
  });

  it('show what was used of their budget, and set it back', async () => {
    const made = await make({
      name: 'Spending',
      usage_limits: [{ credit_limit: 5, metadata: { team: 'a' } }],
    });
    const { id, slug } = made.json;
    const key = await plane.store.keys.create(plane.first.organisation_id, {
      type: 'workspace-service',
      workspaceId: id,
      name: 'k',
      scopes: ['completions.write'],
    });
    if (key === 'missing') throw new Error(key);
    const rule = async () => (await plane.store.keys.findByHash(key.hash))!.budgets![0]!;
    await plane.spend(await rule(), 5_000_000_000);
    const shown = async () =>
      (await plane.rest('GET', `/v1/admin/workspaces/${slug}?include_usage=true`)).json;
    const { usage_limits } = await shown();
    expect(usage_limits[0]).to.deep.include({
      current_usage: 5,
      status: 'exhausted',
      metadata: { team: 'a' },
    });
    const { json: list } = await plane.rest('GET', '/v1/admin/workspaces?exact_name=Spending');
    expect(list.data[0].usage_limits[0]).to.include({ status: 'exhausted' });
    expect(list.data[0].usage_limits[0]).to.not.have.property('current_usage', 5);
    const tokens = { usage_limits: [{ type: 'tokens', credit_limit: 9 }] };
    const refused = await plane.rest('PUT', `/v1/admin/workspaces/${slug}`, tokens);
    expect(refused.json.data.message).to.include('usage_limits[0].type');
    await plane.rest('PUT', `/v1/admin/workspaces/${slug}`, { reset_usage: true });
    const after = await shown();
    expect(after.usage_limits[0]).to.deep.include({ current_usage: 0, metadata: { team: 'a' } });
    expect(after.last_reset_at).to.equal(after.usage_limits[0].last_reset_at).and.be.a('string');
    expect((await plane.rest('PUT', `/v1/admin/workspaces/${slug}`, tokens)).status).to.equal(200);
    expect((await rule()).measure).to.equal('tokens');
  });

  it('may have names of 128 characters in any script', async () => {
    const name = '🧪'.repeat(128);
    const made = await make({ name });
    expect([made.status, made.json.name]).to.deep.equal([200, name]);
    expect(codeOf(await make({ name: `${name}🧪` }))).to.equal('AB01');
  });

  it('have their alias without /admin', async () => {
    const made = await plane.rest('POST', '/v1/workspaces', { name: 'Alias', slug: 'alias' });
    expect((await plane.rest('GET', '/v1/workspaces/alias')).json.id).to.equal(made.json.id);
    expect((await plane.rest('GET', '/v1/workspaces?exact_name=Alias')).json.total).to.equal(1);
    expect(codeOf(await make({ slug: 'alias' }))).to.equal('AB07');
  });

  it('change field by field; null clears', async () => {
    const { id, etag } = (await make({ description: 'x', icon: 'y', defaults: { metadata: { a: 'b' } } }))
      .json;
    await put(id, {
      name: 'Renamed',
      settings: { user_api_key_ttl: 60, user_api_key_rotation_period: 'weekly' },
    });
    await put(id, { icon: null, security_settings: { membersViewLogs: false } });
    await put(id, {
      settings: { user_api_key_count: 3 },
      usage_limits: [{ credit_limit: 5 }],
      rate_limits: [{ type: 'tokens', unit: 'rpm', value: 0 }],
    });
    const after = await get(id);
    expect(after).to.include({ name: 'Renamed', description: 'x', icon: null });
    expect(after.defaults.metadata).to.deep.equal({ a: 'b' });
    expect(after.settings).to.include({
      user_api_key_ttl: 60,
      user_api_key_rotation_period: 'weekly',
      user_api_key_count: 3,
    });
    expect(after.security_settings).to.include({ membersViewLogs: false, managersViewLogs: true });
    expect(after.usage_limits).to.have.length(1);
    expect(after.rate_limits).to.have.length(1);
    await put(id, {
      security_settings: null,
      usage_limits: null,
      rate_limits: null,
      settings: { user_api_key_ttl: null },
      defaults: { metadata: null },
    });
    const cleared = await get(id);
    expect(cleared.security_settings.membersViewLogs).to.equal(true);
    expect(cleared.usage_limits).to.equal(null);
    expect(cleared.rate_limits).to.equal(null);
    expect(cleared.settings).to.include({ user_api_key_ttl: 0, user_api_key_count: 3 });
    expect(cleared.defaults.metadata).to.deep.equal({});
    const late = await plane.rest(
      'PUT',
      `/v1/workspaces/${id}`,
      { name: 'Late' },
      { headers: { 'if-match': `"${etag}"` } },
    );
    expect([late.status, codeOf(late)]).to.deep.equal([409, 'AB07']);
    expect(codeOf(await put(id, { slug: 'other-slug' }))).to.equal('AB01');
  });

  it('refuse settings that cannot be', async () => {
    const { id } = (await make()).json;
    const wrong: readonly (readonly [object, string])[] = [
      [{ settings: { user_api_key_rotation_period: 'daily' } }, 'settings.user_api_key_rotation_period'],
      [{ settings: { user_api_key_rotation_period: 366 } }, 'settings.user_api_key_rotation_period'],
      [{ settings: { user_api_key_ttl: 10, user_api_key_max_ttl: 5 } }, 'settings.user_api_key_ttl'],
      [{ settings: { debug_log: 2 } }, 'settings.debug_log'],
      [{ usage_limits: [{ credit_limit: 5, alert_threshold: 5 }] }, 'usage_limits[0].alert_threshold'],
      [{ usage_limits: [{ credit_limit: 5 }, { credit_limit: 6 }] }, 'usage_limits'],
      [{ usage_limits: [] }, 'usage_limits must not be an empty list.'],
      [{ usage_limits: [{ credit_limit: 2 ** 53 }] }, 'usage_limits[0].credit_limit'],
      [{ usage_limits: [{ credit_limit: 1e308 }] }, 'usage_limits[0].credit_limit'],
      [{ security_settings: { membersFly: true } }, 'security_settings'],
      [{ name: '' }, 'name'],
    ];
    for (const [change, path] of wrong) {
      const answer = await put(id, change);
      expect(codeOf(answer), JSON.stringify(change)).to.equal('AB01');
      expect(answer.json.data.message).to.include(path);
    }
    for (const [defaults, path] of [
      [{ input_guardrails: ['pg-none'] }, 'defaults.input_guardrails[0]'],
      [{ user_api_key_config: 'pc-none' }, 'defaults.user_api_key_config'],
    ] as const) {
      const answer = await put(id, { defaults });
      expect([answer.status, codeOf(answer)]).to.deep.equal([404, 'AB02']);
      expect(answer.json.data.message).to.include(path);
    }
    const none = await make({ usage_limits: [] });
    expect([codeOf(none), none.json.data.message]).to.deep.equal([
      'AB01',
      'usage_limits must not be an empty list.',
    ]);
    expect(codeOf(await make({ users: ['nobody'] }))).to.equal('AB02');
    expect(codeOf(await make({ users: [{ name: 'x' }] }))).to.equal('AB01');
  });

  it('name a config of their own for the keys of their users', async () => {
    const config = await plane.rest('POST', '/v1/configs', {
      name: 'c',
      config: { retry: { attempts: 1 } },
      workspace_id: 'other',
    });
    const { slug } = config.json.data;
    expect((await put('other', { defaults: { user_api_key_config: slug } })).status).to.equal(200);
    expect((await get('other')).defaults.user_api_key_config).to.equal(slug);
    await put('other', { defaults: { user_api_key_config: null } });
    expect((await get('other')).defaults.user_api_key_config).to.equal(null);
    expect(codeOf(await put('default', { defaults: { user_api_key_config: slug } }))).to.equal('AB02');
  });

  it('are listed by a part of the name in its own case, by the whole name and by status', async () => {
    await make({ name: 'Listed One' });
    const gone = await make({ name: 'Listed Two' });
    await remove(gone.json.id, { name: 'Listed Two' });
    const names = async (query: string): Promise<string[]> =>
      (await plane.rest('GET', `/v1/admin/workspaces?${query}`)).json.data.map(
        (one: { name: string }) => one.name,
      );
    expect(await names('name=Listed')).to.deep.equal(['Listed One']);
    expect(await names('name=listed')).to.deep.equal([]);
    expect(await names('name=Listed&status=active,archived')).to.deep.equal(['Listed One', 'Listed Two']);
    expect(await names('name=Listed&status=archived')).to.deep.equal(['Listed Two']);
    expect(await names('exact_name=Listed')).to.deep.equal([]);
    const paged = await plane.rest(
      'GET',
      '/v1/admin/workspaces?name=Listed&status=active,archived&page_size=1&current_page=1',
    );
    expect(paged.json).to.deep.include({ object: 'list', total: 2 });
    expect(paged.json.data).to.have.length(1);
  });

  it('show a key of a workspace that one alone', async () => {
    const { data, total } = await plane.workspace.api.workspaces.listWorkspaces();
    expect([total, data[0]?.id]).to.deep.equal([1, plane.first.workspace_id]);
    const other = plane.workspace.api.workspaces.getWorkspace({ workspace_id: plane.other });
    await refused(other, 'NOT_FOUND', 'AB08');
    const archived = plane.workspace.api.workspaces.listWorkspaces({ status: ['archived'] });
    await refused(archived, 'PERMISSION_DENIED', 'AB03');
    await refused(plane.workspace.api.workspaces.createWorkspace({ name: 'x' }), 'PERMISSION_DENIED', 'AB03');
  });

  it('let managers change them, but not the rules that bind managers', async () => {
    const user = await makeUser({ workspaces: [{ id: 'default', role: 'manager' }] });
    const { key } = await plane.admin.api.apiKeys.createApiKey({
      type: 'workspace',
      sub_type: 'user',
      name: 'own',
      user_id: user.id,
      scopes: ['workspaces.update'],
      workspace_id: 'default',
    });
    const { api } = plane.client(key);
    await api.workspaces.updateWorkspace({ workspace_id: 'default', description: 'by a manager' });
    const flags = { managers_view_logs: true };
    const loosened = api.workspaces.updateWorkspace({ workspace_id: 'default', security_settings: flags });
    await refused(loosened, 'PERMISSION_DENIED', 'AB03');
    await put('default', { security_settings: { managersUpdateWs: false } });
    const again = api.workspaces.updateWorkspace({ workspace_id: 'default', description: 'once more' });
    await refused(again, 'PERMISSION_DENIED', 'AB03');
    await put('default', { security_settings: null });
  });

  it('are archived by their exact name, and with their records only on request', async () => {
    const { id, slug } = (await make({ name: 'Going' })).json;
    const { key } = await plane.admin.api.apiKeys.createApiKey({
      type: 'workspace',
      sub_type: 'service',
      name: 'k',
      scopes: ['configs.list'],
      workspace_id: id,
    });
    const asked = (text: string) => plane.rest('GET', '/v1/configs', undefined, { key: text });
    expect((await asked(key)).status).to.equal(200);
    expect(codeOf(await remove(slug, { name: 'going' }))).to.equal('AB01');
    const held = await remove(slug, { name: 'Going' });
    expect([held.status, codeOf(held)]).to.deep.equal([409, 'AB07']);
    plane.forgotten.length = 0;
    const gone = await remove(slug, { name: 'Going', force_delete: true });
    expect([gone.status, gone.json]).to.deep.equal([200, {}]);
    expect(plane.forgotten).to.deep.include({ kind: 'key', workspace: id, name: '*' });
    expect((await asked(key)).status).to.equal(401);
    expect((await get(id)).status).to.equal('archived');
    expect(codeOf(await put(id, { name: 'Back' }))).to.equal('AB07');
    expect(codeOf(await remove(id, { name: 'Going', force_delete: true }))).to.equal('AB07');
    const config = await plane.rest('POST', '/v1/configs', { name: 'x', config: {}, workspace_id: id });
    expect(codeOf(config)).to.equal('AB02');
  });

  it('have a first one that stays', async () => {
    expect((await get('default')).is_default).to.equal(1);
    const kept = await remove('default', { name: 'default', force_delete: true });
    expect([kept.status, codeOf(kept)]).to.deep.equal([403, 'AB03']);
  });
});
