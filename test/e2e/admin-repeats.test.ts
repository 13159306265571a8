import { expect } from 'chai';
import type { FieldShape, Shape } from '../../proto/shape.js';
import { adminTree } from '../../proto/tree.js';
import { repeatsChecked } from '../../src/control-plane/administration/repeats.js';
import { type AdminPlane, type RestResult, refused, startPlane } from '../support/admin-plane.js';

const holdsSecret = (shape: Shape): boolean =>
  shape.fields.some(
    ({ rules, kind, message }: FieldShape) =>
      rules.secret === true || (kind === 'message' && message !== null && holdsSecret(message)),
  );

describe('a repeated request whose first answer had a secret', () => {
  let plane: AdminPlane;
  let serial = 0;

  before(async () => {
    plane = await startPlane();
  });
  after(() => plane.close());

  /** Sends the same request again whenever it is called. */
  function repeatable(path: string, body: object, key?: string): () => Promise<RestResult> {
    const headers = { 'idempotency-key': `once-${++serial}` };
    return () => plane.rest('POST', path, body, { headers, ...(key !== undefined && { key }) });
  }
  const newKey = (more: object = {}) =>
    repeatable('/v1/api-keys/workspace/service', {
      name: 'once',
      workspace_id: 'default',
      scopes: ['completions.write'],
      ...more,
    });

  async function expectGone(again: () => Promise<RestResult>, secret: string): Promise<void> {
    const { status, json } = await again();
    expect([status, json.data.errorCode]).to.deep.equal([409, 'AB07']);
    expect(json.data.message).to.include('not shown again').and.include('Idempotency-Key');
    expect(JSON.stringify(json)).to.not.include(secret);
  }

  it('gets it again while it is good', async () => {
    for (const make of [
      newKey(),
      repeatable('/v1/deployments', { name: 'repeated' }),
      repeatable('/v1/admin/users/invites', {
        email: 'again@example.com',
        role: 'member',
        workspaces: [{ id: 'default', role: 'member' }],
      }),
    ]) {
      const first = await make();
      expect(first.status).to.equal(200);
      expect((await make()).json).to.deep.equal(first.json);
    }
  });

  it('does not get the text of a key that was deleted', async () => {
    const make = newKey();
    const { id, key } = (await make()).json;
    await plane.admin.api.apiKeys.deleteApiKey({ id });
    await expectGone(make, key);
  });

  it('does not get it over gRPC either', async () => {
    const { apiKeys } = plane.admin.api;
    const asked = {
      type: 'workspace',
      sub_type: 'service',
      name: 'once',
      workspace_id: 'default',
      scopes: ['completions.write'],
      request_id: 'grpc-once',
    } as const;
    const { id, key } = await apiKeys.createApiKey(asked);
    expect((await apiKeys.createApiKey(asked)).key).to.equal(key);
    await apiKeys.deleteApiKey({ id });
    expect(await refused(apiKeys.createApiKey(asked), 'ABORTED', 'AB07')).to.include('request_id');
  });

  it('does not get the text that a rotation has replaced, while that is good for a little longer too', async () => {
    const make = newKey();
    const { id, key } = (await make()).json;
    const rotate = repeatable(`/v1/api-keys/${id}/rotate`, {});
    const rotated = (await rotate()).json;
    await expectGone(make, key);
    expect((await rotate()).json).to.deep.equal(rotated);
    await plane.admin.api.apiKeys.deleteApiKey({ id });
    await expectGone(rotate, rotated.key);
  });

  it('does not get the text of a key that has expired, or whose workspace is archived', async () => {
    const make = newKey({ expires_at: new Date(Date.now() + 60_000).toISOString() });
    const { id, key } = (await make()).json;
    const workspace = await plane.admin.api.workspaces.createWorkspace({
      name: 'Soon gone',
      slug: 'soon-gone',
    });
    const there = newKey({ workspace_id: 'soon-gone' });
    const made = (await there()).json;
    await plane.admin.api.workspaces.deleteWorkspace({
      workspace_id: workspace.id,
      name: 'Soon gone',
      force_delete: true,
    });
    await expectGone(there, made.key);
    await plane.store.keys.update(plane.first.organisation_id, id, { expiresAt: Date.now() - 1 });
    await expectGone(make, key);
  });

  it('does not get the text of a key of a kind that the caller may make no more', async () => {
    const { apiKeys } = plane.admin.api;
    const family = (type: string) => `${type}_api_keys.create`;
    const both = [family('workspace_service'), family('workspace_user')];
    const maker = await apiKeys.createApiKey({
      type: 'workspace',
      sub_type: 'service',
      name: 'maker',
      workspace_id: 'default',
      scopes: [...both, 'configs.list'],
    });
    const make = repeatable(
      '/v1/api-keys/workspace/service',
      { name: 'x', scopes: ['configs.list'] },
      maker.key,
    );
    expect((await make()).status).to.equal(200);
    await apiKeys.updateApiKey({ id: maker.id, scopes: both.slice(1) });
    expect((await make()).json.data.errorCode).to.equal('AB03');
  });

  it('does not get the link of an invitation that was resent, cancelled or accepted', async () => {
    const invite = () =>
      repeatable('/v1/admin/users/invites', {
        email: `r${++serial}@example.com`,
        role: 'member',
        workspaces: [{ id: 'default', role: 'member' }],
      });
    const { invites } = plane.admin.api;
    const tokenOf = (link: string): string => link.split('#token=')[1] ?? '';
    for (const end of [
      (id: string) => invites.resendInvite({ invite_id: id }),
      (id: string) => invites.deleteInvite({ invite_id: id }),
      (_: string, token: string) => invites.acceptInvite({ token }),
    ]) {
      const make = invite();
      const { id, invite_link } = (await make()).json;
      await end(id, tokenOf(invite_link));
      await expectGone(make, tokenOf(invite_link));
    }
  });

  it('does not get the secret of a deployment that has another one, or is deleted', async () => {
    const { deployments } = plane.admin.api;
    const make = () => repeatable('/v1/deployments', { name: `d${++serial}` });
    const [turned, gone] = [make(), make()];
    const one = (await turned()).json;
    await deployments.updateDeployment({ deployment_id: one.id, rotate_auth: true });
    await expectGone(turned, one.auth_secret);
    const other = (await gone()).json;
    await deployments.deleteDeployment({ deployment_id: other.id });
    await expectGone(gone, other.auth_secret);
  });

  it('is checked for every method that keeps such answers', () => {
    const kept = [...adminTree().methods.values()].filter(
      ({ request, response }) => request.field('request_id')?.apart === true && holdsSecret(response),
    );
    expect(kept.map(({ name }) => name)).to.have.members([...repeatsChecked]);
  });
});
