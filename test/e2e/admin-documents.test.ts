import { expect } from 'chai';
import { scopesOf } from '../../src/common/access/scopes.js';
import { type AdminPlane, startPlane } from '../support/admin-plane.js';

const reaction = { feedback: {} };
const documents = [
  {
    kind: 'ApiKey',
    name: 'app',
    workspace: 'shop',
    spec: { scopes: ['completions.write'], defaults: { config_id: 'chat', metadata: { team: 'shop' } } },
  },
  {
    kind: 'Config',
    name: 'chat',
    workspace: 'shop',
    spec: {
      name: 'Chat',
      config: {
        strategy: { mode: 'fallback' },
        input_guardrails: ['no mail'],
        targets: [{ provider: '@openai-shop', api_key: { env: 'TARGET_KEY' } }, { provider: '@openai-shop' }],
      },
    },
  },
  {
    kind: 'Guardrail',
    name: 'no mail',
    workspace: 'shop',
    spec: {
      checks: [{ id: 'default.contains', parameters: { words: ['mail'], operator: 'none' } }],
      actions: { deny: true, async: false, on_success: reaction, on_fail: reaction },
    },
  },
  {
    kind: 'Provider',
    name: 'openai-shop',
    workspace: 'shop',
    spec: { integration_id: 'openai', usage_limits: { credit_limit: 20, periodic_reset: 'monthly' } },
  },
  {
    kind: 'Integration',
    name: 'openai',
    spec: {
      ai_provider_id: 'openai',
      key: { env: 'OPENAI_KEY' },
      configurations: { custom_headers: { 'x-secret': { env: 'HEADER' } }, openai_project: 'p1' },
      models: [{ slug: 'gpt-4o', enabled: true }],
      workspaces: [{ id: 'shop', enabled: true, usage_limits: [{ credit_limit: 5 }] }],
    },
  },
  {
    kind: 'Workspace',
    name: 'shop',
    spec: {
      name: 'Shop',
      description: 'All of the shop',
      defaults: { metadata: { a: 'b' }, input_guardrails: ['no mail'], user_api_key_config: 'chat' },
      settings: { user_api_key_ttl: 3600 },
      security_settings: { members_view_logs: true },
    },
  },
  {
    kind: 'UsageLimitsPolicy',
    name: 'by key',
    workspace: 'shop',
    spec: {
      conditions: [{ key: 'api_key', value: 'app' }],
      group_by: [{ key: 'api_key' }],
      type: 'cost',
      credit_limit: 10,
      periodic_reset: 'weekly',
    },
  },
  {
    kind: 'RateLimitsPolicy',
    name: 'rate',
    workspace: 'shop',
    spec: {
      conditions: [{ key: 'model', value: '@openai-shop/gpt-4o' }],
      group_by: [{ key: 'workspace_id' }],
      type: 'requests',
      unit: 'rpm',
      value: 100,
    },
  },
  { kind: 'Label', name: 'prod', workspace: 'shop', spec: { color_code: '#ff0000' } },
  { kind: 'Collection', name: 'inner', workspace: 'shop', spec: { parent_collection_id: 'outer' } },
  { kind: 'Collection', name: 'outer', workspace: 'shop', spec: {} },
  { kind: 'SavedFilter', name: 'mine', workspace: 'shop', spec: { filters: { status_code: '200' } } },
  {
    kind: 'Guardrail',
    name: 'everywhere',
    spec: {
      checks: [{ id: 'default.wordCount', parameters: { minWords: 0, maxWords: 100 } }],
      actions: { deny: false, async: false, on_success: reaction, on_fail: reaction },
    },
  },
  { kind: 'ApiKey', name: 'auditor', spec: { scopes: ['audit_logs.list'] } },
  {
    kind: 'Organisation',
    spec: { name: 'ACME', settings: { user_api_key_ttl: 7200 }, input_guardrails: ['everywhere'] },
  },
];
const secrets = {
  OPENAI_KEY: 'sk-canary-openai-1',
  TARGET_KEY: 'sk-canary-target-2',
  HEADER: 'canary-header-3',
};

