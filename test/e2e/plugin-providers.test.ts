import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually, type RunningGateway, startGateway } from '../support/gateway.js';

const completion = {
  id: 'c',
  object: 'chat.completion',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

describe('A provider of a plugin, in a running gateway', () => {
  let gateway: RunningGateway;
  let server: Server;
  let base: string;
  let dir: string;
  const asked: { request: IncomingMessage; body: string }[] = [];

  const file = (path: string, name = 'acme-ai'): void =>
    writeFileSync(
      join(dir, 'acme.js'),
      `export default { name: 'acme', options: { type: 'object' }, setup: () => ({}),
        providers: { '${name}': { base: '${base}', auth: { kind: 'header', name: 'x-acme-key' }, paths: { 'openai-chat': '${path}' } } } };`,
    );
  const settings = (insert: string): void =>
    writeFileSync(join(dir, 'headgate.yaml'), `plugins:\n  directory: .\n  insert: ${insert}\n`);

  before(async function () {
    this.timeout(20_000);
    server = createServer(async (request, reply) => {
      asked.push({ request, body: Buffer.concat(await request.toArray()).toString() });
      reply.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(completion));
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    dir = mkdtempSync(join(tmpdir(), 'headgate-acme-'));
    settings('[]');
    file('/chat');
    gateway = await startGateway({
      env: { HEADGATE_CONFIG: join(dir, 'headgate.yaml'), HEADGATE_WORKERS: '2' },
    });
  });
  after(async () => {
    await gateway?.stop();
    server?.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const rest = async (path: string, body: object, key = gateway.adminKey) => {
    const answer = await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-gateway-api-key': key },
      body: JSON.stringify(body),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const call = async (headers: Record<string, string>, path = '/v1/chat/completions') => {
    const answer = await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-gateway-api-key': gateway.workspaceKey, ...headers },
      body: '{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hello"}]}',
    });
    return { status: answer.status, text: await answer.text() };
  };
  const direct = { 'x-gateway-provider': 'acme-ai', authorization: 'Bearer k-1' };
  const stored = { 'x-gateway-provider': '@acme' };
  const make = (slug: string) =>
    rest('/v1/integrations', { name: slug, slug, ai_provider_id: 'acme-ai', key: 'k-stored' });

  it('is unknown without it, to calls and to the administration', async () => {
    const { status, text } = await call(direct);
    expect(status).to.equal(400);
    expect(text).to.include('unknown_provider');
    const made = await make('acme');
    expect(made.status, made.text).to.equal(400);
    expect(made.text).to.include('ai_provider_id');
  });

  it('serves calls with a key of their own, and can be stored', async function () {
    this.timeout(15_000);
    settings('[{ name: acme, after: config }]');
    await eventually('it serves', async () => (await call(direct)).status === 200);
    expect(asked.at(-1)!.request.url).to.equal('/v1/chat');
    expect(asked.at(-1)!.request.headers).to.include({ 'x-acme-key': 'k-1' });
    expect(asked.at(-1)!.request.headers).to.not.have.property('authorization');
    await eventually('it can be stored', async () => (await make('acme')).status === 200);
    await gateway.admin().providers.create({ slug: 'acme', provider: 'acme-ai', key: 'k-stored' });
    const config = { name: 'acme', config: { provider: 'acme-ai', api_key: 'k-2' } };
    const kept = await rest('/v1/configs', config, gateway.workspaceKey);
    expect(kept.status, kept.text).to.equal(200);
    const { slug } = (JSON.parse(kept.text) as { data: { slug: string } }).data;
    for (const path of ['/v1/chat/completions', '/v1/messages']) {
      expect((await call(stored, path)).status, path).to.equal(200);
      expect(asked.at(-1)!.request.headers).to.include({ 'x-acme-key': 'k-stored' });
    }
    const byConfig = await call({ 'x-gateway-config': slug });
    expect(byConfig.status, byConfig.text).to.equal(200);
    expect(asked.at(-1)!.request.headers).to.include({ 'x-acme-key': 'k-2' });
  });

  it('changes with its file, also where calls of it are prepared', async function () {
    this.timeout(15_000);
    for (let i = 0; i < 8; i++) expect((await call(stored)).status).to.equal(200);
    file('/chat-2');
    await eventually('the new path is called', async () => {
      const from = asked.length;
      for (let i = 0; i < 6; i++) expect((await call(stored)).status).to.equal(200);
      return asked.slice(from).every(({ request }) => request.url === '/v1/chat-2');
    });
  });

  it('keeps its name where the new file takes one of the gateway’s', async function () {
    this.timeout(15_000);
    file('/chat-3', 'openai');
    await eventually('it is refused', async () =>
      gateway.output().includes('providers.openai: the gateway has a provider of that name'),
    );
    expect((await call(stored)).status).to.equal(200);
    expect(asked.at(-1)!.request.url).to.equal('/v1/chat-2');
  });

  it('is gone with its plugin', async function () {
    this.timeout(15_000);
    settings('[]');
    await eventually('it is gone', async () => (await call(stored)).text.includes('unknown_provider'));
    await eventually('it cannot be stored', async () => (await make('acme-2')).status === 400);
  });
});
