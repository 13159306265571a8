import { expect } from 'chai';
import { scopesOf } from '../../src/common/access/scopes.js';
import { type AdminPlane, type RestResult, refused, startPlane } from '../support/admin-plane.js';

const all = scopesOf('organisation-service');
const dayMs = 86_400_000;
const at = (ms: number): string => new Date(Date.now() + ms).toISOString();

describe('the last key that administers an organisation', () => {
  let plane: AdminPlane;
  let lastId: string;

  beforeEach(async () => {
    plane = await startPlane();
    const { data } = await plane.admin.api.apiKeys.listApiKeys({});
    lastId = data.find(({ type }) => type === 'organisation-service')?.id ?? '';
  });
  afterEach(() => plane.close());

  const codeOf = ({ status, json }: RestResult): [number, string] => [status, json?.data?.errorCode];
  const make = (scopes: string[], more: object = {}) =>
    plane.admin.api.apiKeys.createApiKey({
      type: 'organisation',
      sub_type: 'service',
      name: 'another',
      scopes,
      ...more,
    });
  const works = async (key?: string): Promise<number> =>
    (await plane.rest('GET', '/v1/api-keys', undefined, key === undefined ? {} : { key })).status;

  it('is not deleted, by itself or by another key', async () => {
    const message = await refused(
      plane.admin.api.apiKeys.deleteApiKey({ id: lastId }),
      'ALREADY_EXISTS',
      'AB07',
    );
    expect(message).to.include('create another one first').and.include('headgate keys recover');
    const { key } = await make(['organisation_service_api_keys.delete']);
    for (const by of [undefined, key]) {
      const options = by === undefined ? {} : { key: by };
      const answer = await plane.rest('DELETE', `/v1/api-keys/${lastId}`, undefined, options);
      expect(codeOf(answer)).to.deep.equal([409, 'AB07']);
    }
    expect(await works()).to.equal(200);
  });

  it('loses no scope, and its life is not shortened', async () => {
    const changes = [
      { scopes: ['organisation_users.list'] },
      { scopes: all.slice(1) },
      { expires_at: at(60_000) },
      { expires_at: at(400 * dayMs) },
    ];
    for (const change of changes) {
      const overGrpc = plane.admin.api.apiKeys.updateApiKey({ id: lastId, ...change });
      await refused(overGrpc, 'ALREADY_EXISTS', 'AB07');
      const answer = await plane.rest('PUT', `/v1/api-keys/${lastId}`, change);
      expect(codeOf(answer)).to.deep.equal([409, 'AB07']);
    }
    expect(
      (await plane.rest('PUT', `/v1/api-keys/${lastId}`, { name: 'other', scopes: all })).status,
    ).to.equal(200);
    expect(await works()).to.equal(200);
  });

  it('is rotated, and its new text works', async () => {
    const { key } = await plane.admin.api.apiKeys.rotateApiKey({ id: lastId });
    expect(await works(key)).to.equal(200);
  });

  it('is the last one while others hold less, or end within a day', async () => {
    await make(all.filter((scope) => scope !== 'audit_logs.list'));
    await make(all, { expires_at: at(dayMs / 2) });
    expect(codeOf(await plane.rest('DELETE', `/v1/api-keys/${lastId}`))).to.deep.equal([409, 'AB07']);
  });

  it('may go where there is another one', async () => {
    const { key } = await make(all);
    expect((await plane.rest('DELETE', `/v1/api-keys/${lastId}`)).status).to.equal(200);
    expect(await works()).to.equal(401);
    expect(await works(key)).to.equal(200);
  });

  it('stays where two such keys delete each other at the same moment', async () => {
    const { id, key } = await make(all);
    const [one, other] = await Promise.all([
      plane.rest('DELETE', `/v1/api-keys/${lastId}`, undefined, { key }),
      plane.rest('DELETE', `/v1/api-keys/${id}`),
    ]);
    expect([one.status, other.status].filter((status) => status === 200)).to.have.length(1);
    expect([await works(), await works(key)].filter((status) => status === 200)).to.have.length(1);
  });

  it('is, where no key holds every scope, the last one that can make keys', async () => {
    const { id, key } = await make([
      'organisation_service_api_keys.create',
      'organisation_service_api_keys.delete',
    ]);
    // As in a store from before there was such a rule.
    await plane.store.keys.delete(plane.first.organisation_id, lastId);
    const answer = await plane.rest('DELETE', `/v1/api-keys/${id}`, undefined, { key });
    expect(codeOf(answer)).to.deep.equal([409, 'AB07']);
    expect(answer.json.data.message).to.include('can make keys');
  });
});
