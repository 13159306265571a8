import { expect } from 'chai';
import { makeGatewayKey } from '../../src/common/access/gateway-key.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { documentedAdminPaths, documentedRoutes } from '../support/documented-paths.js';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';
import { RawClient } from '../support/raw-http.js';
import { expectWithinMs } from '../support/time-limits.js';

/** As in every other call of the administration. */
const refusalOf = async (response: Response): Promise<{ status: number; code: string; message: string }> => {
  const { success, data } = (await response.json()) as {
    success: boolean;
    data: { errorCode: string; message: string };
  };
  expect(success).to.equal(false);
  return { status: response.status, code: data.errorCode, message: data.message };
};

describe('the administration under attack', () => {
  let provider: SimulatedProvider;
  let gateway: RunningGateway;
  const secret = 'sk-canary-4711-of-a-body';

  before(async function () {
    this.timeout(30_000);
    provider = await startSimulated({ record: false });
    gateway = await startGateway({ env: { HEADGATE_WORKERS: '2' } });
    await gateway
      .admin()
      .providers.create({ slug: 'main', provider: 'openai', key: 'sk-sim', base_url: `${provider.url}/v1` });
  });
  after(async function () {
    this.timeout(60_000);
    await gateway?.stop();
    await provider?.close();
  });

  const ask = (method: string, path: string, key: string | null): Promise<Response> =>
    fetch(`${gateway.url}${path}`, {
      method,
      headers: {
        'x-gateway-provider': '@main',
        'content-type': 'application/json',
        ...(key !== null && { 'x-gateway-api-key': key }),
      },
      ...(method === 'POST' && { body: JSON.stringify({ auth_config: { vault_token: secret } }) }),
    });

  describe('at paths that it has no route for', () => {
    const reserved = documentedAdminPaths.filter((path) => !documentedRoutes.has(path));

    it('answers 401 without a valid key and else 501, and nothing reaches a provider or the log', async function () {
      this.timeout(30_000);
      const before = provider.count;
      for (const path of reserved) {
        expect(await refusalOf(await ask('POST', path, null)), path).to.include({
          status: 401,
          code: 'AB05',
        });
        const refused = await refusalOf(await ask('POST', path, gateway.workspaceKey));
        expect(refused, path).to.include({ status: 501, code: 'not_implemented' });
        expect(refused.message).to.include(`POST ${path} is not available in this version`);
        expect((await ask('GET', path, gateway.adminKey)).status, path).to.equal(501);
      }
      const unknown = await refusalOf(await ask('POST', reserved[0]!, makeGatewayKey('workspace-service')));
      expect(unknown).to.deep.equal(
        await refusalOf(await ask('GET', '/v1/configs', makeGatewayKey('workspace-service'))),
      );
      for (const method of ['HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PURGE']) {
        expect((await ask(method, '/v1/prompts', gateway.workspaceKey)).status, method).to.equal(501);
        expect((await ask(method, '/v1/prompts', null)).status, method).to.equal(401);
      }
      expect(provider.count).to.equal(before);
      expect(gateway.output()).to.not.include(secret);
    });

    it('answers 404 to a key, below a first segment that is its own', async () => {
      const before = provider.count;
      for (const path of ['/v1/configs/a/b/c/d', '/v1/api-keys/a/b/c', '/v1/watch/more']) {
        expect(await refusalOf(await ask('POST', path, gateway.workspaceKey))).to.include({
          status: 404,
          code: 'AB08',
        });
        expect((await ask('POST', path, null)).status).to.equal(401);
      }
      expect(provider.count).to.equal(before);
    });
  });

  it('never passes on another spelling of a path that is an endpoint or the administration’s', async () => {
    const raw = async (path: string): Promise<number> => {
      const client = await RawClient.connect(gateway.port);
      const body = `{"model":"gpt-4o-mini","messages":[],"key":"${secret}"}`;
      client.send(
        `POST ${path} HTTP/1.1\r\nHost: a\r\nx-gateway-provider: @main\r\nx-gateway-api-key: ${gateway.workspaceKey}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
      const [answer] = await client.answered();
      client.destroy();
      return answer!.status;
    };
    const before = provider.count;
    for (const path of [
      '/v1/Chat/Completions',
      '/v1/chat//completions',
      '//v1/chat/completions',
      '/v1/chat%2Fcompletions',
      '/v1/chat/completions;a=b',
      '/v1beta/chat/completions',
      '/v1beta/openai/chat/completions',
      '/v1/v1/chat/completions',
      '/v1/API-KEYS',
      '/v1/api%2Dkeys',
      '/v1/%66eedback',
      '/v1/Secret-References',
      '/v1/secret-references%2Fx',
      '/v1/models/gemini:generateContent',
    ])
      expect(await raw(path), path).to.equal(404);
    // These are the endpoint: its rules refuse the body.
    for (const path of ['/v1/chat/completion%73', '/v1/chat/completions/', '/%76%31/chat/completions'])
      expect(await raw(path), path).to.equal(400);
    expect(provider.count).to.equal(before);
    expect(gateway.output()).to.not.include(secret);
    expect(await raw('/v1/organizations/org%2Fname/items')).to.not.equal(400);
    expect(provider.count).to.equal(before + 1);
  });

  /** A call with a valid key, over a connection of its own; gives its status, and milliseconds. */
  const asAdmin = async (path = '/v1/configs?workspace_id=default'): Promise<[number, number]> => {
    const began = performance.now();
    const { status } = await ask('GET', path, gateway.adminKey);
    return [status, performance.now() - began];
  };

  for (const [what, key] of [
    ['without a key', null],
    ['with keys that nobody has made', makeGatewayKey],
  ] as const) {
    it(`answers a key while 280 connections ${what} send one byte of their body each`, async function () {
      this.timeout(20_000);
      const clients = await Promise.all(Array.from({ length: 280 }, () => RawClient.connect(gateway.port)));
      for (const client of clients) {
        const header = key === null ? '' : `x-gateway-api-key: ${key('workspace-service')}\r\n`;
        client.send(`POST /v1/configs HTTP/1.1\r\nHost: a\r\n${header}Content-Length: 10000\r\n\r\n{`);
      }
      if (key === null) {
        for (const client of clients) await client.answered();
        expect(new Set(clients.map((client) => client.answers()[0]!.status))).to.deep.equal(new Set([401]));
      }
      for (let i = 0; i < 10; i++) {
        const [status, ms] = await asAdmin();
        expect(status).to.equal(200);
        expectWithinMs(ms, 3000);
      }
      const made = await fetch(`${gateway.url}/v1/configs`, {
        method: 'POST',
        headers: { 'x-gateway-api-key': gateway.adminKey, 'content-type': 'application/json' },
        body: JSON.stringify({
          name: 'meanwhile',
          config: { retry: { attempts: 1 } },
          workspace_id: gateway.workspaceId,
        }),
      });
      expect(made.status).to.equal(200);
      for (const client of clients) client.destroy();
    });
  }

  it('answers other calls while one key asks for 256 streams of changes, of which it gets 8', async function () {
    this.timeout(20_000);
    const { key } = await gateway.admin().keys.create({
      type: 'workspace',
      sub_type: 'service',
      name: 'watcher',
      scopes: ['logs.list'],
      workspace_id: gateway.workspaceId,
    });
    const clients = await Promise.all(Array.from({ length: 256 }, () => RawClient.connect(gateway.port)));
    for (const client of clients)
      client.send(`GET /v1/watch HTTP/1.1\r\nHost: a\r\nx-gateway-api-key: ${key}\r\n\r\n`);
    const statuses = (): number[] =>
      clients.flatMap((client) => client.answers().map(({ status }) => status));
    await eventually('all have an answer', async () => statuses().length === 256, 10_000);
    expect(statuses().filter((status) => status === 200)).to.have.length(8);
    expect(new Set(statuses())).to.deep.equal(new Set([200, 429]));
    const refused = clients.map((client) => client.answers()[0]!).find(({ status }) => status === 429)!;
    expect(Number(refused.headers['retry-after'])).to.be.greaterThan(0);
    for (let i = 0; i < 10; i++) expect((await asAdmin())[0]).to.equal(200);
    expect((await ask('GET', '/v1/logs', key)).status).to.equal(200);
    for (const client of clients) client.destroy();
    // What has been cut is free again.
    await eventually('a stream opens again', async () => {
      const leaving = new AbortController();
      const { status } = await fetch(`${gateway.url}/v1/watch`, {
        headers: { 'x-gateway-api-key': key },
        signal: leaving.signal,
      });
      leaving.abort();
      return status === 200;
    });
  });
});
