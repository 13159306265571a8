import { expect } from 'chai';
import { GatewayError } from '../../src/common/core/errors.js';
import { findEndpoint } from '../../src/data-plane/endpoints/table.js';
import { refusalAt } from '../../src/data-plane/pipeline/handle.js';
import { bedrockConverse } from '../../src/data-plane/providers/formats/bedrock-converse.js';
import { type Ask, BareWorker, type Client, keyRecord, soon } from '../support/bare-worker.js';

const header = ({ headers }: Pick<Client, 'headers'>, name: string): string | undefined => {
  const found = headers.flatMap((text, i) => (i % 2 === 0 && text === name ? [headers[i + 1]!] : []));
  expect(found.length, `${name} more than once`).to.be.at.most(1);
  return found[0];
};

describe('the headers of answers', () => {
  let worker: BareWorker;

  before(async () => {
    worker = await new BareWorker().start();
  });
  after(() => worker.close());

  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const ended = async (client: Client): Promise<Client> => {
    await soon('it is answered', () => client.ended);
    return client;
  };

  it('name the trace on refusals too: the one that the caller named, else the id of the request', async () => {
    const key = worker.key();
    const noScope = worker.key({ ...keyRecord(), scopes: [] });
    const refused: readonly (readonly [string, Ask])[] = [
      ['hg-none', {}],
      [noScope, {}],
      [key, { path: '/nowhere' }],
      [key, { method: 'GET' }],
      [key, { body: { messages: 3 } }],
      [key, { config: '{"provider":' }],
    ];
    for (const [who, how] of refused) {
      const named = await ended(worker.ask(who, { ...how, headers: ['x-gateway-trace-id', 'my-trace'] }));
      expect(named.status).to.be.within(400, 499);
      expect(header(named, 'x-gateway-trace-id')).to.equal('my-trace');
      const w3c = await ended(worker.ask(who, { ...how, headers: ['traceparent', traceparent] }));
      expect(header(w3c, 'x-gateway-trace-id')).to.equal(traceparent.split('-')[1]);
      for (const bad of ['', 'a\u0007b', 'x'.repeat(129)]) {
        const own = await ended(worker.ask(who, { ...how, headers: ['x-gateway-trace-id', bad] }));
        expect(header(own, 'x-gateway-trace-id')).to.equal(header(own, 'x-request-id'));
      }
    }
  });

  it('list the methods of a path on a 405', async () => {
    const key = worker.key();
    for (const [method, path, allow] of [
      ['GET', '/v1/chat/completions', 'POST'],
      ['POST', '/v1/models', 'GET, HEAD'],
      ['PUT', '/v1beta/models/gemini-2.5-pro:generateContent', 'POST'],
      ['OPTIONS', '/v1/files', 'GET, POST, PUT, DELETE, PATCH, HEAD'],
    ] as const) {
      const refused = await ended(worker.ask(key, { method, path }));
      expect(refused.status, path).to.equal(405);
      expect(header(refused, 'allow'), path).to.equal(allow);
    }
  });

  it('name a trace where the transport refuses what it cannot read', () => {
    const refused = refusalAt('/', [], new GatewayError('bad_framing', 'No.'), ['x-gateway-']);
    expect(header({ headers: [...refused.headers] }, 'x-gateway-trace-id')).to.equal(refused.id);
  });

  it("have no-cache on streams, and the provider's value on other answers", async () => {
    expect(findEndpoint('GET', '/v1/files').format).to.equal('none');
    const answered = async (how: Ask, type: string, cacheControl?: string): Promise<string | undefined> => {
      const [client, { handler }] = await worker.asking(worker.key(), how);
      handler.head(200, [
        'content-type',
        type,
        ...(cacheControl === undefined ? [] : ['cache-control', cacheControl]),
      ]);
      handler.data(Buffer.from(type === 'application/json' ? '{"choices":[]}' : 'data: [DONE]\n\n'));
      handler.end();
      return header(await ended(client), 'cache-control');
    };
    const passed: Ask = { method: 'GET', path: '/v1/files' };
    expect(await answered({}, 'text/event-stream')).to.equal('no-cache');
    expect(await answered({}, 'text/event-stream', 'public, max-age=9')).to.equal('no-cache');
    expect(await answered(passed, 'text/event-stream')).to.equal('no-cache');
    expect(await answered(passed, 'text/event-stream', 'no-store')).to.equal('no-store');
    expect(await answered({ stream: false }, 'application/json')).to.equal(undefined);
    expect(await answered({ stream: false }, 'application/json', 'private')).to.equal('private');
  });
});

describe('an answer of Bedrock', () => {
  const body = { output: { message: { content: [{ text: 'Hi' }] } }, stopReason: 'end_turn' };
  const context = (headers?: string[]) => ({
    provider: 'bedrock',
    strict: true,
    includeUsage: false,
    model: 'm',
    ...(headers && { headers }),
  });

  it('has the id that its headers give, else one of its own, in a stream the same in each chunk', () => {
    const given = context(['x-amzn-requestid', 'r-1']);
    expect(bedrockConverse.fromWire(body, given)['id']).to.equal('r-1');
    for (const none of [context(), context([])]) {
      expect(bedrockConverse.fromWire(body, none)['id']).to.be.a('string').and.not.equal('');
      const stream = bedrockConverse.stream(none);
      const chunks = [
        ...stream.event('messageStart', '{"role":"assistant"}'),
        ...stream.event('contentBlockDelta', '{"contentBlockIndex":0,"delta":{"text":"Hi"}}'),
        ...stream.event('messageStop', '{"stopReason":"end_turn"}'),
      ];
      const ids = new Set(chunks.map(({ id }) => id));
      expect(ids.size).to.equal(1);
      expect([...ids][0])
        .to.be.a('string')
        .and.not.equal('');
    }
  });
});