describe('documents of configuration', () => {
  let plane: AdminPlane;

  before(async () => {
    plane = await startPlane();
  });

  after(() => plane.close());

  const apply = (more: object = {}) => plane.rest('POST', '/v1/apply', { documents, secrets, ...more });

  it('are applied in any order, and the second time nothing changes', async () => {
    const first = await apply();
    expect(first.status, JSON.stringify(first.json)).to.equal(200);
    expect(first.json.created).to.equal(documents.length - 1);
    const again = await apply();
    expect(again.status, JSON.stringify(again.json)).to.equal(200);
    expect(again.json.data.filter((one: { action: string }) => one.action !== 'unchanged')).to.deep.equal([]);
  });

  it('come out of an export as they go in', async () => {
    const exported = await plane.rest('GET', '/v1/export');
    expect(exported.status, JSON.stringify(exported.json)).to.equal(200);
    const other = await startPlane();
    try {
      const names: string[] = [...JSON.stringify(exported.json.data).matchAll(/"env":"(\w+)"/g)].map(
        (m) => m[1]!,
      );
      const values = Object.fromEntries(names.map((name) => [name, `sk-canary-${name}`]));
      const applied = await other.rest('POST', '/v1/apply', {
        documents: exported.json.data,
        secrets: values,
      });
      expect(applied.status, JSON.stringify(applied.json)).to.equal(200);
      const again = await other.rest('GET', '/v1/export');
      expect(again.json).to.deep.equal(exported.json);
    } finally {
      await other.close();
    }
  });

  const labelOf = (name: string, more: object = {}) => ({
    kind: 'Label',
    name,
    workspace: 'shop',
    spec: {},
    ...more,
  });
  const auditOf = (requestId: string) =>
    plane.store.audit.list(plane.first.organisation_id, { requestId }, { offset: 0, limit: 100 });
  const labels = async (): Promise<string[]> => {
    const { json } = await plane.rest('GET', '/v1/labels?workspace_id=shop&page_size=1000');
    return json.data.map(({ name }: { name: string }) => name);
  };

  it('leave one row of each changed record in the audit log, all with the id of the request', async () => {
    const made = await plane.rest('POST', '/v1/apply', {
      documents: [labelOf('audited-1'), labelOf('audited-2')],
      set: 'audited',
    });
    const rows = await auditOf(made.headers.get('x-request-id') ?? '');
    expect(rows.rows.map(({ resourceType, action, uri }) => [resourceType, action, uri])).to.deep.equal([
      ['label', 'create', '/v1/labels'],
      ['label', 'create', '/v1/labels'],
    ]);
    const again = await plane.rest('POST', '/v1/apply', {
      documents: [labelOf('audited-1'), labelOf('audited-2')],
      set: 'audited',
    });
    expect((await auditOf(again.headers.get('x-request-id') ?? '')).total).to.equal(0);
    const verdict = await plane.store.audit.verify(plane.first.organisation_id);
    expect(verdict.ok).to.equal(true);
  });

  it('change nothing where one of them is refused, and every fault is reported', async () => {
    const { status, json } = await plane.rest('POST', '/v1/apply', {
      documents: [
        labelOf('half'),
        labelOf('wrong', { spec: { color_code: 7 } }),
        { kind: 'Label', name: 'nowhere', workspace: 'no-such', spec: {} },
        { kind: 'Config', name: 'pc-x', workspace: 'shop', spec: { config: { provider: '@nowhere' } } },
        { kind: 'Nothing', name: 'x' },
      ],
    });
    expect(status).to.equal(400);
    expect(json.data.errors.map(({ path }: { path: string }) => path)).to.deep.equal([
      'documents[1].spec.color_code',
      'documents[2].workspace',
      'documents[3].spec.config.provider',
      'documents[4].kind',
    ]);
    expect(await labels()).to.not.include('half');
  });

  it('are refused to a key that may not change the record itself', async () => {
    const { json: key } = await plane.rest('POST', '/v1/api-keys/workspace/service', {
      name: 'reader of configs',
      workspace_id: 'shop',
      scopes: ['configs.update', 'configs.list', 'configs.read', 'prompts.list', 'workspaces.list'],
    });
    const refused = await plane.rest(
      'POST',
      '/v1/apply',
      { documents: [labelOf('forbidden')] },
      { key: key.key },
    );
    expect(refused.status).to.equal(403);
    expect(refused.json.data.message).to.include('prompts.create');
    expect(await labels()).to.not.include('forbidden');
  });

  it('clear what an earlier apply set, and leave alone what none did', async () => {
    const described = labelOf('cleared', { spec: { description: 'mine', color_code: '#123456' } });
    await plane.rest('POST', '/v1/apply', { documents: [described], set: 'clear' });
    const { json } = await plane.rest('POST', '/v1/apply', {
      documents: [labelOf('cleared', { spec: { color_code: '#123456' } })],
      set: 'clear',
    });
    expect(json.data[0].changes).to.deep.equal([
      { path: 'spec.description', before: 'mine', after: null, secret: false },
    ]);
    await plane.rest('POST', '/v1/labels', { name: 'by-hand', workspace_id: 'shop', description: 'kept' });
    const kept = await plane.rest('POST', '/v1/apply', { documents: [labelOf('by-hand')], set: 'clear' });
    expect(kept.json.unchanged, JSON.stringify(kept.json)).to.equal(1);
  });

  it('delete with prune what the same set made, and nothing else', async () => {
    const all = { documents: [labelOf('pruned'), labelOf('kept')], set: 'prune' };
    await plane.rest('POST', '/v1/labels', { name: 'of-a-person', workspace_id: 'shop' });
    await plane.rest('POST', '/v1/apply', { ...all, documents: [...all.documents, labelOf('of-a-person')] });
    await plane.rest('POST', '/v1/apply', { documents: [labelOf('of-another-set')], set: 'other' });
    const plan = await plane.rest('POST', '/v1/apply', {
      ...all,
      documents: [labelOf('kept')],
      prune: true,
      dry_run: true,
    });
    expect(plan.json.deleted, JSON.stringify(plan.json)).to.equal(1);
    expect(await labels()).to.include('pruned');
    const { json } = await plane.rest('POST', '/v1/apply', {
      ...all,
      documents: [labelOf('kept')],
      prune: true,
    });
    expect(json.data.filter(({ action }: { action: string }) => action === 'delete')).to.deep.include({
      ...{
        index: -1,
        kind: 'Label',
        name: 'pruned',
        workspace: 'shop',
        action: 'delete',
        changes: [],
        kept_secrets: [],
      },
      id: json.data.at(-1).id,
    });
    expect(await labels())
      .to.include.members(['kept', 'of-a-person', 'of-another-set'])
      .and.not.include('pruned');
  });

  it('leave alone with prune what the key does not see, though it is of the same set', async () => {
    const { organisation_id: organisation } = plane.first;
    const set = 'shared';
    const config = { ...labelOf('hidden'), workspace: 'hidden' };
    const workspace = { kind: 'Workspace', name: 'hidden', spec: { name: 'Hidden' } };
    const guardrail = { ...documents.find(({ name }) => name === 'everywhere'), name: 'of all' };
    await plane.rest('POST', '/v1/apply', { documents: [workspace, guardrail, config], set });
    const ofSet = async () =>
      (await plane.store.appliedDocuments.list(organisation)).filter((one) => one.set === set).length;
    expect(await ofSet()).to.equal(3);
    const { key } = (
      await plane.rest('POST', '/v1/api-keys/workspace/service', {
        name: 'tenant',
        workspace_id: 'shop',
        scopes: scopesOf('workspace-service'),
      })
    ).json;
    await plane.rest('POST', '/v1/apply', { documents: [labelOf('of-tenant')], set }, { key });
    const pruned = await plane.rest('POST', '/v1/apply', { documents: [], set, prune: true }, { key });
    expect([pruned.status, pruned.json.deleted], JSON.stringify(pruned.json)).to.deep.equal([200, 1]);
    expect(await ofSet()).to.equal(3);
    expect(await labels()).to.not.include('of-tenant');
  });

  it('delete a workspace with the guardrails that are its defaults', async () => {
    const [own, shared] = ['no mail', 'everywhere'].map((name) => documents.find((one) => one.name === name));
    const defaults = { input_guardrails: ['own'], output_guardrails: ['over all'] };
    const set = 'closed';
    const all = [
      { kind: 'Workspace', name: 'closed', spec: { name: 'Closed', defaults } },
      { ...own, name: 'own', workspace: 'closed' },
      { ...shared, name: 'over all' },
    ];
    const made = await plane.rest('POST', '/v1/apply', { documents: all, set });
    expect(made.json.created, JSON.stringify(made.json)).to.equal(3);
    const pruned = await plane.rest('POST', '/v1/apply', { documents: [], set, prune: true });
    expect([pruned.status, pruned.json.deleted], JSON.stringify(pruned.json)).to.deep.equal([200, 3]);
  });

  it('refuse to prune what a record that stays still uses', async () => {
    const config = {
      kind: 'Config',
      name: 'pc-used',
      workspace: 'shop',
      spec: { config: { provider: '@openai-shop' } },
    };
    await plane.rest('POST', '/v1/apply', { documents: [config], set: 'used' });
    await plane.rest('POST', '/v1/api-keys/workspace/service', {
      name: 'uses it',
      workspace_id: 'shop',
      scopes: ['completions.write'],
      defaults: { config_id: 'pc-used' },
    });
    const refused = await plane.rest('POST', '/v1/apply', { documents: [], set: 'used', prune: true });
    expect(refused.status).to.equal(400);
    expect(refused.json.data.message).to.include(
      'Config shop/pc-used cannot be deleted: ApiKey uses it uses it.',
    );
  });

  describe('with a secret whose variable is not set', () => {
    const openai = documents.find(({ kind }) => kind === 'Integration')!;
    const withSpec = (document: object, spec: object) => ({
      ...document,
      spec: { ...(document as { spec: object }).spec, ...spec },
    });
    const chat = documents.find(({ kind }) => kind === 'Config')!;
    const send = (document: object, more: object = {}) =>
      plane.rest('POST', '/v1/apply', { documents: [document], set: 'kept', ...more });
    const keyOf = async () => {
      const { organisation_id: org } = plane.first;
      const integration = (await plane.store.integrations.get(org, 'openai'))!;
      return [integration.maskedKey, integration.configurations];
    };

    it('keep what is stored, and report that', async () => {
      const { status, json } = await send(openai);
      expect(status, JSON.stringify(json)).to.equal(200);
      expect([json.unchanged, json.data[0].changes, json.data[0].kept_secrets]).to.deep.equal([
        1,
        [],
        [
          { path: 'spec.key', name: 'OPENAI_KEY' },
          { path: 'spec.configurations.custom_headers.x-secret', name: 'HEADER' },
        ],
      ]);
    });

    it('keep it through a change of something else, and notice another value afterwards', async () => {
      const before = await keyOf();
      const described = { description: 'new' };
      expect((await send(withSpec(openai, described))).json.updated).to.equal(1);
      expect(await keyOf()).to.deep.equal(before);
      const own = { OPENAI_KEY: 'sk-canary-openai-9', HEADER: secrets.HEADER };
      const other = await send(withSpec(openai, described), { secrets: own, dry_run: true });
      expect(other.json.data[0].changes).to.deep.include({
        path: 'spec.key',
        before: null,
        after: null,
        secret: true,
      });
    });

    it('are refused where the record is not there, or has no such secret', async () => {
      const fresh = await send({ ...openai, name: 'openai-fresh' });
      expect(fresh.status).to.equal(400);
      expect(fresh.json.data.errors[0]).to.deep.equal({
        path: 'documents[0].spec.key',
        message: 'has no value: the variable OPENAI_KEY is not set.',
      });
      const headers = { 'x-secret': { env: 'HEADER' }, 'x-more': { env: 'MORE' } };
      const more = await send(withSpec(openai, { configurations: { custom_headers: headers } }));
      expect(more.json.data.errors.map(({ path }: { path: string }) => path)).to.include(
        'documents[0].spec.configurations.custom_headers.x-more',
      );
    });

    it('are refused where a config changes around a secret, which could reach another provider', async () => {
      const targets = [{ provider: '@openai-shop', api_key: { env: 'TARGET_KEY' }, weight: 2 }];
      const { status, json } = await send(
        withSpec(chat, { config: { strategy: { mode: 'fallback' }, targets } }),
      );
      expect(status).to.equal(400);
      expect(json.data.message)
        .to.include('documents[0].spec.config.targets[0].api_key has no value')
        .and.include('kept only where nothing else in spec.config changes');
    });

    it('are refused when the request asks for every value', async () => {
      const { status, json } = await send(openai, { strict_secrets: true });
      expect([status, json.data.errors.length]).to.deep.equal([400, 2]);
    });
  });

  it('keep secrets out of answers, the audit log, exports and what is stored of them', async () => {
    const exported = await plane.rest('GET', '/v1/export');
    const audit = await plane.store.audit.list(plane.first.organisation_id, {}, { offset: 0, limit: 1000 });
    const stored = await plane.store.appliedDocuments.list(plane.first.organisation_id);
    const dry = await apply({ dry_run: true, secrets: { ...secrets, OPENAI_KEY: 'sk-canary-openai-9' } });
    expect(dry.json.data.find(({ name }: { name: string }) => name === 'openai').changes).to.deep.equal([
      { path: 'spec.key', before: null, after: null, secret: true },
    ]);
    for (const text of [exported, audit, stored, dry].map((one) => JSON.stringify(one)))
      expect(text).to.not.include('canary');
    expect(plane.logged.join()).to.not.include('canary');
  });
});
