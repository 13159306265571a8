import { expect } from 'chai';
import { type AdminPlane, refused, startPlane } from '../support/admin-plane.js';

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('users, invitations and members', () => {
  let plane: AdminPlane;
  let serial = 0;
  before(async () => {
    plane = await startPlane({ publicUrl: 'https://gateway.example' });
  });
  after(() => plane.close());

  const email = (): string => `person${++serial}@example.com`;
  const makeUser = (more: object = {}) =>
    plane.admin.api.users.createUser({ email: email(), role: 'member', ...more });
  const makeUserKey = async (user_id: string, scopes: readonly string[], workspace_id = 'default') =>
    (
      await plane.admin.api.apiKeys.createApiKey({
        type: 'workspace',
        sub_type: 'user',
        name: 'own',
        user_id,
        scopes,
        workspace_id,
      })
    ).key;

  describe('users', () => {
    it('are made, read, listed, changed and removed over gRPC and REST', async () => {
      const address = email();
      const made = await plane.rest('POST', '/v1/admin/users', {
        email: address,
        first_name: ' Ada ',
        role: 'member',
        workspaces: [{ id: 'default', role: 'manager' }],
      });
      expect(made.status, JSON.stringify(made.json)).to.equal(200);
      const { id, etag, created_at, last_updated_at } = made.json;
      expect(made.json).to.deep.equal({
        object: 'user',
        id,
        first_name: 'Ada',
        last_name: '',
        role: 'member',
        email: address,
        created_at,
        last_updated_at,
        workspace_ids: [plane.first.workspace_id],
        etag,
      });
      expect(created_at).to.match(time);
      expect(await plane.admin.api.users.getUser({ user_id: id })).to.deep.include({ id, email: address });

      const found = await plane.rest('GET', `/v1/admin/users?pageSize=10&email=${address.toUpperCase()}`);
      expect(found.json).to.deep.include({ object: 'list', total: 1 });
      expect(found.json.data[0].id).to.equal(id);
      expect((await plane.rest('GET', '/v1/admin/users?role=owner')).json.total).to.equal(0);

      const change = { role: 'admin', workspaces: [{ id: plane.other, role: 'member' }] };
      expect((await plane.rest('PUT', `/v1/admin/users/${id}`, change)).json).to.deep.equal({});
      const after = await plane.admin.api.users.getUser({ user_id: id });
      expect(after.role).to.equal('admin');
      expect(after.workspace_ids).to.have.members([plane.first.workspace_id, plane.other]);

      const late = await plane.rest('DELETE', `/v1/admin/users/${id}`, undefined, {
        headers: { 'if-match': `"${etag}"` },
      });
      expect(late.status).to.equal(409);
      expect((await plane.rest('DELETE', `/v1/admin/users/${id}`)).json).to.deep.equal({});
      await refused(plane.admin.api.users.getUser({ user_id: id }), 'NOT_FOUND', 'AB08');
    });

    it('have an address each, whatever its case, and a repeated request makes no second one', async () => {
      const address = email();
      const first = await plane.admin.api.users.createUser({
        email: address,
        role: 'member',
        request_id: 'r1',
      });
      const again = await plane.admin.api.users.createUser({
        email: address,
        role: 'member',
        request_id: 'r1',
      });
      expect(again.id).to.equal(first.id);
      const taken = makeUser({ email: address.toUpperCase() });
      expect(await refused(taken, 'ALREADY_EXISTS', 'AB07')).to.include('email');
    });

    it('join only workspaces that there are', async () => {
      const nowhere = makeUser({ workspaces: [{ id: 'nowhere', role: 'member' }] });
      expect(await refused(nowhere, 'NOT_FOUND', 'AB02')).to.include('workspaces[0].id');
      const twice = makeUser({
        workspaces: [
          { id: 'default', role: 'member' },
          { id: plane.first.workspace_id, role: 'admin' },
        ],
      });
      expect(await refused(twice, 'INVALID_ARGUMENT', 'AB01')).to.include('workspaces[1].id');
    });

    it('are the affair of the organisation: a key of a workspace is refused', async () => {
      await refused(plane.workspace.api.users.listUsers(), 'PERMISSION_DENIED', 'AB03');
    });

    it('take their keys along when they go', async () => {
      const user = await makeUser({ workspaces: [{ id: 'default', role: 'member' }] });
      const key = await makeUserKey(user.id, ['configs.list']);
      expect((await plane.rest('GET', '/v1/configs', undefined, { key })).status).to.equal(200);
      plane.forgotten.length = 0;
      await plane.admin.api.users.deleteUser({ user_id: user.id });
      expect(plane.forgotten).to.deep.include({ kind: 'key', workspace: null, name: '*', user: user.id });
      expect((await plane.rest('GET', '/v1/configs', undefined, { key })).status).to.equal(401);
    });

    it('have an owner whom no admin touches, and who stays', async () => {
      const owner = await makeUser({ role: 'owner' });
      expect(await refused(makeUser({ role: 'owner' }), 'PERMISSION_DENIED', 'AB03')).to.include('owner');
      const { id } = await makeUser();
      const promote = plane.admin.api.users.updateUser({ user_id: id, role: 'owner' });
      await refused(promote, 'PERMISSION_DENIED', 'AB03');
      const demote = plane.admin.api.users.updateUser({ user_id: owner.id, role: 'member' });
      await refused(demote, 'PERMISSION_DENIED', 'AB03');
      await refused(plane.admin.api.users.deleteUser({ user_id: owner.id }), 'PERMISSION_DENIED', 'AB03');
      const cleared = await plane.rest('PUT', `/v1/admin/users/${id}`, { role: null });
      expect(cleared.json.data.errorCode).to.equal('AB01');
    });

    it('of another organisation are not there', async () => {
      for (const verb of ['GET', 'DELETE'])
        expect(
          (await plane.rest(verb, '/v1/admin/users/11111111-1111-4111-8111-111111111111')).json.data
            .errorCode,
        ).to.equal('AB08');
    });
  });

  describe('invitations', () => {
    const invite = (more: object = {}) =>
      plane.rest('POST', '/v1/admin/users/invites', {
        email: email(),
        role: 'member',
        workspaces: [{ id: 'default', role: 'member' }],
        ...more,
      });
    const tokenIn = (link: string): string => link.split('#token=')[1] ?? '';
    const accept = (token: string, more: object = {}) =>
      plane.rest('POST', '/v1/admin/users/invites/accept', { token, ...more }, { key: null });

    it('make a user by the token of their link, once, without any key', async () => {
      const address = email();
      const made = await invite({ email: address });
      expect(made.json).to.have.keys('id', 'invite_link');
      expect(made.json.invite_link).to.match(/^https:\/\/gateway\.example\/.*#token=[\w-]{43}$/);
      const pending = await plane.rest('GET', `/v1/admin/users/invites/${made.json.id}`);
      const { created_at, expires_at, invited_by } = pending.json;
      expect(pending.json).to.deep.equal({
        object: 'invite',
        id: made.json.id,
        email: address,
        role: 'member',
        created_at,
        expires_at,
        accepted_at: null,
        status: 'pending',
        invited_by,
      });
      expect(Date.parse(expires_at) - Date.parse(created_at)).to.equal(7 * 24 * 60 * 60_000);

      const token = tokenIn(made.json.invite_link);
      const accepted = await accept(token, { first_name: 'Grace', last_name: 'Hopper' });
      expect(accepted.status, JSON.stringify(accepted.json)).to.equal(200);
      expect(accepted.json.user).to.deep.include({
        email: address,
        first_name: 'Grace',
        role: 'member',
        workspace_ids: [plane.first.workspace_id],
      });
      expect(accepted.json.api_keys).to.deep.equal([]);
      const after = await plane.rest('GET', `/v1/admin/users/invites/${made.json.id}`);
      expect(after.json.status).to.equal('accepted');
      expect(after.json.accepted_at).to.match(time);
      expect((await accept(token)).json.data.errorCode).to.equal('AB08');
      expect((await invite({ email: address })).json.data.errorCode).to.equal('AB07');
    });

    it('make the keys that they promise, in each workspace', async () => {
      const made = await invite({
        workspaces: [
          { id: 'default', role: 'admin' },
          { id: 'other', role: 'member' },
        ],
        workspace_api_key_details: {
          scopes: ['completions.write', 'configs.list'],
          name: 'own',
          metadata: { team: 'red' },
          expiry: '2090-01-01T00:00:00Z',
        },
      });
      const accepted = await accept(tokenIn(made.json.invite_link));
      const keys = accepted.json.api_keys;
      expect(keys.map((key: { workspace_id: string }) => key.workspace_id)).to.have.members([
        plane.first.workspace_id,
        plane.other,
      ]);
      for (const { key, id, object } of keys) {
        expect(object).to.equal('api-key');
        expect((await plane.rest('GET', '/v1/configs', undefined, { key })).status).to.equal(200);
        const kept = await plane.store.keys.get(plane.first.organisation_id, id);
        expect(kept).to.deep.include({ name: 'own', userId: accepted.json.user.id, type: 'workspace-user' });
        expect(kept?.defaults.metadata).to.deep.equal({ team: 'red' });
        expect(kept?.expiresAt).to.equal(Date.parse('2090-01-01T00:00:00Z'));
      }
    });

    it('promise no scope that the role would not leave, and none that a user cannot hold', async () => {
      const beyond = { scopes: ['configs.delete'] };
      const refusedFor = await invite({ workspace_api_key_details: beyond });
      expect(refusedFor.json.data.errorCode).to.equal('AB03');
      for (const scope of ['audit_logs.list', 'no.such']) {
        const wrong = await invite({ workspace_api_key_details: { scopes: [scope] } });
        expect(wrong.json.data.errorCode, scope).to.equal('AB01');
        expect(wrong.json.data.message).to.include('workspace_api_key_details.scopes[0]');
      }
      const past = await invite({
        workspace_api_key_details: { scopes: ['completions.write'], expiry: '2020-01-01T00:00:00Z' },
      });
      expect(past.json.data.message).to.include('workspace_api_key_details.expiry');
    });

    it('are sent again with another token, cancelled, and then closed', async () => {
      const made = await invite();
      const { id } = made.json;
      const again = await plane.rest('POST', `/v1/admin/users/invites/${id}/resend`, {});
      expect(again.json).to.have.keys('inviteLink');
      expect((await accept(tokenIn(made.json.invite_link))).status).to.equal(404);
      expect((await plane.rest('DELETE', `/v1/admin/users/invites/${id}`)).json).to.deep.equal({});
      expect((await plane.rest('GET', `/v1/admin/users/invites/${id}`)).json.status).to.equal('cancelled');
      expect((await accept(tokenIn(again.json.inviteLink))).status).to.equal(404);
      expect(
        (await plane.rest('POST', `/v1/admin/users/invites/${id}/resend`, {})).json.data.errorCode,
      ).to.equal('AB07');
      expect((await plane.rest('DELETE', `/v1/admin/users/invites/${id}`)).json.data.errorCode).to.equal(
        'AB07',
      );
    });

    it('are found by status, role, address and a part of it', async () => {
      const address = `find.me.${email()}`;
      await invite({ email: address, role: 'admin' });
      const ask = async (query: string): Promise<number> =>
        (await plane.rest('GET', `/v1/admin/users/invites?${query}`)).json.total;
      expect(await ask(`email=${address.toUpperCase()}`)).to.equal(1);
      expect(await ask('search=FIND.ME&status=pending&role=admin')).to.equal(1);
      expect(await ask('search=FIND.ME&status=accepted')).to.equal(0);
      expect(await ask('search=find_me')).to.equal(0);
      expect((await invite({ email: address })).json.data.errorCode).to.equal('AB07');
    });

    it('leave no token in the audit log, and the accepted one names its user', async () => {
      const made = await invite();
      const token = tokenIn(made.json.invite_link);
      const accepted = await accept(token);
      const everything = { offset: 0, limit: 1000 };
      const { rows } = await plane.store.audit.list(plane.first.organisation_id, {}, everything);
      expect(JSON.stringify(rows)).to.not.include(token);
      const row = rows.find(({ resourceId }) => resourceId === accepted.json.user.id);
      expect(row).to.include({
        resourceType: 'user',
        action: 'create',
        allowed: true,
        actorName: accepted.json.user.email,
      });
    });
  });

  describe('members', () => {
    it('are added, read, listed, changed and removed, on both paths', async () => {
      const user = await makeUser({ first_name: 'Lin' });
      const path = '/v1/admin/workspaces/other/users';
      const users = [{ id: user.id, role: 'manager' }];
      expect((await plane.rest('POST', path, { users })).json).to.deep.equal({});
      expect((await plane.rest('POST', path, { users })).json.data.errorCode).to.equal('AB07');

      const member = (await plane.rest('GET', `/v1/workspaces/other/users/${user.id}`)).json;
      const { created_at, last_updated_at, scopes } = member;
      expect(member).to.deep.equal({
        object: 'workspace-user',
        id: user.id,
        first_name: 'Lin',
        last_name: '',
        org_role: 'member',
        role: 'manager',
        created_at,
        last_updated_at,
        status: 'active',
        workspace_id: plane.other,
        email: user.email,
        scopes,
        settings: null,
      });
      expect(scopes).to.include('configs.create').and.not.include('organisation_users.list');
      expect((await plane.rest('GET', `/v1/admin/workspaces/other/members/${user.id}`)).json).to.deep.equal(
        member,
      );

      const list = await plane.rest('GET', `${path}?role=manager&email=${user.email}`);
      expect(list.json).to.deep.include({ object: 'list', total: 1 });
      expect((await plane.rest('PUT', `${path}/${user.id}`, { role: 'member' })).json).to.deep.equal({});
      expect((await plane.rest('GET', `${path}/${user.id}`)).json.role).to.equal('member');
      expect((await plane.rest('DELETE', `${path}/${user.id}`)).json).to.deep.equal({});
      for (const verb of ['GET', 'DELETE'])
        expect((await plane.rest(verb, `${path}/${user.id}`)).json.data.errorCode).to.equal('AB08');
    });

    it('must be users of the organisation', async () => {
      const stranger = plane.admin.api.workspaceMembers.addWorkspaceMembers({
        workspace_id: 'other',
        users: [{ id: 'nobody', role: 'member' }],
      });
      expect(await refused(stranger, 'NOT_FOUND', 'AB02')).to.include('users[0].id');
    });

    it('grant no role above their own, and remove none', async () => {
      const manager = await makeUser({ workspaces: [{ id: 'default', role: 'manager' }] });
      const admin = await makeUser({ workspaces: [{ id: 'default', role: 'admin' }] });
      const other = await makeUser();
      const key = await makeUserKey(manager.id, [
        'workspace_users.create',
        'workspace_users.update',
        'workspace_users.delete',
      ]);
      const { api } = plane.client(key);
      const members = api.workspaceMembers;
      const add = (role: 'admin' | 'manager') =>
        members.addWorkspaceMembers({ workspace_id: 'default', users: [{ id: other.id, role }] });
      await refused(add('admin'), 'PERMISSION_DENIED', 'AB03');
      await add('manager');
      const at = { workspace_id: 'default' };
      await refused(
        members.updateWorkspaceMember({ ...at, user_id: other.id, role: 'admin' }),
        'PERMISSION_DENIED',
        'AB03',
      );
      await refused(
        members.updateWorkspaceMember({ ...at, user_id: admin.id, role: 'member' }),
        'PERMISSION_DENIED',
        'AB03',
      );
      await refused(members.removeWorkspaceMember({ ...at, user_id: admin.id }), 'PERMISSION_DENIED', 'AB03');
      await members.removeWorkspaceMember({ ...at, user_id: other.id });
    });

    it('are given no role above manager by a key of the workspace itself', async () => {
      const user = await makeUser();
      const { workspaceMembers, workspaces } = plane.workspace.api;
      const add = (role: 'admin' | 'manager') =>
        workspaceMembers.addWorkspaceMembers({ workspace_id: 'default', users: [{ id: user.id, role }] });
      await refused(add('admin'), 'PERMISSION_DENIED', 'AB03');
      await add('manager');
      const flags = { managers_view_logs: false };
      const ruled = workspaces.updateWorkspace({ workspace_id: 'default', security_settings: flags });
      await refused(ruled, 'PERMISSION_DENIED', 'AB03');
    });

    it('lose their keys in the workspace with their place in it', async () => {
      const user = await makeUser({
        workspaces: [
          { id: 'default', role: 'member' },
          { id: 'other', role: 'member' },
        ],
      });
      const here = await makeUserKey(user.id, ['configs.list']);
      const there = await makeUserKey(user.id, ['configs.list'], 'other');
      await plane.rest('DELETE', `/v1/admin/workspaces/default/users/${user.id}`);
      expect((await plane.rest('GET', '/v1/configs', undefined, { key: here })).status).to.equal(401);
      expect((await plane.rest('GET', '/v1/configs', undefined, { key: there })).status).to.equal(200);
    });

    it('of a workspace out of sight are not there', async () => {
      const asked = plane.workspace.api.workspaceMembers.listWorkspaceMembers({ workspace_id: plane.other });
      const message = await refused(asked, 'NOT_FOUND', 'AB08');
      const missing = plane.workspace.api.workspaceMembers.listWorkspaceMembers({ workspace_id: 'nowhere' });
      expect(await refused(missing, 'NOT_FOUND', 'AB08')).to.equal(message);
    });

    it('get a key of their own where the settings require it', async () => {
      await plane.rest('PUT', '/v1/admin/workspaces/other', { settings: { user_api_key_auto_create: true } });
      const user = await makeUser({ workspaces: [{ id: 'other', role: 'member' }] });
      const { rows } = await plane.store.keys.list(
        plane.first.organisation_id,
        { workspaceId: plane.other },
        { offset: 0, limit: 1000 },
      );
      const own = rows.filter(({ userId }) => userId === user.id);
      expect(own).to.have.length(1);
      expect(own[0]).to.include({ creationMode: 'auto', type: 'workspace-user' });
      await plane.rest('PUT', '/v1/admin/workspaces/other', { settings: null });
    });
  });
});
