// lane: shared gateway
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

describe('a path that the gateway does not know', () => {
  const answer = randomBytes(300_000);
  const sent = randomBytes(300_000);
  let gateway: SharedGateway;
  let provider: Server;
  /** Headers of the provider's answer. */
  let more: Record<string, string | string[]> = {};
  let cookie: string | undefined;
  let got: { method: string; url: string; type: string | undefined; bytes: Buffer } | null = null;

  before(async () => {
    provider = createServer(async (asked, reply) => {
      const bytes = Buffer.concat(await asked.toArray());
      cookie = asked.headers.cookie;
      if (asked.url === '/v1/chat/completions') {
        reply.writeHead(200, { 'content-type': 'application/json', ...more });
        reply.end('{"choices":[]}');
        return;
      }
      got = { method: asked.method!, url: asked.url!, type: asked.headers['content-type'], bytes };
      reply.writeHead(207, {
        'content-type': 'x/y',
        'content-length': answer.length,
        'x-own': 'kept',
        ...more,
      });
      reply.end(asked.method === 'HEAD' ? undefined : answer);
    });
    await new Promise<void>((done) => provider.listen(0, '127.0.0.1', done));
    gateway = await shareGateway();
    const { port } = provider.address() as AddressInfo;
    await gateway.admin().providers.create({
      slug: 'odd',
      provider: 'openai',
      key: 'sk-x',
      base_url: `http://127.0.0.1:${port}/v1`,
    });
  });
  after(async () => {
    await gateway?.stop();
    provider?.close();
  });

  it('is refused with its version twice, where the provider’s base URL ends in one too', async () => {
    const call = (path: string) =>
      fetch(`${gateway.url}${path}`, {
        headers: { 'x-gateway-api-key': gateway.workspaceKey, 'x-gateway-provider': '@odd' },
      });
    got = null;
    const refused = await call('/v1/v1/odd/things');
    expect(refused.status).to.equal(404);
    const { error } = (await refused.json()) as { error: { code: string; message: string; param: string } };
    expect([error.code, error.param]).to.deep.equal(['not_found', 'path']);
    expect(error.message).to.match(/^The path has its version twice; remove one/);
    expect(got).to.equal(null);
    expect((await call('/v1/v10/things')).status).to.equal(207);
  });

  const ask = (method: string, body: Buffer | null): Promise<{ head: IncomingMessage; bytes: Buffer }> =>
    new Promise((done, failed) => {
      const asking = request(`${gateway.url}/v1/odd/things?a=b%20c&a=d`, {
        method,
        headers: {
          'x-gateway-api-key': gateway.workspaceKey,
          'x-gateway-provider': '@odd',
          ...(body !== null && { 'content-type': 'a/b', 'content-length': body.length }),
        },
      });
      asking.on('response', async (head) => done({ head, bytes: Buffer.concat(await head.toArray()) }));
      asking.on('error', failed).end(body ?? undefined);
    });

  for (const [method, hasBody] of [
    ['GET', false],
    ['POST', true],
    ['PUT', true],
    ['PATCH', true],
    ['DELETE', false],
    ['DELETE', true],
    ['HEAD', false],
  ] as const) {
    it(`goes to the provider, bytes unchanged both ways: ${method}${hasBody ? ' with a body' : ''}`, async () => {
      got = null;
      const { head, bytes } = await ask(method, hasBody ? sent : null);
      expect(got).to.include({
        method,
        url: '/v1/odd/things?a=b%20c&a=d',
        type: hasBody ? 'a/b' : undefined,
      });
      expect(got!.bytes.equals(hasBody ? sent : Buffer.alloc(0))).to.equal(true);
      expect(head.statusCode).to.equal(207);
      expect(head.headers).to.include({ 'content-type': 'x/y', 'x-own': 'kept' });
      expect(bytes.equals(method === 'HEAD' ? Buffer.alloc(0) : answer)).to.equal(true);
      if (method === 'HEAD') expect(head.headers['content-length']).to.equal(String(answer.length));
    });
  }

  describe('and the cookies of its provider', () => {
    const cookies = ['session=1; Path=/; HttpOnly', 'b=2'];
    before(() => {
      more = { 'set-cookie': cookies };
    });
    after(() => {
      more = {};
    });

    const answered = async (path: string, headers: Record<string, string>, body: string | null = null) => {
      const response = await fetch(gateway.url + path, {
        method: body === null ? 'GET' : 'POST',
        headers: {
          'x-gateway-api-key': gateway.workspaceKey,
          'x-gateway-provider': '@odd',
          cookie: 'session=0',
          ...headers,
        },
        body,
      });
      await response.arrayBuffer();
      expect(response.ok).to.equal(true);
      return response.headers.getSetCookie();
    };

    it('neither go to it nor come back where the call does not ask for them', async () => {
      expect(await answered('/v1/odd/things', {})).to.deep.equal([]);
      expect(cookie).to.equal(undefined);
    });

    it('go both ways where it forwards the header cookie', async () => {
      expect(await answered('/v1/odd/things', { 'x-gateway-forward-headers': 'cookie' })).to.deep.equal(
        cookies,
      );
      expect(cookie).to.equal('session=0');
    });

    it('never come back from an endpoint that the gateway understands', async () => {
      const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] });
      const headers = { 'x-gateway-forward-headers': 'cookie', 'content-type': 'application/json' };
      expect(await answered('/v1/chat/completions', headers, body)).to.deep.equal([]);
    });
  });
});
