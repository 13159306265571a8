import { expect } from 'chai';
import { type AdminPlane, refused, startPlane } from '../support/admin-plane.js';

describe('a call of the administration plane', () => {
  let plane: AdminPlane;
  const config = { retry: { attempts: 1 } };
  const mine = { workspace_id: 'default' };

  before(async () => {
    plane = await startPlane();
  });
  after(() => plane.close());

  const rows = async (filter: object = {}) =>
    (await plane.store.audit.list(plane.first.organisation_id, filter, { offset: 0, limit: 1000 })).rows;

  it('leaves an audit row when it changes something, and none when it only looks', async () => {
    const before = (await rows()).length;
    const { data } = await plane.workspace.configs.create({ name: 'audited', config });
    await plane.workspace.configs.get(data.slug);
    const [row, ...older] = await rows();
    expect(older).to.have.length(before);
    expect(row).to.include({
      method: 'POST',
      uri: '/v1/configs',
      action: 'create',
      resourceType: 'config',
      resourceId: data.id,
      workspaceId: plane.first.workspace_id,
      userType: 'api_key',
      responseStatusCode: 200,
      clientIp: '127.0.0.1',
      allowed: true,
    });
    expect(JSON.parse(row!.requestBody)).to.deep.include({ name: 'audited', config });
  });

  it('leaves a row of its own when it is refused, and changes nothing', async () => {
    await refused(plane.workspace.configs.create({ name: 'x', config: 'no JSON' }), 'INTERNAL', 'AB04');
    expect((await rows())[0]).to.include({ allowed: false, responseStatusCode: 500, action: 'create' });
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    await refused(plane.workspace.configs.create({ name: 'x', config: deep }), 'INVALID_ARGUMENT', 'AB01');
    expect((await rows())[0]).to.include({ allowed: false, responseStatusCode: 400, action: 'create' });
    const lacking = await plane.rest('DELETE', '/v1/configs/none', undefined, {
      key: plane.first.workspace_key,
    });
    expect(lacking.status).to.equal(404);
    expect((await rows())[0]).to.include({ allowed: false, responseStatusCode: 404, resourceId: 'none' });
    const unread = await plane.rest('POST', '/v1/configs', '{"name":');
    expect(unread.status).to.equal(400);
    expect((await rows())[0]).to.include({ allowed: false, responseStatusCode: 400, requestBody: '{}' });
  });

  it('keeps no secret: the audit log has fingerprints of the sent values', async () => {
    const canary = 'sk-canary-4711';
    await plane.admin.providers.create({ slug: 'canary', provider: 'openai', key: canary, ...mine });
    const inConfig = { provider: 'openai', api_key: canary };
    await plane.admin.configs.create({ name: 'canary', config: inConfig, ...mine });
    await plane.admin.configs.create({ name: 'canary', config: JSON.stringify(inConfig), ...mine });
    const kept = JSON.stringify(await rows());
    expect(kept).to.not.include(canary);
    const print = plane.store.audit.fingerprint(plane.first.organisation_id, canary);
    expect(kept.split(print)).to.have.length(4);
    expect(plane.logged.join()).to.not.include(canary);
  });

  it('sends the changes to the feed, and to data workers what to forget', async () => {
    const since = await plane.store.changes.newest();
    plane.forgotten.length = 0;
    const { data } = await plane.workspace.configs.create({ name: 'told', config });
    await plane.workspace.configs.delete(data.slug);
    const changes = await plane.store.changes.since(since, 10, plane.first.organisation_id);
    if (changes === 'pruned') throw new Error('nothing is pruned yet');
    expect(changes.map((one) => [one.kind, one.action, one.slug])).to.deep.equal([
      ['config', 'create', data.slug],
      ['config', 'delete', data.slug],
    ]);
    expect(plane.forgotten.map(({ name }) => name)).to.include.members([data.slug, data.id]);
  });

  it('that is repeated under its request_id is answered the same over gRPC and REST, and done once', async () => {
    const input = {
      type: 'workspace',
      sub_type: 'service',
      name: 'once',
      scopes: ['configs.list'],
      ...mine,
    } as const;
    const made = await plane.admin.api.apiKeys.createApiKey({ ...input, request_id: 'r-1' });
    const again = await plane.admin.api.apiKeys.createApiKey({ ...input, request_id: 'r-1' });
    expect(again).to.deep.equal(made);
    const { type, sub_type, ...body } = input;
    const rest = await plane.rest('POST', `/v1/api-keys/${type}/${sub_type}`, body, {
      headers: { 'idempotency-key': 'r-1' },
    });
    expect(rest.json).to.deep.equal(made);
    const other = plane.admin.api.apiKeys.createApiKey({ ...input, name: 'twice', request_id: 'r-1' });
    await refused(other, 'ABORTED', 'AB07');
    // Another caller's keys are its own.
    const issuer = await plane.admin.api.apiKeys.createApiKey({
      ...input,
      scopes: ['workspace_service_api_keys.create', 'configs.list'],
    });
    const theirs = await plane.client(issuer.key).api.apiKeys.createApiKey({ ...input, request_id: 'r-1' });
    expect(theirs.id).to.not.equal(made.id);
    const long = plane.admin.api.apiKeys.createApiKey({ ...input, request_id: 'x'.repeat(256) });
    await refused(long, 'INVALID_ARGUMENT', 'AB01');
  });

  it('that was made for a state which is no longer so is refused over gRPC and REST', async () => {
    const { data } = await plane.workspace.configs.create({ name: 'raced', config });
    const { etag } = await plane.workspace.configs.get(data.slug);
    await plane.workspace.configs.update(data.slug, { name: 'first', etag });
    await refused(plane.workspace.configs.update(data.slug, { name: 'second', etag }), 'ABORTED', 'AB07');
    const rest = await plane.rest('DELETE', `/v1/configs/${data.slug}`, undefined, {
      key: plane.first.workspace_key,
      headers: { 'if-match': `"${etag}"` },
    });
    expect(rest.status).to.equal(409);
    expect((await plane.workspace.configs.get(data.slug)).name).to.equal('first');
  });

  it('changes what the mask names and leaves the rest', async () => {
    const { data } = await plane.workspace.configs.create({ name: 'masked', config });
    const { updateConfig } = plane.workspace.api.configs;
    await updateConfig({ slug: data.slug, name: 'ignored', status: 'active', update_mask: ['status'] });
    expect((await plane.workspace.configs.get(data.slug)).name).to.equal('masked');
    await refused(updateConfig({ slug: data.slug, update_mask: ['name'] }), 'INVALID_ARGUMENT', 'AB01');
    await refused(updateConfig({ slug: data.slug, update_mask: ['colour'] }), 'INVALID_ARGUMENT', 'AB01');
    await refused(updateConfig({ slug: data.slug, update_mask: ['etag'] }), 'INVALID_ARGUMENT', 'AB01');
    const rest = await plane.rest('PUT', `/v1/configs/${data.slug}`, { name: null, workspace_id: 'default' });
    expect(rest.json.data.message).to.equal('name cannot be cleared.');
  });

  it('with one wrong key after another has to wait, while good keys pass', async () => {
    const statuses = new Set<number>();
    for (let i = 0; i < 70; i++)
      statuses.add((await plane.rest('GET', '/v1/configs', undefined, { key: `gw_${i}` })).status);
    expect([...statuses]).to.deep.equal([401, 429]);
    expect((await plane.rest('GET', '/v1/configs?workspace_id=default')).status).to.equal(200);
  });

  it('about another organisation finds none', async () => {
    const { status, json } = await plane.rest(
      'GET',
      '/v1/labels?organisation_id=7b1f2c1e-0000-4000-8000-000000000000',
    );
    expect(status).to.equal(404);
    expect(json.data.errorCode).to.equal('AB02');
  });
});
