import { expect } from 'chai';
import { mergeMetadata } from '../../plugins/config/metadata.js';
import { type AdminPlane, type RestResult, startPlane } from '../support/admin-plane.js';

const hour = 3_600_000;

describe('settings for the keys of users', () => {
  let plane: AdminPlane;
  let serial = 0;

  before(async () => {
    plane = await startPlane();
  });
  after(() => plane.close());

  async function put(path: string, body: object): Promise<void> {
    const { status, json } = await plane.rest('PUT', path, body);
    expect(status, JSON.stringify(json)).to.equal(200);
  }
  const organisation = (settings: object): Promise<void> => put('/v1/admin/organisation', { settings });

  async function workspace(settings: object = {}): Promise<string> {
    const { json } = await plane.rest('POST', '/v1/admin/workspaces', { name: `S${++serial}` });
    await put(`/v1/admin/workspaces/${json.id}`, { settings });
    return json.id;
  }

  async function member(workspaceId: string): Promise<string> {
    const { json } = await plane.rest('POST', '/v1/admin/users', {
      email: `s${++serial}@example.com`,
      role: 'member',
      workspaces: [{ id: workspaceId, role: 'member' }],
    });
    return json.id;
  }

  const keysOf = async (workspaceId: string) =>
    (await plane.rest('GET', `/v1/api-keys?workspace_id=${workspaceId}`)).json.data;
  const makeKey = (workspaceId: string, userId: string, more: object = {}): Promise<RestResult> =>
    plane.rest('POST', '/v1/api-keys/workspace/user', {
      name: 'own',
      workspace_id: workspaceId,
      user_id: userId,
      scopes: ['completions.write'],
      ...more,
    });

  it('make a key for those who join, where the workspace or else the organisation wants it', async () => {
    await organisation({ default_workspace_user_api_key_auto_create: true });
    try {
      const [usual, never] = [await workspace(), await workspace({ user_api_key_auto_create: false })];
      const [one, two] = [await member(usual), await member(never)];
      const [key, ...more] = await keysOf(usual);
      expect(more).to.deep.equal([]);
      expect(key).to.deep.include({
        user_id: one,
        creation_mode: 'auto',
        type: 'workspace-user',
        status: 'active',
      });
      expect(key.scopes).to.include('completions.write');
      expect(await keysOf(never)).to.deep.equal([]);
      const users = `/v1/admin/workspaces/${usual}/users`;
      await plane.rest('POST', users, { users: [{ id: two, role: 'member' }] });
      expect((await keysOf(usual)).map((made: { user_id: string }) => made.user_id)).to.have.members([
        one,
        two,
      ]);
    } finally {
      await organisation({ default_workspace_user_api_key_auto_create: null });
    }
  });

  it('give those keys the life, the rotation and the config of the workspace', async () => {
    const id = await workspace();
    const { json: made } = await plane.rest('POST', '/v1/configs', {
      name: 'usual',
      workspace_id: id,
      config: { retry: { attempts: 1 } },
    });
    const { slug } = made.data;
    const settings = {
      user_api_key_auto_create: true,
      user_api_key_ttl: 3600,
      user_api_key_max_ttl: 7200,
      user_api_key_rotation_period: 'weekly',
    };
    const path = `/v1/admin/workspaces/${id}`;
    const beyond = { settings: { ...settings, user_api_key_ttl: 7201 } };
    expect((await plane.rest('PUT', path, beyond)).status).to.equal(400);
    await put(path, { defaults: { user_api_key_config: slug }, settings });
    await member(id);
    const [key] = await keysOf(id);
    expect(Date.parse(key.expires_at) - Date.parse(key.created_at)).to.be.within(hour - 5000, hour + 5000);
    expect(key.rotation_policy).to.include({ rotation_period: 'weekly', status: 'ACTIVE' });
    expect(key.defaults.config_id).to.equal(slug);
    const late = new Date(Date.now() + 3 * hour).toISOString();
    const refused = await makeKey(id, key.user_id, { expires_at: late });
    expect([refused.status, refused.json.data.errorCode]).to.deep.equal([400, 'AB01']);
  });

  it('limit how many keys a user has in a workspace; 0 makes none for those who join', async () => {
    const id = await workspace({ user_api_key_count: 1 });
    const user = await member(id);
    expect((await makeKey(id, user)).status).to.equal(200);
    const second = await makeKey(id, user);
    expect([second.status, second.json.data.errorCode]).to.deep.equal([403, 'AB03']);
    const none = await workspace({ user_api_key_count: 0, user_api_key_auto_create: true });
    await member(none);
    expect(await keysOf(none)).to.deep.equal([]);
  });

  it('let managers and members make keys, or none of them', async () => {
    const id = await workspace();
    const asUser = async (role: string): Promise<string> => {
      const user = await member(id);
      await put(`/v1/admin/workspaces/${id}/users/${user}`, { role });
      const scopes = ['workspace_user_api_keys.create', 'workspace_user_api_keys.list', 'completions.write'];
      // No role of a user takes away what its own key is made with: the key of the organisation makes it.
      const { status, json } = await makeKey(id, user, { scopes: scopes.slice(2) });
      expect(status).to.equal(200);
      const { rows } = await plane.store.keys.list(
        plane.first.organisation_id,
        { userId: user },
        { offset: 0, limit: 1 },
      );
      await plane.store.keys.update(plane.first.organisation_id, rows[0]?.id ?? '', { scopes });
      return json.key;
    };
    const own = async (key: string): Promise<number[]> => {
      const other = await member(id);
      const body = { name: 'x', user_id: other, scopes: ['completions.write'] };
      const made = await plane.rest('POST', '/v1/api-keys/workspace/user', body, { key });
      const seen = await plane.rest('GET', '/v1/api-keys', undefined, { key });
      return [made.status, seen.status];
    };
    const [manager, plain] = [await asUser('manager'), await asUser('member')];
    for (const allowed of [true, false]) {
      await put(`/v1/admin/workspaces/${id}`, {
        security_settings: {
          managersWriteApiKeys: allowed,
          membersWriteApiKeys: allowed,
          managersViewApiKeys: allowed,
          membersViewApiKeys: allowed,
        },
      });
      const status = allowed ? 200 : 403;
      expect(await own(manager), `managers, ${allowed}`).to.deep.equal([status, status]);
      expect(await own(plain), `members, ${allowed}`).to.deep.equal([status, status]);
    }
  });

  it('add the user to the metadata of calls, which these may override where that is set', async () => {
    const id = await workspace();
    const user = await member(id);
    const { json } = await makeKey(id, user, { defaults: { metadata: { team: 'a' } } });
    const { json: who } = await plane.rest('GET', `/v1/admin/users/${user}`);
    const found = async () => (await plane.store.keys.findByHash(plane.store.hashKey(json.key)))?.defaults;
    const call = async (header: Record<string, string>, body: string | undefined) => {
      const { metadata = {}, user: usual } = (await found()) ?? {};
      return { ...mergeMetadata(metadata, {}, header, body, usual) };
    };
    expect(await call({}, undefined)).to.deep.equal({ team: 'a' });
    await put(`/v1/admin/workspaces/${id}`, { settings: { user_key_metadata: 1 } });
    expect(await call({ _user: 'other' }, 'body')).to.deep.equal({ team: 'a', _user: who.email });
    await put(`/v1/admin/workspaces/${id}`, { settings: { user_key_metadata_override: 1 } });
    expect(await call({}, undefined)).to.deep.equal({ team: 'a', _user: who.email });
    expect(await call({}, 'body')).to.deep.equal({ team: 'a', _user: 'body' });
    expect(await call({ _user: 'header' }, 'body')).to.deep.equal({ team: 'a', _user: 'header' });
    const service = await plane.store.keys.findByHash(plane.store.hashKey(plane.first.workspace_key));
    expect(service?.defaults).not.to.have.property('user');
  });
});
