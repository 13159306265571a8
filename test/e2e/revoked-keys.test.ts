// lane: shared gateway
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import type { Database } from '../../src/control-plane/store/sql/connection/driver.js';
import { openSqlite } from '../../src/control-plane/store/sql/connection/sqlite.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { eventually, pause } from '../support/gateway.js';
import { type SharedGateway, shareGateway, twoWorkers } from '../support/shared-gateway.js';
import { expectWithinMs } from '../support/time-limits.js';

/** Half a minute of words: no test waits for its end. */
const longAnswer = 'sim-fault:delay=30';

/** A stream as its client sees it. */
interface Watched {
  /** Text so far. */
  text(): string;
  /** Resolves with all of the text when the stream ends; the time at which it did is in `endedAt`. */
  readonly whole: Promise<string>;
  endedAt: number;
  readonly id: string;
  /** Marks the provider's record of it. */
  readonly nonce: string;
}

describe('a request whose key is revoked while it runs', function () {
  this.timeout(30_000);
  let gateway: SharedGateway;
  let provider: SimulatedProvider;
  let serial = 0;

  before(async () => {
    [gateway, provider] = await Promise.all([shareGateway(twoWorkers), startSimulated({ record: true })]);
    await addProvider(gateway.workspaceId);
  });
  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  const addProvider = (workspace_id: string) =>
    gateway.organisation().providers.create({
      slug: 'simulated',
      provider: 'openai',
      key: 'sk-sim',
      base_url: `${provider.url}/v1`,
      workspace_id,
    });

  /** Of the requests that the provider got for this one, how many were broken off. */
  const callsEnd = (nonce: string) =>
    eventually('the call to the provider is broken off', async () =>
      provider.requests.filter((request) => request.nonce === nonce).every(({ aborted }) => aborted),
    );

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

  const make = (body: object = {}): Promise<{ id: string; key: string }> =>
    admin('POST', '/api-keys/workspace/service', {
      name: `app ${++serial}`,
      workspace_id: gateway.workspaceId,
      scopes: ['completions.write'],
      ...body,
    });

  const ask = (key: string, nonce: string, body: object, path = '/v1/chat/completions'): Promise<Response> =>
    fetch(gateway.url + path, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': key,
        'x-gateway-provider': '@simulated',
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        model: longAnswer,
        max_tokens: 5000,
        messages: [{ role: 'user', content: `nonce:${nonce} ${'word '.repeat(1000)}` }],
        ...body,
      }),
    });

  /** A stream that has begun. */
  async function stream(key: string, path?: string): Promise<Watched> {
    const nonce = `revoked-${++serial}`;
    const response = await ask(key, nonce, { stream: true }, path);
    expect(response.status).to.equal(200);
    let text = '';
    const read = async (): Promise<string> => {
      for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) text += piece;
      watched.endedAt = performance.now();
      return text;
    };
    const watched: Watched = {
      text: () => text,
      whole: read(),
      endedAt: 0,
      id: response.headers.get('x-gateway-request-id') ?? '',
      nonce,
    };
    await eventually('some words', async () => text.split('data: ').length > 6);
    return watched;
  }

  const rowOf = (id: string) =>
    eventually('a row in the ledger', async () => {
      const { metrics } = await gateway
        .organisation()
        .logs.get(id)
        .catch(() => ({ metrics: null }));
      return metrics?.state === 'settled' ? metrics : null;
    });

  /** It ends with the error event, soon after `revoked` (of the monotonic clock), and is settled. */
  async function ends(watched: Watched, revoked: number, message: RegExp): Promise<void> {
    const text = await watched.whole;
    expectWithinMs(watched.endedAt - revoked, 3000, { what: 'the end of the stream' });
    const last = text.trimEnd().split('\n\n').at(-1) ?? '';
    expect(last).to.match(/^event: error\ndata: /);
    const { error } = JSON.parse(last.slice(last.indexOf('{')));
    expect(error).to.include({ code: 'key_revoked', type: 'authentication_error' });
    expect(error.message).to.match(message);
    expect(text).to.not.include('[DONE]');
    const row = await rowOf(watched.id);
    expect(row).to.include({ response_status_code: 200, error: 'key_revoked', is_success: false });
    expect(row.res_units).to.be.greaterThan(0);
    await callsEnd(watched.nonce);
  }

  it('ends with an error event where the key is deleted, and what it used is settled', async () => {
    const { id, key } = await make();
    const [first, second] = [await stream(key), await stream(key)];
    const other = await make();
    const unharmed = await stream(other.key);
    await admin('DELETE', `/api-keys/${id}`);
    const revoked = performance.now();
    const [one, two] = await Promise.all([first.whole, second.whole]);
    expect(one).to.include('event: error');
    expect(two).to.include('event: error');
    const length = unharmed.text().length;
    await eventually('the stream of another key goes on', async () => unharmed.text().length > length);
    await admin('DELETE', `/api-keys/${other.id}`);
    await unharmed.whole;
    await ends(first, revoked, /deleted/);
  });

  it('ends with an error event where the key expires, and goes on where the expiry is put off', async () => {
    const [expiring, kept] = await Promise.all([make(), make()]);
    const [first, second] = await Promise.all([stream(expiring.key), stream(kept.key)]);
    const end = Date.now() + 1500;
    const expires_at = new Date(end).toISOString();
    await Promise.all([expiring, kept].map(({ id }) => admin('PUT', `/api-keys/${id}`, { expires_at })));
    await admin('PUT', `/api-keys/${kept.id}`, { expires_at: null });
    expect(first.endedAt, 'not before').to.equal(0);
    await pause(Math.max(0, end - Date.now()));
    await ends(first, performance.now(), /expired/);
    const length = second.text().length;
    await eventually('the other goes on', async () => second.text().length > length);
    await admin('DELETE', `/api-keys/${kept.id}`);
    await ends(second, performance.now(), /deleted/);
  });

  it('goes on through an edit and a rotation of the key, and ends where the overlap does', async () => {
    const { id, key } = await make();
    const watched = await stream(key);
    await admin('PUT', `/api-keys/${id}`, { name: 'renamed', defaults: { metadata: { team: 'a' } } });
    await admin('POST', `/api-keys/${id}/rotate`);
    await pause(700);
    const length = watched.text().length;
    await eventually('it goes on', async () => watched.text().length > length);
    // The shortest overlap is half an hour: its end is moved past the gateway.
    const end = Date.now() + 300;
    const database: Database = await openSqlite(gateway.dataDir);
    await database.write((sql) => sql('api_keys').where({ id }).update({ previous_expires_at: end }));
    await database.close();
    await admin('PUT', `/api-keys/${id}`, { description: 'the workers look it up again' });
    await pause(Math.max(0, end - Date.now()));
    await ends(watched, performance.now(), /expired|rotated/);
  });

  it('ends with an error event where the key loses the scope that it needs', async () => {
    const { id, key } = await make({ scopes: ['completions.write', 'configs.list'] });
    const watched = await stream(key);
    await admin('PUT', `/api-keys/${id}`, { scopes: ['configs.list'] });
    await ends(watched, performance.now(), /scope completions\.write/);
  });

  /** A person invited to the workspace, with the key that the invitation promised. */
  async function invited(): Promise<{ readonly id: string; readonly key: string }> {
    const { invite_link } = await admin('POST', '/admin/users/invites', {
      email: `revoked${++serial}@example.com`,
      role: 'member',
      workspaces: [{ id: gateway.workspaceId, role: 'member' }],
      workspace_api_key_details: { scopes: ['completions.write'], name: 'own' },
    });
    const token = invite_link.split('#token=')[1];
    const { user, api_keys } = await admin('POST', '/admin/users/invites/accept', { token }, null);
    return { id: user.id, key: api_keys[0].key };
  }

  it('ends with an error event where the user of the key is removed from the workspace', async () => {
    const { id, key } = await invited();
    const watched = await stream(key);
    await admin('DELETE', `/admin/workspaces/${gateway.workspaceId}/users/${id}`);
    await ends(watched, performance.now(), /user/);
  });

  it('ends with an error event where the user of the key is removed from the organisation', async () => {
    const { id, key } = await invited();
    const watched = await stream(key);
    await admin('DELETE', `/admin/users/${id}`);
    await ends(watched, performance.now(), /user/);
  });

  it('ends with an error event where its workspace is archived', async () => {
    const name = `Short ${++serial}`;
    const { id } = await admin('POST', '/workspaces', { name });
    const { key } = await make({ workspace_id: id });
    await addProvider(id);
    const watched = await stream(key);
    await admin('DELETE', `/workspaces/${id}`, { name, force_delete: true });
    await ends(watched, performance.now(), /workspace/);
  });

  it('ends as its format requires, and an answer that has not begun is a 401', async () => {
    const { id, key } = await make();
    const messages = await stream(key, '/v1/messages');
    const late = { model: 'sim-fault:slow-head=20000' };
    const waiting = [ask(key, 'late', late), ask(key, 'late', { ...late, stream: true })];
    const arrived = () => provider.requests.filter(({ nonce }) => nonce === 'late').length;
    await eventually('both are with the provider', async () => arrived() === 2);
    await admin('DELETE', `/api-keys/${id}`);
    for (const response of await Promise.all(waiting)) {
      expect(response.status).to.equal(401);
      expect(await response.json()).to.nested.include({ 'error.code': 'key_revoked', status: 'failure' });
      const row = await rowOf(response.headers.get('x-gateway-request-id') ?? '');
      expect(row).to.include({ response_status_code: 401, error: 'key_revoked' });
    }
    const last = (await messages.whole).trimEnd().split('\n\n').at(-1) ?? '';
    expect(last).to.match(/^event: error\ndata: \{"type":"error","error":\{"type":"authentication_error"/);
    for (const nonce of ['late', messages.nonce]) await callsEnd(nonce);
  });

  it('is a 401 while it still uploads', async () => {
    const { id, key } = await make();
    let ended = false;
    async function* upload() {
      for (let i = 0; i < 1000 && !ended; i++) {
        yield new TextEncoder().encode('a piece of a file ');
        await pause(20);
      }
    }
    const response = request(`${gateway.url}/v1/files`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': key, 'x-gateway-provider': '@simulated', 'x-nonce': 'upload' },
    });
    const answered = new Promise<number>((resolve, reject) => {
      response.on('response', (message) => {
        message.resume();
        resolve(message.statusCode ?? 0);
      });
      response.on('error', reject);
    });
    Readable.from(upload()).pipe(response);
    await eventually('the provider has some of it', async () =>
      provider.requests.some(({ nonce }) => nonce === 'upload'),
    );
    await admin('DELETE', `/api-keys/${id}`);
    expect(await answered).to.equal(401);
    ended = true;
    await callsEnd('upload');
  });
});
