import { expect } from 'chai';
import { type AdminPlane, refused, startPlane } from '../support/admin-plane.js';

describe('the organisation', () => {
  let plane: AdminPlane;
  before(async () => {
    plane = await startPlane();
  });
  after(() => plane.close());

  const get = async () => (await plane.rest('GET', '/v1/admin/organisation')).json;
  const put = (change: object) => plane.rest('PUT', '/v1/admin/organisation', change);

  it('is returned with every flag', async () => {
    const organisation = await get();
    expect(organisation).to.deep.include({
      id: plane.first.organisation_id,
      name: 'default',
      object: 'organisation',
    });
    expect(Object.keys(organisation.security_settings)).to.have.length(35);
    expect(organisation.security_settings).to.not.have.property('members_view_logs');
    const off = Object.entries(organisation.security_settings).filter(([, value]) => value === false);
    expect(off.map(([name]) => name)).to.have.members([
      'membersWriteApiKeys',
      'membersWriteVirtualKeys',
      'membersWriteConfigs',
      'membersWritePrompts',
      'membersWriteGuardrails',
    ]);
    expect(organisation.settings).to.include({ block_inline_configs: null, user_api_key_ttl: null });
  });

  it('changes field by field, by its etag, and notifies the data workers', async () => {
    const { etag } = await get();
    plane.forgotten.length = 0;
    expect(
      (await put({ name: 'Acme', settings: { block_inline_configs: true, user_api_key_ttl: 600 } })).json,
    ).to.deep.equal({});
    expect(plane.forgotten).to.deep.include({ kind: 'key', workspace: null, name: '*' });
    await put({ settings: { user_api_key_ttl: null }, security_settings: { membersViewLogs: false } });
    const after = await get();
    expect(after.name).to.equal('Acme');
    expect(after.settings).to.include({ block_inline_configs: true, user_api_key_ttl: null });
    expect(after.security_settings.membersViewLogs).to.equal(false);
    const late = await plane.rest(
      'PUT',
      '/v1/admin/organisation',
      { name: 'x' },
      { headers: { 'if-match': `"${etag}"` } },
    );
    expect(late.status).to.equal(409);
    await put({ settings: null, security_settings: null });
    expect((await get()).settings.block_inline_configs).to.equal(null);
  });

  it('sets what holds in its workspaces, unless they set it themselves', async () => {
    await put({
      settings: { user_api_key_max_ttl: 3600, user_api_key_rotation_period: 30 },
      security_settings: { managersViewLogs: false },
    });
    const workspace = async () => (await plane.rest('GET', '/v1/admin/workspaces/other')).json;
    expect((await workspace()).settings).to.include({
      user_api_key_max_ttl: 3600,
      user_api_key_rotation_period: 30,
    });
    expect((await workspace()).security_settings.managersViewLogs).to.equal(false);
    await plane.rest('PUT', '/v1/admin/workspaces/other', {
      settings: { user_api_key_max_ttl: 0, user_api_key_rotation_period: '' },
      security_settings: { managersViewLogs: true },
    });
    expect((await workspace()).settings).to.include({
      user_api_key_max_ttl: 0,
      user_api_key_rotation_period: null,
    });
    expect((await workspace()).security_settings.managersViewLogs).to.equal(true);
    await plane.rest('PUT', '/v1/admin/workspaces/other', { settings: null, security_settings: null });
    await put({ settings: null, security_settings: null });
  });

  it('has its metadata schema enforced on workspaces and invitations', async () => {
    const metadata_schema = {
      type: 'object',
      required: ['team'],
      properties: { team: { type: 'string', enum: ['red', 'blue'] } },
    };
    expect((await put({ settings: { metadata_schema } })).status).to.equal(200);
    expect((await get()).settings.metadata_schema).to.deep.equal(metadata_schema);
    const make = (metadata?: object) =>
      plane.rest('POST', '/v1/admin/workspaces', { name: 'm', ...(metadata && { defaults: { metadata } }) });
    for (const metadata of [undefined, {}, { team: 'green' }]) {
      const answer = await make(metadata);
      expect(answer.json.data.errorCode).to.equal('AB01');
      expect(answer.json.data.message).to.include('defaults.metadata');
    }
    expect((await make({ team: 'red', more: 'x' })).status).to.equal(200);
    const changed = await plane.rest('PUT', '/v1/admin/workspaces/other', {
      defaults: { metadata: { team: 'no' } },
    });
    expect(changed.json.data.errorCode).to.equal('AB01');
    expect((await plane.rest('PUT', '/v1/admin/workspaces/other', { name: 'Other' })).status).to.equal(200);
    const invited = await plane.rest('POST', '/v1/admin/users/invites', {
      email: 'm@example.com',
      role: 'member',
      workspaces: [{ id: 'other', role: 'member' }],
      workspace_api_key_details: { scopes: ['completions.write'], metadata: { team: 'no' } },
    });
    expect(invited.json.data.message).to.include('workspace_api_key_details.defaults.metadata.team');
    const bad = await put({ settings: { metadata_schema: { type: 'array' } } });
    expect(bad.json.data.message).to.include('settings.metadata_schema.type');
    await put({ settings: null });
  });

  it('signs people in for at least 900 seconds, or without limit', async () => {
    const path = '/v1/admin/organisation/auth-settings';
    const before = (await plane.rest('GET', path)).json;
    expect(before.session_settings).to.deep.equal({ max_session_ttl: null });
    const set = await plane.rest('PUT', path, { session_settings: { max_session_ttl: 900 } });
    expect(set.json).to.deep.equal({ ...before, session_settings: { max_session_ttl: 900 } });
    const short = await plane.rest('PUT', path, { session_settings: { max_session_ttl: 899 } });
    expect(short.json.data.message).to.include('session_settings.max_session_ttl');
    const cleared = await plane.rest('PUT', path, { session_settings: { max_session_ttl: null } });
    expect(cleared.json).to.deep.equal(before);
  });

  it('has guardrails of its own that every workspace passes', async () => {
    const path = '/v1/admin/organisation/defaults';
    const content = {
      checks: [],
      actions: {
        deny: true,
        async: false,
        sequential: false,
        onSuccess: { value: 5, weight: 1, metadata: '' },
        onFail: { value: -5, weight: 1, metadata: '' },
      },
      by: null,
    };
    const { store, first } = plane;
    const own = await store.guardrails.create(first.organisation_id, null, { name: 'g', ...content });
    const local = await store.guardrails.create(first.organisation_id, plane.other, {
      name: 'l',
      ...content,
    });
    if (own === 'missing' || local === 'missing') throw new Error('no guardrail');
    expect((await plane.rest('GET', path)).json).to.deep.equal({
      input_guardrails: [],
      output_guardrails: [],
    });
    expect((await plane.rest('PUT', path, { input_guardrails: [own.slug] })).json).to.deep.equal({});
    expect((await plane.rest('GET', path)).json).to.deep.equal({
      input_guardrails: [{ id: own.id, slug: own.slug }],
      output_guardrails: [],
    });
    const beyond = await plane.rest('PUT', path, { output_guardrails: [local.slug] });
    expect([beyond.status, beyond.json.data.errorCode]).to.deep.equal([404, 'AB02']);
    await plane.rest('PUT', path, { input_guardrails: null });
    expect((await plane.rest('GET', path)).json.input_guardrails).to.deep.equal([]);
  });

  it('lets its guardrails pass workspaces by', async () => {
    const path = '/v1/workspace-exclusions/input-guardrails';
    const id = plane.other;
    const all = async (at = path) =>
      (await plane.rest('GET', at)).json.workspaces as { workspace_id: string; excluded: boolean }[];
    const excluded = async (at = path) =>
      (await all(at)).filter((one) => one.excluded).map((one) => one.workspace_id);
    expect(await excluded()).to.deep.equal([]);
    const put1 = await plane.rest('PUT', path, {
      organisation_id: plane.first.organisation_id,
      workspaces: [{ workspace_id: 'other', excluded: true }],
    });
    expect(put1.json.workspaces).to.deep.include({ workspace_id: id, excluded: true });
    expect(await excluded('/v1/workspace-exclusions/output-guardrails')).to.deep.equal([]);
    await plane.rest('PUT', path, { workspaces: [{ workspace_id: 'default', excluded: true }] });
    expect(await excluded()).to.have.members([id, plane.first.workspace_id]);
    await plane.rest('PUT', path, {
      workspaces: [{ workspace_id: 'default', excluded: true }],
      override_existing: true,
    });
    expect(await excluded()).to.deep.equal([plane.first.workspace_id]);
    const nowhere = await plane.rest('PUT', path, {
      workspaces: [{ workspace_id: 'nowhere', excluded: true }],
    });
    expect(nowhere.json.data.message).to.include('workspaces[0].workspace_id');
    expect((await plane.rest('GET', '/v1/workspace-exclusions/else')).json.data.errorCode).to.equal('AB01');
  });

  it('is for keys of the organisation alone', async () => {
    await refused(plane.workspace.api.organisations.getOrganisation(), 'PERMISSION_DENIED', 'AB03');
    await refused(plane.workspace.api.organisations.getAuthSettings(), 'PERMISSION_DENIED', 'AB03');
  });
});
