// lane: shared gateway
import { expect } from 'chai';
import type { SimulatedProvider } from '../../src/simulated/index.js';
import { patchOf } from '../support/scim-plane.js';
import { addSimulated, type SharedGateway, shareGateway, twoWorkers } from '../support/shared-gateway.js';

describe('people that SCIM manages, while requests use their keys', () => {
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

  async function send(verb: string, path: string, body?: object) {
    const response = await fetch(`${gateway.url}/v1${path}`, {
      method: verb,
      headers: {
        authorization: `Bearer ${gateway.adminKey}`,
        ...(body && {
          'content-type': path.includes('/api-keys') ? 'application/json' : 'application/scim+json',
        }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    expect(response.ok, `${verb} ${path} ${response.status} ${text}`).to.equal(true);
    return text === '' ? null : JSON.parse(text);
  }
  const scim = (verb: string, path: string, body?: object) =>
    send(verb, `/scim/${gateway.organisationId}${path}`, body);

  async function statusOf(key: string): Promise<number> {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': key,
        'x-gateway-provider': '@simulated',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    await response.arrayBuffer();
    return response.status;
  }

  /** Several times, so that every data worker is asked. */
  const statuses = async (key: string): Promise<number[]> => [
    ...new Set(await Promise.all(Array.from({ length: 20 }, () => statusOf(key)))),
  ];

  /** A user in the workspace by a group, with a key. */
  async function member(): Promise<{ readonly id: string; readonly group: string; readonly key: string }> {
    const { id } = await scim('POST', '/Users', { userName: `scim${++serial}@example.com` });
    const displayName = `In use ${gateway.workspaceId} ${serial}`;
    const { id: group } = await scim('POST', '/Groups', { displayName, members: [{ value: id }] });
    await send('POST', '/scim/workspaces', {
      workspace_id: gateway.workspaceId,
      role: 'member',
      scim_group_id: group,
    });
    const { key } = await send('POST', '/api-keys/workspace/user', {
      name: 'own',
      workspace_id: gateway.workspaceId,
      user_id: id,
      scopes: ['completions.write'],
    });
    return { id, group, key };
  }

  it('a deactivated user asks no more from the moment of the answer, and again when activated', async () => {
    const { id, key } = await member();
    expect(await statuses(key)).to.deep.equal([200]);
    await scim('PATCH', `/Users/${id}`, patchOf({ op: 'Replace', path: 'active', value: 'False' }));
    expect(await statuses(key)).to.deep.equal([401]);
    await scim('PATCH', `/Users/${id}`, patchOf({ op: 'replace', value: { active: true } }));
    expect(await statuses(key)).to.deep.equal([200]);
    await scim('DELETE', `/Users/${id}`);
    expect(await statuses(key)).to.deep.equal([401]);
  });

  it('nor does one who is taken out of the group that the workspace is mapped to', async () => {
    const { id, group, key } = await member();
    expect(await statuses(key)).to.deep.equal([200]);
    await scim('PATCH', `/Groups/${group}`, patchOf({ op: 'remove', path: `members[value eq "${id}"]` }));
    expect(await statuses(key)).to.deep.equal([401]);
  });
});
