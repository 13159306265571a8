import { expect } from 'chai';
import type { LedgerReader, LedgerRow } from '../../src/common/ledger/record.js';
import { referencesOf } from '../../src/control-plane/administration/references/config-references.js';
import { type AdminPlane, refused, startPlane } from '../support/admin-plane.js';

const retry = (attempts: number) => ({ retry: { attempts } });

describe('configs over the administration plane', () => {
  const requests: LedgerRow[] = [];
  const ledger: LedgerReader = {
    recent: async () => ({ rows: requests, cursor: '0' }),
    page: async () => ({ rows: requests, cursor: '0', total: null }),
    follow: async () => ({ rows: requests, cursor: '0' }),
    get: async () => null,
    bodies: async () => null,
    allBodies: async () => ({ client: null, provider: null }),
    usage: async () => [],
  };
  let plane: AdminPlane;

  before(async () => {
    plane = await startPlane({ ledger });
  });
  after(() => plane.close());

  const create = async (body: object, key?: string) => {
    const { json } = await plane.rest('POST', '/v1/configs', { workspace_id: 'default', ...body }, { key });
    expect(json, JSON.stringify(json)).to.have.nested.property('success', true);
    return json.data as { id: string; slug: string; version_id: string; object: string };
  };

  it('are answered as rows in lists, and flat with their content as an object alone', async () => {
    const made = await create({ name: 'Fast', config: JSON.stringify(retry(1)), slug: 'pc-fast' });
    expect(made).to.have.keys('id', 'version_id', 'slug', 'object');
    const row = {
      id: made.id,
      name: 'Fast',
      slug: 'pc-fast',
      organisation_id: plane.first.organisation_id,
      workspace_id: plane.first.workspace_id,
      is_default: 0,
      status: 'active',
      object: 'config',
    };
    const list = await plane.rest('GET', '/v1/configs?workspace_id=default');
    expect(list.json).to.include({ object: 'list', total: 1 });
    expect(list.json.data[0]).to.include(row).and.not.have.property('config');
    const { json: one } = await plane.rest('GET', '/v1/configs/pc-fast');
    expect(one).to.deep.include({
      ...row,
      config: retry(1),
      format: 'json',
      type: 'ORG_CONFIG',
      version_id: made.version_id,
    });
  });

  it('make a version of each new content, which can be looked at', async () => {
    const made = await create({ name: 'v', config: retry(1) });
    const path = `/v1/configs/${made.slug}`;
    await plane.rest('PUT', path, { name: 'renamed' });
    const { json: put } = await plane.rest('PUT', path, { slug: made.slug, config: retry(2) });
    expect(put).to.have.keys('success', 'data');
    const { json: list } = await plane.rest('GET', `${path}/versions`);
    expect(list).to.include({ object: 'list', total: 2 });
    const versions = list.data.map((one: Record<string, unknown>) => [one['version_id'], one['config']]);
    expect(versions).to.deep.equal([
      [put.data.version_id, retry(2)],
      [made.version_id, retry(1)],
    ]);
    const { json: first } = await plane.rest('GET', `${path}/versions/${made.version_id}`);
    expect(first).to.deep.include({ id: made.id, name: 'renamed', config: retry(1), object: 'config' });
    const missing = plane.workspace.api.configs.getConfigVersion({ slug: made.slug, version_id: 'none' });
    await refused(missing, 'NOT_FOUND', 'AB08');
    await refused(plane.workspace.api.configs.listConfigVersions({ slug: 'none' }), 'NOT_FOUND', 'AB08');
    const second = await plane.rest('GET', `${path}/versions?page_size=1&current_page=1`);
    expect(second.json.data).to.have.length(1);
  });

  it('have one default in a workspace', async () => {
    const first = await create({ name: 'a', config: retry(1), isDefault: 1 });
    const second = await create({ name: 'b', config: retry(1) });
    const defaults = async () => {
      const { data } = await plane.workspace.api.configs.listConfigs({ page_size: 1000 });
      return data.filter(({ is_default }) => is_default === 1).map(({ id }) => id);
    };
    expect(await defaults()).to.deep.equal([first.id]);
    await plane.rest('PUT', `/v1/configs/${second.slug}`, { isDefault: 1 });
    expect(await defaults()).to.deep.equal([second.id]);
    const changes = await plane.store.changes.since((await plane.store.changes.newest()) - 2, 10);
    expect(changes).to.have.length(2);
    await plane.rest('PUT', `/v1/configs/${second.slug}`, { isDefault: 0 });
    expect(await defaults()).to.deep.equal([]);
  });

  it('leave their slug to others when they are deleted, and come back while it is free', async () => {
    const old = await create({ name: 'old', config: retry(1), slug: 'pc-again' });
    await plane.rest('DELETE', '/v1/configs/pc-again');
    expect((await plane.rest('DELETE', '/v1/configs/pc-again')).status).to.equal(404);
    expect((await plane.rest('GET', '/v1/configs/pc-again')).json.status).to.equal('archived');
    const next = await create({ name: 'next', config: retry(2), slug: 'pc-again' });
    expect((await plane.rest('GET', '/v1/configs/pc-again')).json.id).to.equal(next.id);
    const back = await plane.rest('PUT', `/v1/configs/${old.id}`, { status: 'active' });
    expect([back.status, back.json.data.errorCode]).to.deep.equal([409, 'AB07']);
    await plane.rest('DELETE', '/v1/configs/pc-again');
    plane.forgotten.length = 0;
    expect((await plane.rest('PUT', `/v1/configs/${old.id}`, { status: 'active' })).status).to.equal(200);
    expect(plane.forgotten.map(({ name }) => name)).to.deep.equal(['pc-again', old.id]);
  });

  it('show when they were last used, on request', async () => {
    const used = await create({ name: 'used', config: retry(1) });
    const at = Date.now() + 5;
    const request = { config: used.slug } as LedgerRow;
    requests.push({ ...request, at }, { ...request, at: 1 });
    const list = async (query: object) =>
      (await plane.workspace.api.configs.listConfigs({ page_size: 1000, ...query })).data;
    for (const config of await list({ return_last_used: true }))
      expect(config.last_used_at ?? null).to.equal(config.id === used.id ? new Date(at).toISOString() : null);
    for (const config of await list({})) expect(config.last_used_at ?? null).to.equal(null);
  });

  it('may name only what the workspace has', async () => {
    await plane.workspace.providers.create({ slug: 'main', provider: 'openai' });
    await plane.admin.providers.create({ slug: 'theirs', provider: 'openai', workspace_id: 'other' });
    const good = { targets: [{ provider: '@main' }, { virtualKey: 'main' }, { provider: 'openai' }] };
    await create({ name: 'x', config: good });
    const bad: readonly [object, string][] = [
      [{ provider: '@none' }, 'config.provider: the workspace has no provider @none.'],
      [{ targets: [{ provider: '@main' }, { virtual_key: 'theirs' }] }, 'config.targets[1].virtual_key'],
      [{ input_guardrails: ['pg-none'] }, 'config.input_guardrails[0]: there is no such guardrail.'],
    ];
    for (const [config, message] of bad) {
      const made = plane.workspace.configs.create({ name: 'x', config });
      expect(await refused(made, 'NOT_FOUND', 'AB02')).to.include(message);
    }
    const actions = { feedback: {} };
    const guardrail = await plane.workspace.api.guardrails.createGuardrail({
      name: 'g',
      checks: [{ id: 'default.notNull' }],
      actions: { deny: true, async: false, on_success: actions, on_fail: actions },
    });
    await create({ name: 'x', config: { output_guardrails: [guardrail.slug] } });
  });

  it('are looked through for names at every level, in both spellings', () => {
    const { providers, guardrails } = referencesOf({
      virtualKey: '@a',
      provider: 'openai',
      targets: [{ targets: [{ provider: '@b', inputGuardrails: ['g'] }, { provider: '@a' }] }],
      output_guardrails: [{ 'default.notNull': {} }],
      beforeRequestHooks: [{ id: 'h' }, { id: 'i', checks: [{ id: 'default.notNull' }] }],
      mirror: { share: 1, target: { provider: '@c' } },
      cache: { mode: 'semantic', embedding: { provider: '@d', model: 'm' } },
      overrideParams: { model: '@e/m', provider: '@not-one' },
      default_params: { model: 'gpt-4o' },
    });
    expect([...providers]).to.deep.equal([
      ['a', 'config.virtualKey'],
      ['b', 'config.targets[0].targets[0].provider'],
      ['c', 'config.mirror.target.provider'],
      ['d', 'config.cache.embedding.provider'],
      ['e', 'config.overrideParams.model'],
    ]);
    expect(guardrails).to.deep.equal([
      { name: 'g', path: 'config.targets[0].targets[0].inputGuardrails[0]' },
      { name: 'h', path: 'config.beforeRequestHooks[0]' },
    ]);
  });

  it('of one name in several workspaces are selected by workspace_id', async () => {
    for (const workspace_id of ['default', 'other'])
      await create({ name: 'twin', slug: 'pc-twin', config: retry(1), workspace_id });
    const message = await refused(plane.admin.configs.get('pc-twin'), 'INVALID_ARGUMENT', 'AB01');
    expect(message).to.include('workspace_id is required');
    expect((await plane.admin.configs.get('pc-twin', 'other')).workspace_id).to.equal(plane.other);
    const own = await plane.workspace.configs.get('pc-twin');
    expect(own.workspace_id).to.equal(plane.first.workspace_id);
    const theirs = await plane.admin.configs.get('pc-twin', 'other');
    await refused(plane.workspace.configs.get(theirs.id), 'NOT_FOUND', 'AB08');
    await refused(plane.workspace.configs.get(theirs.id, 'other'), 'NOT_FOUND', 'AB02');
  });
});
