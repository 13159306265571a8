// lane: shared gateway
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { type Canaries, startCanaries } from '../support/canaries.js';
import { eventually } from '../support/gateway.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

/** A provider that repeats what it was called with: in its headers always, in its body as the path or the model asks. */
describe('a credential that a provider repeats', function () {
  this.timeout(30_000);
  let gateway: SharedGateway;
  let provider: Server;
  let canaries: Canaries;
  let key: string;
  /** Headers of the last call, as JSON. */
  let received: Record<string, string | string[] | undefined> = {};

  const chat = (said: string, model: string): string =>
    JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model,
      choices: [{ index: 0, message: { role: 'assistant', content: said }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    });
  const event = (delta: object, finish_reason: string | null, model: string): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

  /** Each piece in a packet of its own. */
  async function write(response: ServerResponse, pieces: readonly string[]): Promise<void> {
    for (const piece of pieces) {
      response.write(piece);
      await sleep(5);
    }
    response.end();
  }

  before(async () => {
    canaries = startCanaries();
    key = canaries.make('stored key');
    provider = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString();
      received = request.headers;
      const said = `You called with ${JSON.stringify(request.rawHeaders)}`;
      const sent = request.headers.authorization!.replace('Bearer ', '');
      const head = { 'x-echo': sent, location: `/?key=${encodeURIComponent(sent)}` };
      const model = /"model":"([^"]*)"/.exec(body)?.[1] ?? '';
      const half = Math.floor(said.length / 2);
      if (request.url!.startsWith('/v1/odd/gzip')) {
        response.writeHead(200, { ...head, 'content-type': 'text/plain', 'content-encoding': 'gzip' });
        response.end(gzipSync(said));
      } else if (request.url!.startsWith('/v1/odd/coding')) {
        const coding = new URL(request.url!, 'http://x').searchParams.get('of')!;
        response.writeHead(200, { ...head, 'content-type': 'text/plain', 'content-encoding': coding });
        response.end(said);
      } else if (request.url!.startsWith('/v1/odd')) {
        const status = Number(request.url!.split('/').at(-1));
        response.writeHead(status, { ...head, 'content-type': 'text/plain' });
        await write(response, [said.slice(0, half), said.slice(half)]);
      } else if (model === 'refuses') {
        response.writeHead(401, { ...head, 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: { message: said, type: 'auth', code: null, param: null } }));
      } else if (body.includes('"stream":true')) {
        response.writeHead(200, { ...head, 'content-type': 'text/event-stream' });
        const first = event({ role: 'assistant', content: said }, null, sent);
        const at = first.indexOf(sent) + 7;
        const broken = `data: ${JSON.stringify({ error: { message: said } })}\n\n`;
        const rest = model === 'breaks' ? broken : `${event({}, 'stop', sent)}data: [DONE]\n\n`;
        await write(response, [first.slice(0, at), first.slice(at), rest]);
      } else {
        response.writeHead(200, { ...head, 'content-type': 'application/json' });
        response.end(chat(said, sent));
      }
    });
    await new Promise<void>((done) => provider.listen(0, '127.0.0.1', done));
    gateway = await shareGateway();
    await gateway.admin().api.providers.createProvider({
      slug: 'parrot',
      provider: 'openai',
      key,
      custom_host: url(),
      custom_headers: { 'x-team-token': canaries.make('stored header') },
    });
  });
  after(async () => {
    await gateway?.stop();
    provider?.close();
  });

  const url = (): string => `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`;
  const stored = { 'x-gateway-provider': '@parrot' };

  async function call(path: string, body: object | null, headers: Record<string, string> = stored) {
    const response = await fetch(gateway.url + path, {
      method: body === null ? 'GET' : 'POST',
      headers: {
        'x-gateway-api-key': gateway.workspaceKey,
        'content-type': 'application/json',
        ...headers,
      },
      body: body === null ? null : JSON.stringify(body),
      redirect: 'manual',
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      all: text + JSON.stringify([...response.headers]),
    };
  }

  /** The log's row and bodies, as JSON. */
  async function logged(headers: Headers): Promise<string> {
    const id = headers.get('x-gateway-request-id')!;
    const log = await eventually('the log', async () => {
      const found = await gateway
        .admin()
        .api.logs.getLog({ id })
        .catch(() => null);
      return found?.response?.body ? found : null;
    });
    return JSON.stringify(log, (_, value) => (typeof value === 'bigint' ? String(value) : value));
  }

  function expectClean(text: string): void {
    expect(canaries.foundIn(text), text).to.deep.equal([]);
  }

  const messages = [{ role: 'user', content: 'Hello' }];
  const anthropic = (model: string, stream: boolean) =>
    ['/v1/messages', { model, stream, max_tokens: 9, messages }] as const;
  const openai = (model: string, stream: boolean) =>
    ['/v1/chat/completions', { model, stream, messages }] as const;

  const calls: Record<string, readonly [string, object | null]> = {
    'an error of a passed-through path': ['/v1/odd/401', null],
    'an answer of a passed-through path': ['/v1/odd/200', null],
    'a redirect of a passed-through path': ['/v1/odd/302', null],
    'an error': openai('refuses', false),
    'an answer': openai('m', false),
    'a stream': openai('m', true),
    'a stream that ends with an error': openai('breaks', true),
    'an error for another client’s format': anthropic('refuses', false),
    'an answer for another client’s format': anthropic('m', false),
    'a stream for another client’s format': anthropic('m', true),
    'a stream that breaks, for another client’s format': anthropic('breaks', true),
  };

  for (const [name, [path, body]] of Object.entries(calls)) {
    it(`is masked in ${name}, and in its log`, async () => {
      const answer = await call(path, body);
      expect(answer.headers.get('x-echo')).to.equal('*'.repeat(key.length));
      expect(answer.text).to.include('****');
      expectClean(answer.all);
      expectClean(await logged(answer.headers));
    });
  }

  it('is masked where the caller sent it itself', async () => {
    const own = canaries.make('own key');
    const headers = {
      'x-gateway-provider': 'openai',
      'x-gateway-custom-host': url(),
      authorization: `Bearer ${own}`,
    };
    for (const [path, body] of [
      calls['an error']!,
      calls['a stream']!,
      calls['an answer of a passed-through path']!,
    ]) {
      const answer = await call(path, body, headers);
      expectClean(answer.all);
      expectClean(await logged(answer.headers));
    }
  });

  it('is not in what the cache gives again', async () => {
    for (const stream of [false, true]) {
      const [path, body] = openai('cached', stream);
      const headers = { ...stored, 'x-gateway-cache': 'simple' };
      const first = await call(path, body, headers);
      const second = await eventually('a hit', async () => {
        const again = await call(path, body, headers);
        return again.headers.get('x-gateway-cache-status') === 'HIT' ? again : null;
      });
      expect(second.text).to.include('You called with');
      expectClean(first.all + second.all + (await logged(second.headers)));
    }
  });

  it('cannot hide in a compressed body: none is asked for, and one that comes all the same is refused', async () => {
    const answer = await call('/v1/odd/gzip', null, { ...stored, 'accept-encoding': 'gzip' });
    expect(received['accept-encoding']).to.equal('identity');
    expect(answer.status).to.equal(502);
    expect(JSON.parse(answer.text).error.message).to.include('in the coding "gzip"');
  });

  it('is masked where a server gives a coding for a body that is not compressed', async () => {
    for (const coding of ['utf-8', 'aws-chunked', 'Identity']) {
      const answer = await call(`/v1/odd/coding?of=${coding}`, null);
      expect(answer.status, coding).to.equal(200);
      expect(answer.text).to.include('You called with').and.include('****');
      expectClean(answer.all);
    }
  });

  it('is in nothing that the gateway prints', () => {
    expectClean(gateway.output());
  });
});
