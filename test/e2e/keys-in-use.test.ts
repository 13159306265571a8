// lane: shared gateway, quick
import { expect } from 'chai';
import type { Database } from '../../src/control-plane/store/sql/connection/driver.js';
import { openSqlite } from '../../src/control-plane/store/sql/connection/sqlite.js';
import type { SimulatedProvider } from '../../src/simulated/index.js';
import { eventually, pause } from '../support/gateway.js';
import { addSimulated, type SharedGateway, shareGateway, twoWorkers } from '../support/shared-gateway.js';

const question = JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] });

describe('a key, while requests use it', () => {
  let gateway: SharedGateway;
  let provider: SimulatedProvider;

  before(async () => {
    gateway = await shareGateway(twoWorkers);
    provider = await addSimulated(gateway);
  });
  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  async function admin(verb: string, path: string, body?: object) {
    const response = await fetch(`${gateway.url}/v1${path}`, {
      method: verb,
      headers: { 'x-gateway-api-key': gateway.adminKey, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    expect(response.status, `${verb} ${path}`).to.equal(200);
    return response.json() as Promise<{ id: string; key: string }>;
  }

  const make = (body: object = {}) =>
    admin('POST', '/api-keys/workspace/service', {
      name: 'app',
      workspace_id: gateway.workspaceId,
      scopes: ['completions.write'],
      ...body,
    });

  async function ask(key: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': key,
        'x-gateway-provider': '@simulated',
        'content-type': 'application/json',
        ...headers,
      },
      body: question,
    });
  }

  async function statusOf(key: string, headers?: Record<string, string>): Promise<number> {
    const response = await ask(key, headers);
    await response.arrayBuffer();
    return response.status;
  }

  /** Asks over and over, several at a time, until `until` is set; says when each began, and how it ended. */
  function load(key: string) {
    const seen: { readonly at: number; readonly status: number }[] = [];
    const going = { until: Number.POSITIVE_INFINITY };
    const loops = Array.from({ length: 8 }, async () => {
      while (performance.now() < going.until) {
        const at = performance.now();
        seen.push({ at, status: await statusOf(key) });
      }
    });
    return { seen, going, done: Promise.all(loops) };
  }

  it('passes no request that begins after its deletion has answered', async () => {
    const { id, key } = await make();
    const { seen, going, done } = load(key);
    const passed = () => seen.filter(({ status }) => status === 200);
    await eventually('requests that pass', async () => passed().length > 20);
    await admin('DELETE', `/api-keys/${id}`);
    const deleted = performance.now();
    const later = () => seen.filter(({ at }) => at >= deleted);
    await eventually('requests that begin afterwards', async () => later().length > 20);
    going.until = 0;
    await done;
    expect(new Set(later().map(({ status }) => status))).to.deep.equal(new Set([401]));
  });

  it('has two texts while it is rotated, and the old one ends at the configured time', async () => {
    const { id, key } = await make();
    expect(await statusOf(key)).to.equal(200);
    const { key: next } = await admin('POST', `/api-keys/${id}/rotate`);
    for (const text of [key, next, key, next]) expect(await statusOf(text)).to.equal(200);
    const end = Date.now() + 1500;
    await bring(id, end);
    const seen: { at: number; status: number }[] = [];
    while (Date.now() < end + 200) {
      const before = Date.now();
      const status = await statusOf(key);
      seen.push({ at: status === 200 ? before : Date.now(), status });
    }
    expect(seen.filter(({ status }) => status === 200)).to.have.length.above(0);
    expect(seen.filter(({ status, at }) => status === 200 && at >= end)).to.deep.equal([]);
    expect(seen.filter(({ status, at }) => status !== 200 && at < end)).to.deep.equal([]);
    expect(await statusOf(next)).to.equal(200);
  });

  /** Half an hour is long: the end of the transition is moved to `end`, behind the gateway's back. */
  async function bring(id: string, end: number): Promise<void> {
    const database: Database = await openSqlite(gateway.dataDir);
    await database.write((sql) => sql('api_keys').where({ id }).update({ previous_expires_at: end }));
    await database.close();
    // The workers ask anew.
    await admin('PUT', `/api-keys/${id}`, { description: 'rotated' });
  }

  it('ends with its expiry, and begins again where that is moved', async () => {
    const end = Date.now() + 1500;
    const { id, key } = await make({ expires_at: new Date(end).toISOString() });
    expect(await statusOf(key)).to.equal(200);
    await pause(end + 50 - Date.now());
    const response = await ask(key);
    expect(response.status).to.equal(401);
    expect(await response.json()).to.nested.include({ 'error.code': '01' });
    await admin('PUT', `/api-keys/${id}`, { expires_at: null });
    expect(await statusOf(key)).to.equal(200);
  });

  it('loses a scope at once', async () => {
    const { id, key } = await make();
    expect(await statusOf(key)).to.equal(200);
    await admin('PUT', `/api-keys/${id}`, { scopes: ['configs.list'] });
    expect(await statusOf(key)).to.equal(403);
  });

  it('brings no provider of its own once the organisation blocks that', async () => {
    const own = { 'x-gateway-provider': 'openai', authorization: 'Bearer sk-own' };
    const block = (flag: boolean) =>
      admin('PUT', '/admin/organisation', { settings: { block_inline_configs: flag } });
    const { key } = await make();
    expect(await statusOf(key)).to.equal(200);
    await block(true);
    const response = await ask(key, own);
    expect(response.status).to.equal(400);
    expect(await response.json()).to.nested.include({
      status: 'failure',
      'error.code': 'inline_provider_blocked',
      'error.field': 'x-gateway-provider',
    });
    expect(await statusOf(key)).to.equal(200);
    await block(false);
    const inline = { 'x-gateway-config': '{"provider":"@simulated"}', 'x-gateway-provider': '' };
    expect(await statusOf(key, inline)).to.equal(200);
  });
});
