import { expect } from 'chai';
import { type AdminPlane, startPlane } from '../support/admin-plane.js';

describe('settings in the administration API', () => {
  let plane: AdminPlane;

  before(async () => {
    plane = await startPlane();
  });
  after(() => plane.close());

  const put = async (path: string, body: object): Promise<void> => {
    const { status, json } = await plane.rest('PUT', path, body);
    expect(status, JSON.stringify(json)).to.equal(200);
  };

  it('is null for limits of a workspace that has none, and a list for others', async () => {
    const place = '/v1/admin/workspaces/other';
    expect((await plane.rest('GET', place)).json).to.include({ usage_limits: null, rate_limits: null });
    await put(place, { rate_limits: [{ type: 'requests', unit: 'rpm', value: 5 }] });
    const { json } = await plane.rest('GET', place);
    expect(json.rate_limits).to.have.lengthOf(1);
    expect(json.usage_limits).to.equal(null);
  });

  it('has data_visibility as a category of security settings, in the organisation and over it in a workspace', async () => {
    const shown = async (place: string) => (await plane.rest('GET', place)).json.security_settings;
    const [organisation, workspace] = ['/v1/admin/organisation', '/v1/admin/workspaces/other'];
    await put(organisation, { security_settings: { data_visibility: { membersViewAllData: false } } });
    for (const place of [organisation, workspace]) {
      expect((await shown(place)).membersViewAllData).to.equal(false);
      expect((await shown(place)).managersViewAllData).to.equal(true);
    }
    await put(workspace, { security_settings: { data_visibility: { membersViewAllData: true } } });
    expect((await shown(workspace)).membersViewAllData).to.equal(true);
    expect((await shown(organisation)).membersViewAllData).to.equal(false);
  });

  it('keeps the bodies of requests out of the log from a key of a workspace with debug_log 0', async () => {
    const found = async () => plane.store.keys.findByHash(plane.store.hashKey(plane.first.workspace_key));
    expect(await found()).to.not.have.property('keepBodies');
    plane.forgotten.length = 0;
    await put('/v1/admin/workspaces/default', { settings: { debug_log: 0 } });
    expect(await found()).to.include({ keepBodies: false });
    expect(plane.forgotten.some(({ kind }) => kind === 'key')).to.equal(true);
    await put('/v1/admin/workspaces/default', { settings: { debug_log: 1 } });
    expect(await found()).to.not.have.property('keepBodies');
  });

  it('keeps the body of a refused request in the audit log, without its secrets', async () => {
    // For what it says, and for who says it.
    const secret = 'sk-secret-0123456789';
    const body = { name: 'Refused', key: secret, slug: 'Not a slug!' };
    const wrong = await plane.rest('POST', '/v1/integrations', {
      ...body,
      ai_provider_id: 'openai',
      provider: undefined,
    });
    expect(wrong.status).to.be.within(400, 499);
    const denied = await plane.rest(
      'POST',
      '/v1/admin/workspaces',
      { name: 'Not mine' },
      { key: plane.first.workspace_key },
    );
    expect(denied.status).to.equal(403);
    const unknown = await plane.rest('POST', '/v1/virtual-keys', {
      ...{ name: 'Half', provider: 'openai', key: secret, keyy: secret, note: 7 },
      ...{ expires_at: secret, custom_headers: { 'x-team': secret } },
    });
    expect(unknown.status).to.equal(400);
    const always = { start_time: '2000-01-01T00:00:00Z', end_time: '2100-01-01T00:00:00Z' };
    const { records } = await plane.admin.api.auditLogs.listAuditLogs({ ...always, page_size: 100 });
    const of = (uri: string) => records.find((row) => row.uri.includes(uri) && !row.allowed);
    expect(JSON.parse(of('integrations')?.request_body ?? '')).to.include({ name: 'Refused' });
    const kept = JSON.parse(of('virtual-keys')?.request_body ?? '');
    expect(kept).to.include({ name: 'Half', provider: 'openai' });
    expect(kept).to.have.property('key');
    expect(kept).to.not.have.any.keys('keyy', 'expires_at');
    for (const uri of ['integrations', 'virtual-keys'])
      expect(of(uri)?.request_body, uri).to.not.include(secret);
    expect(JSON.parse(of('admin/workspaces')?.request_body ?? '')).to.include({ name: 'Not mine' });
  });
});
