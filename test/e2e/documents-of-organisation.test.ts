import { expect } from 'chai';
import { type AdminPlane, startPlane } from '../support/admin-plane.js';

const documents = [
  { kind: 'Member', name: 'ann@example.com', workspace: 'shop', spec: { role: 'manager' } },
  { kind: 'User', name: 'Ann@example.com', spec: { role: 'member', first_name: 'Ann' } },
  { kind: 'User', name: 'ben@example.com', spec: { role: 'admin' } },
  { kind: 'Workspace', name: 'shop', spec: { name: 'Shop' } },
  { kind: 'ScimMapping', name: 'Engineers', workspace: 'shop', spec: { role: 'member' } },
  {
    kind: 'ModelPrice',
    name: 'openai/gpt-4o@2026-10-07',
    spec: {
      pay_as_you_go: { request_token: { price: 0.0002 }, response_token: { price: 0.0008 } },
      source: 'K-17',
    },
  },
  { kind: 'Plugin', name: 'patronus', spec: { credentials: { apiKey: { env: 'PATRONUS' } } } },
  {
    kind: 'Deployment',
    name: 'berlin',
    spec: {
      name: 'Berlin',
      auth_settings: { workspaces_allowed: ['shop'], jwt_subs_allowed: ['batch'] },
      deployment_config: { zone: 'a' },
      credentials: { username: 'gate', password: { env: 'BERLIN' } },
    },
  },
];
const secrets = { PATRONUS: 'canary-patronus-1', BERLIN: 'canary-berlin-2' };
type Json = Readonly<Record<string, unknown>>;

describe('documents of people, prices, partners and deployments', () => {
  let plane: AdminPlane;

  before(async () => {
    plane = await startPlane();
    const made = await plane.store.scimGroups.create(plane.first.organisation_id, {
      displayName: 'Engineers',
      externalId: null,
    });
    expect(made).to.be.an('object');
  });

  after(() => plane.close());

  const apply = async (list: readonly object[] = documents, more: object = {}) => {
    const answer = await plane.rest('POST', '/v1/apply', { documents: list, secrets, ...more });
    expect(answer.status, JSON.stringify(answer.json)).to.equal(200);
    return answer.json;
  };
  const changed = (kind: string, spec: Json): object[] =>
    documents.map((one) => (one.kind === kind ? { ...one, spec: { ...one.spec, ...spec } } : one));
  const actions = (applied: { data: readonly Json[] }): string[] =>
    applied.data
      .filter(({ action }) => action !== 'unchanged')
      .map(({ kind, name, action }) => `${action} ${kind} ${name}`);
  const get = async (path: string): Promise<Json> => (await plane.rest('GET', path)).json;

  it('are applied in any order, and the second time nothing changes', async () => {
    const plan = await apply(documents, { dry_run: true });
    expect(plan.created).to.equal(documents.length);
    expect(await get('/v1/admin/users')).to.include({ total: 0 });
    const first = await apply();
    expect(first.created).to.equal(documents.length);
    const deployment = first.data.find(({ kind }: Json) => kind === 'Deployment');
    expect(deployment.key).to.be.a('string');
    expect(actions(await apply())).to.deep.equal([]);
    expect(await get('/v1/admin/workspaces/shop/users')).to.have.nested.include({
      'data[0].role': 'manager',
    });
    expect(await get('/v1/scim/workspaces')).to.have.nested.include({
      'mappings[0].scim_group': 'Engineers',
      'mappings[0].role': 'member',
    });
  });

  it('change what differs alone', async () => {
    expect(actions(await apply(changed('Member', { role: 'admin' })))).to.deep.equal([
      'update Member ann@example.com',
    ]);
    expect(await get('/v1/admin/workspaces/shop/users')).to.have.nested.include({ 'data[0].role': 'admin' });
    const mapping = { documents: changed('ScimMapping', { role: 'manager' }), secrets };
    const refused = await plane.rest('POST', '/v1/apply', mapping);
    expect(refused.status).to.equal(400);
    expect(JSON.stringify(refused.json)).to.include('documents[4].spec.role cannot be changed');
    const price = { pay_as_you_go: { request_token: { price: 0.0001 }, response_token: { price: 0.0008 } } };
    expect(actions(await apply(changed('ModelPrice', price)))).to.include(
      'update ModelPrice openai/gpt-4o@2026-10-07',
    );
    await apply(
      changed('Deployment', { auth_settings: { workspaces_allowed: ['shop'] }, deployment_config: {} }),
    );
    const { data } = (await get('/v1/deployments')) as { data: Json[] };
    expect(data[0]).to.have.nested.include({ 'auth_settings.workspaces_allowed.length': 1 });
    expect(JSON.stringify(data[0])).to.not.match(/batch|zone/);
    await apply();
    expect(actions(await apply())).to.deep.equal([]);
  });

  it('come out of an export as they go in, people only where they are asked for', async () => {
    const usual = (await get('/v1/export')) as { data: Json[] };
    const kinds = new Set(usual.data.map(({ kind }) => kind));
    expect([...kinds]).to.include.members(['ScimMapping', 'ModelPrice', 'Plugin', 'Deployment']);
    expect([...kinds]).to.not.include.members(['User', 'Member']);
    const people = (await get('/v1/export?kinds=User&kinds=Member')) as { data: Json[] };
    expect(people.data).to.deep.equal([
      { kind: 'User', name: 'ann@example.com', spec: { role: 'member' } },
      { kind: 'User', name: 'ben@example.com', spec: { role: 'admin' } },
      { kind: 'Member', name: 'ann@example.com', workspace: 'shop', spec: { role: 'manager' } },
    ]);
    const all = [...usual.data, ...people.data];
    expect(JSON.stringify(all)).to.not.include('canary');
    expect(actions(await apply(all))).to.deep.equal([]);
  });

  it('are refused where the name has another form, or the user is not there', async () => {
    const wrong = [
      { kind: 'User', name: 'ann', spec: { role: 'member' } },
      { kind: 'ModelPrice', name: 'gpt-4o', spec: {} },
      { kind: 'Member', name: 'nobody@example.com', workspace: 'shop', spec: { role: 'member' } },
      { kind: 'Plugin', name: 'patronus', spec: { credentials: { apiKey: 'sk-literal' } } },
    ];
    const answer = await plane.rest('POST', '/v1/apply', { documents: wrong });
    expect(answer.status).to.equal(400);
    const text = JSON.stringify(answer.json);
    for (const part of [
      'documents[0].name must be the e-mail address',
      'documents[1].name must be provider/model',
      'documents[3].spec.credentials.apiKey is a secret',
    ])
      expect(text).to.include(part);
    const alone = await plane.rest('POST', '/v1/apply', { documents: [wrong[2]] });
    expect(JSON.stringify(alone.json)).to.include('no user nobody@example.com');
  });

  it('go with prune', async () => {
    const pruned = await apply(documents.slice(3, 4), { prune: true });
    expect(pruned.deleted).to.equal(documents.length - 1);
    expect(await get('/v1/admin/users')).to.include({ total: 0 });
    expect(await get('/v1/model-configs/pricing')).to.include({ total: 0 });
  });
});
