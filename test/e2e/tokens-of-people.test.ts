import { expect } from 'chai';
import type { Forget } from '../../src/common/ipc/messages.js';
import type { Store } from '../../src/control-plane/store/store.js';
import { TokenChecker } from '../../src/control-plane/tokens/token-checker.js';
import { type AdminPlane, startPlane } from '../support/admin-plane.js';
import { folder, openSqliteStore } from '../support/stores.js';
import { type IssuerKey, makeIssuerKey, signToken } from '../support/token-issuer.js';

const silent = { info: () => {}, warn: () => {} };

function here<T>(value: T | string | null): Exclude<T, string> {
  if (typeof value === 'string' || value === null) throw new Error(`got ${value}`);
  return value as Exclude<T, string>;
}

describe('JSON web tokens of people and at deployments', () => {
  let plane: AdminPlane;
  let store: Store;
  let key: IssuerKey;
  let organisation: string;
  let deployment: string;

  const checker = (of: string | null = null): TokenChecker =>
    new TokenChecker({
      store,
      fetch: () => Promise.reject(new Error('no')),
      deployment: of,
      removed: () => {},
      log: silent,
    });
  const sign = (more: Readonly<Record<string, unknown>> = {}) =>
    signToken(key, {
      gateway_oid: organisation,
      gateway_workspace: 'other',
      scope: 'configs.list completions.write',
      ...more,
    });

  before(async () => {
    store = await openSqliteStore(folder());
    key = await makeIssuerKey('one', 'EdDSA');
    const tokens = checker();
    const forgotten: Forget[] = [];
    plane = await startPlane({
      store,
      tokens,
      async changed(what) {
        forgotten.push(...what);
        tokens.forget(what);
      },
    });
    organisation = plane.first.organisation_id;
    const set = await plane.rest('PUT', '/v1/admin/organisation/auth-settings', {
      jwks: { keys: [key.jwk] },
      algorithms: ['EdDSA'],
      user_id_claims: ['email_id', 'sub'],
    });
    expect(set.status, JSON.stringify(set.json)).to.equal(200);
    const made = await plane.rest('POST', '/v1/deployments', {
      name: 'edge',
      auth_settings: {
        jwt_subs_allowed: ['alice', 'bob', 'carol'],
        jwt_sub_workspace_mapping: { alice: 'other', bob: ['other', 'default'] },
      },
    });
    deployment = made.json.id;
  });
  after(() => plane.close());

  const lists = async (token: string): Promise<number> =>
    (await plane.rest('GET', '/v1/configs', undefined, { key: token })).status;

  it('hold no more than the role of their user leaves, and nothing outside of the workspaces of that user', async () => {
    const email = 'Carol@Example.com';
    const token = await sign({ email_id: 'carol@example.com' });
    expect(await lists(token)).to.equal(200);
    const user = here(await store.users.create(organisation, { email, role: 'member' }));
    const outside = await plane.rest('GET', '/v1/configs', undefined, { key: token });
    expect([outside.status, outside.json.data.errorCode]).to.deep.equal([403, 'AB03']);
    const place = { organisationId: organisation, workspaceId: plane.other };
    expect(await store.members.add(place, user.id, 'member')).to.equal('added');
    expect(await lists(token)).to.equal(200);
    await store.workspaces.update(organisation, plane.other, {
      securitySettings: { members_view_configs: false },
    });
    expect(await lists(token)).to.equal(403);
    const found = await checker().find(token);
    expect(found).to.include({ userId: user.id, keyType: 'workspace-user', keyId: 'jwt:carol@example.com' });
    await store.workspaces.update(organisation, plane.other, { securitySettings: {} });
  });

  it('are accepted by a deployment for the subjects and workspaces that it names', async () => {
    const at = checker(deployment);
    const found = async (sub: string | undefined, workspace: string | undefined) => {
      const record = await at.find(await sign({ sub, gateway_workspace: workspace }));
      return 'refused' in record ? record.refused : record.workspaceId;
    };
    const { workspace_id: first } = plane.first;
    expect(await found('alice', undefined)).to.equal(plane.other);
    expect(await found('alice', 'other')).to.equal(plane.other);
    expect(await found('alice', 'default')).to.equal('permission_denied');
    expect(await found('bob', 'default')).to.equal(first);
    expect(await found('bob', undefined)).to.equal('03');
    expect(await found('carol', 'default')).to.equal(first);
    expect(await found('carol', undefined)).to.equal('03');
    expect(await found('dave', 'default')).to.equal('permission_denied');
    expect(await found(undefined, 'default')).to.equal('permission_denied');
    const update = await plane.rest('PUT', `/v1/deployments/${deployment}`, {
      auth_settings: { jwt_sub_workspace_mapping: { alice: 5 } },
    });
    expect(update.json.data.message).to.include('jwt_sub_workspace_mapping.alice');
  });

  it('of another organisation with the same kid open nothing here', async () => {
    const other = await makeIssuerKey('one', 'EdDSA');
    const stranger = await signToken(other, {
      gateway_oid: organisation,
      gateway_workspace: 'other',
      scope: 'configs.list',
    });
    expect(await lists(stranger)).to.equal(401);
    expect(await lists(await sign())).to.equal(200);
    const cleared = { jwks: null, algorithms: null };
    await plane.rest('PUT', '/v1/admin/organisation/auth-settings', cleared);
    expect(await lists(await sign())).to.equal(401);
  });
});
