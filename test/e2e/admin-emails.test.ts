import { expect } from 'chai';
import { type AdminPlane, refused, startPlane } from '../support/admin-plane.js';

describe('e-mail addresses that look alike', () => {
  let plane: AdminPlane;

  before(async () => {
    plane = await startPlane();
  });
  after(() => plane.close());

  const user = (email: string) => ({ email, role: 'member' as const });
  const invitation = (email: string) => ({
    ...user(email),
    workspaces: [{ id: 'default', role: 'member' as const }],
  });
  const unlike = {
    'a Cyrillic letter': '\u0430da@example.com',
    'a wide letter': '\uff41da@example.com',
    'a space of no width': 'a\u200bda@example.com',
    'a mark of direction': 'ada\u202e@example.com',
    'a dot at the end': 'ada@example.com.',
  };

  for (const [what, email] of Object.entries(unlike)) {
    it(`are refused over both transports where they have ${what}`, async () => {
      const { users, invites, apiKeys } = plane.admin.api;
      const messages = [
        await refused(users.createUser(user(email)), 'INVALID_ARGUMENT', 'AB01'),
        await refused(invites.createInvite(invitation(email)), 'INVALID_ARGUMENT', 'AB01'),
      ];
      for (const [path, body] of [
        ['/v1/admin/users', user(email)],
        ['/v1/admin/users/invites', invitation(email)],
      ] as const) {
        const { status, json } = await plane.rest('POST', path, body);
        expect([status, json.data.errorCode]).to.deep.equal([400, 'AB01']);
        messages.push(json.data.message);
      }
      expect(new Set(messages).size).to.equal(1);
      expect(messages[0]).to.match(/^email (?:must be|contains) /);
      const alert = {
        type: 'workspace',
        sub_type: 'service',
        name: 'x',
        workspace_id: 'default',
        scopes: ['completions.write'],
        alert_emails: [email],
      } as const;
      const message = await refused(apiKeys.createApiKey(alert), 'INVALID_ARGUMENT', 'AB01');
      expect(message).to.match(/^alert_emails\[0\] (?:must be|contains) /);
    });
  }

  it('are one user, one invitation and one member, whatever way the domain is written', async () => {
    const ways = [
      'Grace@m\u00fcnchen.example',
      'grace@XN--MNCHEN-3YA.example',
      'grace@\uff4d\u00fcnchen.example',
    ];
    const { users, invites, workspaceMembers } = plane.admin.api;
    const made = await users.createUser({
      ...user(ways[0]!),
      workspaces: [{ id: 'default', role: 'member' }],
    });
    expect(made.email).to.equal('Grace@xn--mnchen-3ya.example');
    for (const email of ways) {
      await refused(users.createUser(user(email)), 'ALREADY_EXISTS', 'AB07');
      await refused(invites.createInvite(invitation(email)), 'ALREADY_EXISTS', 'AB07');
      expect((await users.listUsers({ email })).total).to.equal(1);
      const members = await workspaceMembers.listWorkspaceMembers({ workspace_id: 'default', email });
      expect(members.total).to.equal(1);
    }
  });

  it('are one open invitation, and its user has the address as it is kept', async () => {
    const ways = ['joan@b\u00fccher.example', 'JOAN@xn--bcher-kva.example'];
    const { invites } = plane.admin.api;
    const { invite_link } = await invites.createInvite(invitation(ways[0]!));
    for (const email of ways) {
      await refused(invites.createInvite(invitation(email)), 'ALREADY_EXISTS', 'AB07');
      expect((await invites.listInvites({ email, status: 'pending' })).total).to.equal(1);
    }
    expect((await invites.listInvites({ search: '@b\u00fccher.example' })).total).to.equal(1);
    const accepted = await invites.acceptInvite({ token: invite_link.split('#token=')[1] ?? '' });
    expect(accepted.user?.email).to.equal('joan@xn--bcher-kva.example');
  });
});
