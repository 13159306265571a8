import { expect } from 'chai';
import { type AdminPlane, refused, startPlane } from '../support/admin-plane.js';

const path = '/v1/deployments';
const canary = 'canary-of-a-password';

describe('deployments over the administration plane', () => {
  let plane: AdminPlane;

  before(async () => {
    plane = await startPlane();
  });
  after(() => plane.close());

  async function make(body: object): Promise<{ id: string; slug: string; auth_secret: string }> {
    const { json } = await plane.rest('POST', path, body);
    expect(json, JSON.stringify(json)).to.have.keys('id', 'slug', 'object', 'auth_secret');
    return json;
  }

  it('are created with a secret that is returned once, and read without any', async () => {
    const made = await make({
      name: 'Europe',
      slug: 'eu',
      deployment_config: { region: 'eu' },
      auth_settings: { gateway_base_url: 'https://gw.test', workspaces_allowed: ['other'] },
      credentials: { username: 'ops', password: canary },
      tags: { team: 'a' },
    });
    expect(made.auth_secret).to.match(/^hgd_/);
    const { json: one } = await plane.rest('GET', `${path}/eu`);
    expect(one).to.deep.include({
      id: made.id,
      slug: 'eu',
      name: 'Europe',
      organisation_id: plane.first.organisation_id,
      type: 'production',
      status: 'active',
      deployment_config: { region: 'eu' },
      is_default: false,
      credentials: null,
      tags: { team: 'a' },
      object: 'deployment',
    });
    expect(one.auth_settings).to.deep.include({
      gateway_base_url: 'https://gw.test',
      disable_gateway: null,
      workspaces_allowed: [plane.other],
    });
    const { json: told } = await plane.rest('GET', `${path}/${made.id}?include_credentials=true`);
    expect(told.credentials).to.deep.equal({ username: 'ops' });
    const audit = await plane.store.audit.list(plane.first.organisation_id, {}, { offset: 0, limit: 10 });
    const seen = JSON.stringify([audit, one, told, plane.logged]);
    for (const secret of [canary, made.auth_secret]) expect(seen).to.not.include(secret);
    expect((await plane.rest('GET', `${path}/eu/ping`)).json).to.deep.equal({
      success: false,
      status: 'active',
      last_seen_at: null,
    });
  });

  it('are for keys of the organisation alone', async () => {
    for (const verb of ['GET', 'POST']) {
      const body = verb === 'POST' ? { name: 'x' } : undefined;
      const { status } = await plane.rest(verb, path, body, { key: plane.first.workspace_key });
      expect(status).to.equal(403);
    }
  });

  it('have settings that grow, shrink, are cleared and replaced', async () => {
    const { id } = await make({
      name: 'Settings',
      deployment_config: { a: 1 },
      auth_settings: {
        gateway_base_url: 'https://a.test',
        jwt_subs_allowed: ['s1'],
        workspaces_allowed: ['other'],
      },
    });
    const put = async (body: object) => {
      const { status, json } = await plane.rest('PUT', `${path}/${id}`, body);
      expect([status, json], JSON.stringify(json)).to.deep.equal([200, {}]);
      const { json: one } = await plane.rest('GET', `${path}/${id}`);
      return [one.deployment_config, one.auth_settings];
    };
    const [grown, more] = await put({
      deployment_config: { b: 2 },
      auth_settings: {
        jwt_subs_allowed: ['s2'],
        workspaces_allowed: ['default'],
        remove_subs_allowed: ['s1'],
      },
    });
    expect(grown).to.deep.equal({ a: 1, b: 2 });
    expect(more).to.deep.include({
      gateway_base_url: 'https://a.test',
      jwt_subs_allowed: ['s2'],
      workspaces_allowed: [plane.other, plane.first.workspace_id],
    });
    const [, fewer] = await put({
      auth_settings: { gateway_base_url: null, remove_workspaces_allowed: ['other'] },
    });
    expect(fewer).to.deep.include({ gateway_base_url: null, workspaces_allowed: [plane.first.workspace_id] });
    const closed = await plane.rest('PUT', `${path}/${id}`, {
      auth_settings: { remove_workspaces_allowed: ['default'] },
    });
    expect(closed.json.data.message).to.include('send allow_all_workspaces');
    const [, open] = await put({ auth_settings: { allow_all_workspaces: true } });
    expect(open.workspaces_allowed).to.deep.equal([]);
    const [fresh, reset] = await put({
      override_existing: true,
      deployment_config: { c: 3 },
      auth_settings: { disable_gateway: 'true' },
    });
    expect(fresh).to.deep.equal({ c: 3 });
    expect(reset).to.deep.include({ disable_gateway: 'true', jwt_subs_allowed: [] });
    const unknown = await plane.rest('PUT', `${path}/${id}`, {
      auth_settings: { workspaces_allowed: ['no'] },
    });
    expect([unknown.status, unknown.json.data.errorCode]).to.deep.equal([404, 'AB02']);
  });

  it('get a new secret when they ask for one', async () => {
    const { id, auth_secret } = await make({ name: 'Rotating' });
    const { json } = await plane.rest('PUT', `${path}/${id}`, { rotate_auth: true });
    expect(json.auth_secret).to.match(/^hgd_/).and.not.equal(auth_secret);
  });

  it('have one default, which `self` names', async () => {
    expect((await plane.rest('GET', `${path}/self`)).status).to.equal(404);
    const first = await make({ name: 'One', is_default: true });
    const second = await make({ name: 'Two', is_default: true });
    expect((await plane.rest('GET', `${path}/self`)).json.id).to.equal(second.id);
    expect((await plane.rest('GET', `${path}/${first.id}`)).json.is_default).to.equal(false);
    expect((await plane.rest('POST', path, { name: 'x', slug: 'self' })).status).to.equal(400);
  });

  it('are listed by what they are, archived by DELETE and brought back', async () => {
    const { id } = await make({
      name: 'Test bench',
      slug: 'bench',
      type: 'non_production',
      auth_settings: { workspaces_allowed: ['other'] },
    });
    const ids = async (query: string): Promise<string[]> =>
      (await plane.rest('GET', `${path}?${query}`)).json.data.map((one: { id: string }) => one.id);
    expect(await ids('type=non_production')).to.deep.equal([id]);
    expect(await ids('search=BENCH&workspace_slug=other')).to.deep.equal([id]);
    expect(await ids('search=bench&workspace_slug=default')).to.deep.equal([]);
    expect((await plane.rest('POST', path, { name: 'x', slug: 'bench' })).status).to.equal(409);
    expect((await plane.rest('DELETE', `${path}/bench`)).json).to.deep.equal({});
    expect((await plane.rest('DELETE', `${path}/bench`)).status).to.equal(404);
    expect(await ids('status=archived')).to.deep.equal([id]);
    await make({ name: 'x', slug: 'bench' });
    expect((await plane.rest('PUT', `${path}/${id}`, { status: 'active' })).status).to.equal(409);
  });

  it('are the same over gRPC', async () => {
    const { deployments } = plane.admin.api;
    const { id, auth_secret } = await deployments.createDeployment({ name: 'Rpc' });
    expect(auth_secret).to.match(/^hgd_/);
    await deployments.updateDeployment({ deployment_id: id, auth_settings: { disable_gateway: 'true' } });
    const one = await deployments.getDeployment({ deployment_id: id });
    expect(one.auth_settings?.disable_gateway).to.equal('true');
    expect((await deployments.listDeployments({ search: 'rpc' })).total).to.equal(1);
    expect((await deployments.pingDeployment({ deployment_id: id })).success).to.equal(false);
    await deployments.deleteDeployment({ deployment_id: id });
    await refused(deployments.deleteDeployment({ deployment_id: id }), 'NOT_FOUND', 'AB08');
    await refused(plane.workspace.api.deployments.listDeployments({}), 'PERMISSION_DENIED', 'AB03');
  });
});
