// lane: shared gateway
import { expect } from 'chai';
import type { SimulatedProvider } from '../../src/simulated/index.js';
import { addSimulated, type SharedGateway, shareGateway, twoWorkers } from '../support/shared-gateway.js';

const question = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] });

describe('people and workspaces, while requests use their keys', () => {
  let gateway: SharedGateway;
  let provider: SimulatedProvider;
  let serial = 0;

  before(async () => {
    gateway = await shareGateway(twoWorkers);
    provider = await addSimulated(gateway);
  });
  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  async function admin(verb: string, path: string, body?: object, key: string | null = gateway.adminKey) {
    const response = await fetch(`${gateway.url}/v1${path}`, {
      method: verb,
      headers: { ...(key !== null && { 'x-gateway-api-key': key }), 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    expect(response.status, `${verb} ${path} ${text}`).to.equal(200);
    return JSON.parse(text);
  }

  async function statusOf(key: string): Promise<number> {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': key,
        'x-gateway-provider': '@simulated',
        'content-type': 'application/json',
      },
      body: question,
    });
    await response.arrayBuffer();
    return response.status;
  }

  /** Several times, so that every data worker is asked. */
  const statuses = async (key: string): Promise<number[]> => [
    ...new Set(await Promise.all(Array.from({ length: 20 }, () => statusOf(key)))),
  ];

  /** A person invited to the workspace, with the key that the invitation promised. */
  async function invited(): Promise<{ readonly id: string; readonly key: string }> {
    const { invite_link } = await admin('POST', '/admin/users/invites', {
      email: `p${++serial}@example.com`,
      role: 'member',
      workspaces: [{ id: gateway.workspaceId, role: 'member' }],
      workspace_api_key_details: { scopes: ['completions.write'], name: 'own' },
    });
    const token = invite_link.split('#token=')[1];
    const { user, api_keys } = await admin('POST', '/admin/users/invites/accept', { token }, null);
    return { id: user.id, key: api_keys[0].key };
  }

  it('one who accepts an invitation asks with the promised key at once', async () => {
    expect(await statuses((await invited()).key)).to.deep.equal([200]);
  });

  it('one who leaves the workspace asks no more, from the moment of the answer', async () => {
    const { id, key } = await invited();
    expect(await statuses(key)).to.deep.equal([200]);
    await admin('DELETE', `/admin/workspaces/${gateway.workspaceId}/users/${id}`);
    expect(await statuses(key)).to.deep.equal([401]);
  });

  it('nor does one who leaves the organisation', async () => {
    const { id, key } = await invited();
    expect(await statuses(key)).to.deep.equal([200]);
    await admin('DELETE', `/admin/users/${id}`);
    expect(await statuses(key)).to.deep.equal([401]);
  });

  it('the keys of an archived workspace open nothing', async () => {
    const { id } = await admin('POST', '/workspaces', { name: 'Short' });
    const { key } = await admin('POST', '/api-keys/workspace/service', {
      name: 'app',
      workspace_id: id,
      scopes: ['completions.write'],
    });
    // The key is good; the workspace has no provider of that name.
    expect(await statuses(key)).to.not.include(401);
    await admin('DELETE', `/workspaces/${id}`, { name: 'Short', force_delete: true });
    expect(await statuses(key)).to.deep.equal([401]);
  });

  it('the link of an invitation begins with the address of the gateway', async () => {
    const made = await admin('POST', '/admin/users/invites', {
      email: 'link@example.com',
      role: 'member',
      workspaces: [{ id: gateway.workspaceId, role: 'member' }],
    });
    expect(made.invite_link).to.match(new RegExp(`^http://localhost:${gateway.port}/.*#token=`));
  });
});
