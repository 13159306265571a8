import { expect } from 'chai';
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
const secrets = { OPENAI_KEY: 'sk-canary-openai-1', TARGET_KEY: 'sk-canary-target-2', HEADER: 'canary-header-3' };

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
      const names: string[] = [...JSON.stringify(exported.json.data).matchAll(/"env":"(\w+)"/g)].map((m) => m[1]!);
      const values = Object.fromEntries(names.map((name) => [name, `sk-canary-${name}`]));
      const applied = await other.rest('POST', '/v1/apply', { documents: exported.json.data, secrets: values });
      expect(applied.status, JSON.stringify(applied.json)).to.equal(200);
      const again = await other.rest('GET', '/v1/export');
      expect(again.json).to.deep.equal(exported.json);
    } finally {
      await other.close();
    }
  });
});
