import { expect } from 'chai';
import { scopesOf } from '../../src/common/access/scopes.js';
import { type AdminPlane, type RestResult, refused, startPlane } from '../support/admin-plane.js';

/** Every organisation scope but these. */
const without = (...scopes: string[]): string[] =>
  scopesOf('organisation-service').filter((scope) => !scopes.includes(scope));

describe('what a limited admin key may grant', () => {
  let plane: AdminPlane;
  let serial = 0;

  before(async () => {
    plane = await startPlane();
  });
  after(() => plane.close());

  const email = (): string => `g${++serial}@example.com`;
  const tokenOf = (link: string): string => link.split('#token=')[1] ?? '';
  const accept = (token: string) =>
    plane.rest('POST', '/v1/admin/users/invites/accept', { token }, { key: null });
  const codeOf = ({ status, json }: RestResult): [number, string] => [status, json?.data?.errorCode];

  /** An admin key of these scopes; others by `more`. */
  const key = async (scopes: string[], more: object = {}) =>
    plane.admin.api.apiKeys.createApiKey({
      type: 'organisation',
      sub_type: 'service',
      name: 'limited',
      scopes,
      ...more,
    });
  const ofWorkspace = { type: 'workspace', sub_type: 'service', workspace_id: 'default' } as const;
  const invitation = (more: object = {}) => ({
    email: email(),
    role: 'member' as const,
    workspaces: [{ id: 'default', role: 'member' as const }],
    ...more,
  });
  const member = () => plane.admin.api.users.createUser(invitation());

  /** The refusal of the same request over both transports; its message. */
  async function refusedTwice(
    text: string,
    overGrpc: (api: AdminPlane['admin']['api']) => Promise<unknown>,
    [verb, path, body]: readonly [string, string, unknown?],
  ): Promise<string> {
    const message = await refused(overGrpc(plane.client(text).api), 'PERMISSION_DENIED', 'AB03');
    const answer = await plane.rest(verb, path, body, { key: text });
    expect(codeOf(answer)).to.deep.equal([403, 'AB03']);
    expect(answer.json.data.message).to.equal(message);
    return message;
  }

  describe('by invitations', () => {
    const path = '/v1/admin/users/invites';
    const model = { workspace_api_key_details: { scopes: ['completions.write'] } };

    it('does not promise a key for model calls without the scope to create keys of users', async () => {
      const { key: text } = await key(['organisation_users.create', 'workspace_users.create']);
      const asked = invitation(model);
      const message = await refusedTwice(text, ({ invites }) => invites.createInvite(asked), [
        'POST',
        path,
        asked,
      ]);
      expect(message).to.include('workspace_user_api_keys.create');
      expect((await plane.rest('GET', `${path}?email=${asked.email}`)).json.total).to.equal(0);
    });

    it('does not promise scopes that it lacks', async () => {
      const { key: text } = await key([
        'organisation_users.create',
        'workspace_users.create',
        'workspace_user_api_keys.create',
      ]);
      const asked = invitation({ workspace_api_key_details: { scopes: ['configs.list'] } });
      const message = await refusedTwice(text, ({ invites }) => invites.createInvite(asked), [
        'POST',
        path,
        asked,
      ]);
      expect(message).to.include('configs.list');
      const made = await plane.client(text).api.invites.createInvite(invitation(model));
      expect((await accept(tokenOf(made.invite_link))).json.api_keys).to.have.length(1);
    });

    it('does not promise a membership of a workspace without the scope to add members', async () => {
      const { key: text } = await key(['organisation_users.create']);
      const asked = invitation();
      const message = await refusedTwice(text, ({ invites }) => invites.createInvite(asked), [
        'POST',
        path,
        asked,
      ]);
      expect(message).to.include('workspace_users.create');
    });

    it('does not promise the role of an admin without every scope of the organisation', async () => {
      const asked = invitation({ role: 'admin' });
      const { key: text } = await key(without('audit_logs.list'));
      const message = await refusedTwice(text, ({ invites }) => invites.createInvite(asked), [
        'POST',
        path,
        asked,
      ]);
      expect(message).to.include('audit_logs.list').and.include('role');
      expect((await plane.rest('POST', path, asked)).status).to.equal(200);
    });

    it('resends no invitation that promises more than it could, and the link before stays good', async () => {
      const { key: text } = await key(['organisation_users.update']);
      for (const more of [model, {}, { role: 'admin' as const }]) {
        const made = await plane.admin.api.invites.createInvite(invitation(more));
        await refusedTwice(text, ({ invites }) => invites.resendInvite({ invite_id: made.id }), [
          'POST',
          `${path}/${made.id}/resend`,
          {},
        ]);
        expect((await accept(tokenOf(made.invite_link))).status).to.equal(200);
      }
    });

    it('resends an invitation that it could have created', async () => {
      const { key: text } = await key([
        'organisation_users.update',
        'workspace_users.create',
        'workspace_user_api_keys.create',
      ]);
      const { id } = await plane.admin.api.invites.createInvite(invitation(model));
      const { invite_link } = await plane.client(text).api.invites.resendInvite({ invite_id: id });
      expect((await accept(tokenOf(invite_link))).json.api_keys).to.have.length(1);
    });
  });

  describe('by users', () => {
    const path = '/v1/admin/users';

    it('makes no user an admin or a member of a workspace without the scopes for it', async () => {
      const { key: text } = await key(['organisation_users.create', 'organisation_users.update']);
      for (const [more, missing] of [
        [{ role: 'admin', workspaces: [] }, 'role'],
        [{}, 'workspace_users.create'],
      ] as const) {
        const asked = invitation(more);
        const message = await refusedTwice(text, ({ users }) => users.createUser(asked), [
          'POST',
          path,
          asked,
        ]);
        expect(message).to.include(missing);
      }
      const { id } = await plane.client(text).api.users.createUser(invitation({ workspaces: [] }));
      const raised = { role: 'admin' } as const;
      await refusedTwice(text, ({ users }) => users.updateUser({ user_id: id, ...raised }), [
        'PUT',
        `${path}/${id}`,
        raised,
      ]);
      const added = { workspaces: [{ id: 'other', role: 'member' as const }] };
      await refusedTwice(text, ({ users }) => users.updateUser({ user_id: id, ...added }), [
        'PUT',
        `${path}/${id}`,
        added,
      ]);
    });

    it('makes the first owner only with every scope of the organisation', async () => {
      const asked = invitation({ role: 'owner', workspaces: [] });
      const { key: text } = await key(without('deployments.delete'));
      const message = await refusedTwice(text, ({ users }) => users.createUser(asked), ['POST', path, asked]);
      expect(message).to.include('deployments.delete');
      const { id } = await plane.admin.api.users.createUser(invitation({ workspaces: [] }));
      const raised = { role: 'owner' } as const;
      await refusedTwice(text, ({ users }) => users.updateUser({ user_id: id, ...raised }), [
        'PUT',
        `${path}/${id}`,
        raised,
      ]);
    });

    it('restores no scopes to the keys of a user by raising the role of that user', async () => {
      const { api } = plane.admin;
      const user = await api.users.createUser(invitation({ workspaces: [{ id: 'default', role: 'admin' }] }));
      await api.apiKeys.createApiKey({
        ...ofWorkspace,
        sub_type: 'user',
        name: 'theirs',
        user_id: user.id,
        scopes: ['guardrails.delete'],
      });
      const at = { workspace_id: 'default', user_id: user.id } as const;
      await api.workspaceMembers.updateWorkspaceMember({ ...at, role: 'member' });
      const { key: text } = await key(['workspace_users.update', 'organisation_users.update']);
      const place = `/v1/admin/workspaces/default/users/${user.id}`;
      const message = await refusedTwice(
        text,
        ({ workspaceMembers }) => workspaceMembers.updateWorkspaceMember({ ...at, role: 'admin' }),
        ['PUT', place, { role: 'admin' }],
      );
      expect(message).to.include('guardrails.delete');
      const raised = { workspaces: [{ id: 'default', role: 'admin' as const }] };
      await refusedTwice(text, ({ users }) => users.updateUser({ user_id: user.id, ...raised }), [
        'PUT',
        `${path}/${user.id}`,
        raised,
      ]);
      const { key: more } = await key(['workspace_users.update', 'guardrails.delete']);
      await plane.client(more).api.workspaceMembers.updateWorkspaceMember({ ...at, role: 'admin' });
    });

    it('restores no scopes to the keys of a former admin by adding that user to a workspace', async () => {
      const { api } = plane.admin;
      const user = await api.users.createUser(invitation({ role: 'admin', workspaces: [] }));
      await api.apiKeys.createApiKey({
        ...ofWorkspace,
        sub_type: 'user',
        name: 'theirs',
        user_id: user.id,
        scopes: ['configs.list'],
      });
      await api.users.updateUser({ user_id: user.id, role: 'member' });
      const { key: text } = await key(['workspace_users.create']);
      const asked = { users: [{ id: user.id, role: 'member' as const }] };
      await refusedTwice(
        text,
        ({ workspaceMembers }) => workspaceMembers.addWorkspaceMembers({ workspace_id: 'default', ...asked }),
        ['POST', '/v1/admin/workspaces/default/users', asked],
      );
    });

    it('creates a workspace with members only with the scope to add members', async () => {
      const { id } = await member();
      const { key: text } = await key(['workspaces.create']);
      const asked = { name: 'With people', users: [id] };
      const message = await refusedTwice(text, ({ workspaces }) => workspaces.createWorkspace(asked), [
        'POST',
        '/v1/admin/workspaces',
        asked,
      ]);
      expect(message).to.include('workspace_users.create');
      await plane.client(text).api.workspaces.createWorkspace({ name: 'Empty' });
    });
  });

  describe('by keys', () => {
    it('rotates no key for model calls without the scope to create such keys', async () => {
      const { id } = await key(['completions.write'], ofWorkspace);
      const { key: text } = await key(['workspace_service_api_keys.rotate']);
      const message = await refusedTwice(text, ({ apiKeys }) => apiKeys.rotateApiKey({ id }), [
        'POST',
        `/v1/api-keys/${id}/rotate`,
        {},
      ]);
      expect(message).to.include('completions.write');
    });

    it('adds no scope for model calls to a key without the scope to create such keys', async () => {
      const { id } = await key(['configs.list'], ofWorkspace);
      const { key: text } = await key(['workspace_service_api_keys.update']);
      const change = { scopes: ['configs.list', 'completions.write'] };
      await refusedTwice(text, ({ apiKeys }) => apiKeys.updateApiKey({ id, ...change }), [
        'PUT',
        `/v1/api-keys/${id}`,
        change,
      ]);
    });

    it('does not extend the life of a key whose scopes it cannot grant', async () => {
      const soon = new Date(Date.now() + 60_000).toISOString();
      const { id } = await key(without(), { expires_at: soon });
      const { key: text } = await key(['organisation_service_api_keys.update']);
      for (const expires_at of [new Date(Date.now() + 86_400_000).toISOString(), null]) {
        const answer = await plane.rest('PUT', `/v1/api-keys/${id}`, { expires_at }, { key: text });
        expect(codeOf(answer)).to.deep.equal([403, 'AB03']);
      }
      const earlier = new Date(Date.now() + 30_000).toISOString();
      const answer = await plane.rest('PUT', `/v1/api-keys/${id}`, { expires_at: earlier }, { key: text });
      expect(answer.status).to.equal(200);
    });
  });
});
