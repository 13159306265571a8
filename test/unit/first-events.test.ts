import { crc32 } from 'node:zlib';
import { expect } from 'chai';
import { type Ask, type Asked, BareWorker, type Client, soon } from '../support/bare-worker.js';

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (content: string, finish: string | null = null): string =>
  data({ id: 'c', model: 'gpt-4o', choices: [{ index: 0, delta: { content }, finish_reason: finish }] });
const whole = `${chunk('Hello')}${chunk('', 'stop')}data: [DONE]\n\n`;
const overloaded = `event: error\n${data({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })}`;
const geminiError = data({
  error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' },
});

/** A frame of AWS: an exception, or an event. */
function frame(kind: 'event' | 'exception', type: string, payload: object): Buffer {
  const header = (name: string, value: string): Buffer =>
    Buffer.concat([
      Buffer.from([name.length]),
      Buffer.from(name),
      Buffer.from([7, 0, value.length]),
      Buffer.from(value),
    ]);
  const headers = Buffer.concat([header(':message-type', kind), header(`:${kind}-type`, type)]);
  const body = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(16 + headers.length + body.length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const most = Buffer.concat([prelude, headers, body]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(most));
  return Buffer.concat([most, sum]);
}

const hi = [{ role: 'user', content: 'Hi' }];
const chat: Ask = { body: { model: 'm', stream: true, messages: hi } };
const messages: Ask = {
  path: '/v1/messages',
  body: { model: 'm', max_tokens: 9, stream: true, messages: hi },
};
const responses: Ask = { path: '/v1/responses', body: { model: 'm', stream: true, input: 'Hi' } };
const gemini: Ask = {
  path: '/v1beta/models/m:streamGenerateContent',
  query: 'alt=sse',
  body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
};

/** Provider, how clients of each format ask it, how its stream begins, and the status that this is. */
const cases: readonly (readonly [
  provider: string,
  clients: Record<string, Ask>,
  first: string,
  status: number,
])[] = [
  ['anthropic', { messages, chat, responses, gemini }, overloaded, 529],
  [
    'anthropic',
    { messages },
    data({ type: 'error', error: { type: 'rate_limit_error', message: 'Too fast' } }),
    429,
  ],
  [
    'openai',
    { chat, messages },
    data({ error: { message: 'Sorry', type: 'server_error', code: null } }),
    500,
  ],
  [
    'openai',
    { responses },
    `event: error\n${data({ type: 'error', code: 'rate_limit_exceeded', message: 'x' })}`,
    429,
  ],
  [
    'openai',
    { responses },
    data({ type: 'response.failed', response: { error: { code: 'server_error', message: 'x' } } }),
    500,
  ],
  [
    'openrouter',
    { chat, messages },
    `: OPENROUTER PROCESSING\n\n${data({
      id: 'g',
      error: { code: 502, message: 'Provider disconnected' },
      choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
    })}`,
    502,
  ],
  ['google', { gemini, chat, messages }, geminiError, 503],
];

describe('a stream whose first event is an error', () => {
  let worker: BareWorker;

  beforeEach(async () => {
    worker = await new BareWorker().start();
  });
  afterEach(() => worker.close());

  const begin = ({ handler }: Asked, text: string | Buffer, type = 'text/event-stream'): void => {
    handler.head(200, ['content-type', type]);
    handler.data(Buffer.from(text));
  };
  const target = (provider: string): object => ({
    provider,
    api_key: 'sk-test-key-0001',
    override_params: {},
  });
  const ended = async (client: Client): Promise<void> => soon('it ends', () => client.ended);
  const settled = async () => {
    await soon('it is settled', () => worker.settled.length > 0);
    return worker.settled.at(-1)!;
  };

  for (const [provider, clients, first, status] of cases) {
    for (const [format, ask] of Object.entries(clients)) {
      it(`makes ${status} of the attempt: ${provider} for a client of ${format}`, async () => {
        const config = JSON.stringify({
          strategy: { mode: 'fallback', on_status_codes: [status] },
          targets: [target(provider), target('openai')],
        });
        const [client, asked] = await worker.asking(worker.key(), { ...ask, config });
        begin(asked, first);
        await soon('the next target is asked', () => worker.asked.length === 2);
        expect(asked.cancelled).to.equal(true);
        expect(client.status).to.equal(0);
        worker.asked[1]!.handler.head(500, ['content-type', 'application/json']);
        worker.asked[1]!.handler.data(Buffer.from('{"error":{"message":"no"}}'));
        worker.asked[1]!.handler.end();
        await ended(client);
        const { attempts } = await settled();
        expect(attempts.map((one) => [one.status, one.error, one.usage])).to.deep.equal([
          [status, null, null],
          [500, null, null],
        ]);
      });

      it(`is answered with ${status} and an error where nothing follows: ${provider} for ${format}`, async () => {
        const [client, asked] = await worker.asking(worker.key(), {
          ...ask,
          config: JSON.stringify(target(provider)),
        });
        begin(asked, first);
        await ended(client);
        expect(client.status).to.equal(status);
        expect(client.headers).to.include('application/json');
        const body = JSON.parse(client.text);
        expect(body.error.message).to.be.a('string').and.not.equal('');
        if (format === 'messages') expect(body.type).to.equal('error');
        if (format === 'gemini') expect(body.error.code).to.equal(status);
        expect((await settled()).status).to.equal(status);
      });
    }
  }

  it('of Bedrock is an exception frame, which is converted', async () => {
    const config = JSON.stringify({
      strategy: { mode: 'fallback' },
      targets: [
        {
          provider: 'bedrock',
          aws_access_key_id: 'AKIATEST',
          aws_secret_access_key: 'secretsecret',
          aws_region: 'us-east-1',
        },
        target('openai'),
      ],
    });
    const [client, asked] = await worker.asking(worker.key(), { ...chat, config });
    const thrown = frame('exception', 'throttlingException', { message: 'Too many requests' });
    begin(asked, thrown.subarray(0, 20), 'application/vnd.amazon.eventstream');
    asked.handler.data(thrown.subarray(20));
    await soon('the next target is asked', () => worker.asked.length === 2);
    begin(worker.asked[1]!, whole);
    worker.asked[1]!.handler.end();
    await ended(client);
    expect(client.text).to.equal(whole);
    expect((await settled()).attempts.map(({ status }) => status)).to.deep.equal([429, 200]);
  });

  it('is retried by the rules for its status, and only then', async () => {
    for (const [codes, calls] of [
      [[529], 2],
      [[503], 1],
    ] as const) {
      const before = worker.asked.length;
      const config = JSON.stringify({
        ...target('anthropic'),
        retry: { attempts: 1, on_status_codes: codes },
      });
      const [client, asked] = await worker.asking(worker.key(), { ...messages, config });
      begin(asked, overloaded);
      if (calls === 2) {
        await soon('it is asked again', () => worker.asked.length === before + 2);
        begin(worker.asked.at(-1)!, overloaded);
      }
      await ended(client);
      expect([client.status, worker.asked.length - before]).to.deep.equal([529, calls]);
    }
  });

  it('waits for the whole event, and does not count comments and pings before it', async () => {
    const config = JSON.stringify({
      strategy: { mode: 'fallback' },
      targets: [target('anthropic'), target('openai')],
    });
    const [client, asked] = await worker.asking(worker.key(), { ...messages, config });
    asked.handler.head(200, ['content-type', 'text/event-stream']);
    for (const byte of `: hi\n\nevent: ping\ndata: {"type": "ping"}\n\n${overloaded}`)
      asked.handler.data(Buffer.from(byte));
    await soon('the next target is asked', () => worker.asked.length === 2);
    expect(client.status).to.equal(0);
  });

  it('without the blank line that closes it is one too', async () => {
    const [client, { handler }] = await worker.asking(worker.key(), {
      ...chat,
      config: JSON.stringify(target('openai')),
    });
    handler.head(200, ['content-type', 'text/event-stream']);
    handler.data(Buffer.from('data: {"error":{"message":"Busy","code":"429"}}'));
    handler.end();
    await ended(client);
    expect([client.status, client.text]).to.deep.equal([
      429,
      '{"error":{"message":"openai error: Busy","code":"429","type":"rate_limit_error","param":null},"provider":"openai"}',
    ]);
  });

  const error = { code: 'server_error', message: 'Gone' };
  for (const [provider, ask, event] of [
    ['openrouter', chat, { error, usage: { prompt_tokens: 7, completion_tokens: 1, total_tokens: 8 } }],
    [
      'openai',
      responses,
      { type: 'response.failed', response: { error, usage: { input_tokens: 7, output_tokens: 1 } } },
    ],
    [
      'anthropic',
      messages,
      {
        type: 'error',
        error: { type: 'api_error', message: 'Gone' },
        usage: { input_tokens: 4, cache_read_input_tokens: 3, output_tokens: 1 },
      },
    ],
    ['anthropic', chat, { type: 'error', error, usage: { input_tokens: 7, output_tokens: 1 } }],
    [
      'google',
      gemini,
      { error: { code: 500, message: 'x' }, usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 1 } },
    ],
  ] as const)
    it(`counts the usage that comes with it: ${provider}, ${Object.keys(event)}`, async () => {
      const [, asked] = await worker.asking(worker.key(), {
        ...ask,
        config: JSON.stringify(target(provider)),
      });
      begin(asked, data(event));
      expect((await settled()).attempts[0]?.usage).to.include({ input: 7, output: 1 });
    });

  it('has no longer wait in its headers than another answer', async () => {
    const [client, { handler }] = await worker.asking(worker.key(), {
      ...messages,
      config: JSON.stringify(target('anthropic')),
    });
    handler.head(200, ['content-type', 'text/event-stream', 'retry-after', '9999999']);
    handler.data(Buffer.from(data({ type: 'error', error: { type: 'rate_limit_error', message: 'x' } })));
    await ended(client);
    expect(client.status).to.equal(429);
    expect(client.headers[client.headers.indexOf('retry-after') + 1]).to.equal('86400');
  });

  it('passes on an error that follows the start of a message', async () => {
    const start = `event: message_start\n${data({ type: 'message_start', message: { model: 'claude', usage: { input_tokens: 3 } } })}`;
    const config = JSON.stringify({
      strategy: { mode: 'fallback' },
      targets: [target('anthropic'), target('openai')],
    });
    const [client, asked] = await worker.asking(worker.key(), { ...messages, config });
    begin(asked, start);
    asked.handler.data(Buffer.from(overloaded));
    asked.handler.end();
    await ended(client);
    expect([client.status, client.text, worker.asked.length]).to.deep.equal([200, start + overloaded, 1]);
  });

  it('is not detected where an answer only contains the word', async () => {
    const text = `${data({ error: null, choices: [{ index: 0, delta: { content: 'an "error"' }, finish_reason: null }] })}${whole}`;
    const [client, asked] = await worker.asking(worker.key(), {
      ...chat,
      config: JSON.stringify(target('openai')),
    });
    begin(asked, text);
    asked.handler.end();
    await ended(client);
    expect([client.status, client.text]).to.deep.equal([200, text]);
  });
});

describe('an empty error beside content', () => {
  it('is no error in a stream that is converted', async () => {
    const worker = await new BareWorker().start();
    const [client, { handler }] = await worker.asking(worker.key(), {
      ...messages,
      config: JSON.stringify({ provider: 'openai', api_key: 'sk-test-key-0001' }),
    });
    handler.head(200, ['content-type', 'text/event-stream']);
    for (const content of ['One', 'Two'])
      handler.data(Buffer.from(data({ error: {}, choices: [{ index: 0, delta: { content } }] })));
    handler.data(Buffer.from(`${chunk('', 'stop')}data: [DONE]\n\n`));
    handler.end();
    await soon('it ends', () => client.ended);
    expect([client.status, /One.*Two.*message_stop/s.test(client.text)]).to.deep.equal([200, true]);
    worker.close();
  });
});

describe('a first event', () => {
  let worker: BareWorker;
  before(async () => {
    worker = await new BareWorker().start();
  });
  after(() => worker.close());

  it('is passed on as soon as it is whole', async () => {
    const [client, { handler }] = await worker.asking(worker.key(), { config: '{"provider":"@openai"}' });
    handler.head(200, ['content-type', 'text/event-stream']);
    handler.data(Buffer.from(chunk('Hello').slice(0, 30)));
    handler.data(Buffer.from(chunk('Hello').slice(30)));
    await soon('the client reads', () => client.text === chunk('Hello'));
  });

  it('that is longer than an error is passed on whole', async () => {
    const long = chunk('x'.repeat(40_000));
    const [client, { handler }] = await worker.asking(worker.key(), { config: '{"provider":"@openai"}' });
    handler.head(200, ['content-type', 'text/event-stream']);
    handler.data(Buffer.from(long.slice(0, 20_000)));
    handler.data(Buffer.from(long.slice(20_000)));
    await soon('the client reads', () => client.text === long);
  });

  it('is required: a stream of comments alone fails the attempt, and nothing is sent', async () => {
    const config =
      '{"strategy":{"mode":"fallback"},"targets":[{"provider":"@openai"},{"provider":"@openai"}]}';
    const before = worker.asked.length;
    const [client, { handler }] = await worker.asking(worker.key(), { config });
    handler.head(200, ['content-type', 'text/event-stream']);
    handler.data(Buffer.from(': wait\n\n: wait\n\n'));
    handler.end();
    await soon('the next target is asked', () => worker.asked.length === before + 2);
    expect(client.status).to.equal(0);
  });
});

describe('the log of a stream whose first event is an error', () => {
  it('has what the provider sent', async () => {
    const worker = await new BareWorker().start({ logBodies: true });
    const kept: { id: string; response: unknown }[] = [];
    const { journal } = worker.pipeline;
    journal.keepBodies = (bodies) => void kept.push(bodies as never);
    const [client, { handler }] = await worker.asking(worker.key(), {
      ...messages,
      config: JSON.stringify({ provider: 'anthropic', api_key: 'sk-test-key-0001' }),
    });
    handler.head(200, ['content-type', 'text/event-stream']);
    handler.data(Buffer.from(`: hi\n\n${overloaded}`));
    await soon('both are kept', () => kept.length === 2);
    expect(String(kept[0]!.response)).to.equal(client.text);
    expect(String(kept[1]!.response)).to.equal(`: hi\n\n${overloaded}`);
    worker.close();
  });
});

describe('a whole answer with the status of a success', () => {
  let worker: BareWorker;

  beforeEach(async () => {
    worker = await new BareWorker().start();
  });
  afterEach(() => worker.close());

  const config = JSON.stringify({
    strategy: { mode: 'fallback' },
    targets: ['openrouter', 'openai'].map((provider) => ({ provider, api_key: 'sk-test-key-0001' })),
  });
  const answer = ({ handler }: Asked, body: string): void => {
    handler.head(200, ['content-type', 'application/json']);
    handler.data(Buffer.from(body));
    handler.end();
  };
  const asked = (path: string, body: object): Promise<[Client, Asked]> =>
    worker.asking(worker.key(), { path, body, config });

  for (const [format, path, body] of [
    ['chat', '/v1/chat/completions', { model: 'm', messages: hi }],
    ['messages', '/v1/messages', { model: 'm', max_tokens: 9, messages: hi }],
  ] as const) {
    it(`and an error in it is an error answer: the next target is called, for a client of ${format}`, async () => {
      const [client, first] = await asked(path, body);
      answer(first, '{"id":"g","error":{"code":429,"message":"Too fast"},"user_id":"u"}');
      await soon('the next target is asked', () => worker.asked.length === 2);
      answer(worker.asked[1]!, '{"error":{"message":"Down","code":"server_error"}}');
      await soon('it ends', () => client.ended);
      expect(client.status).to.equal(500);
      expect(JSON.parse(client.text).error.message).to.include('Down');
      await soon('it is settled', () => worker.settled.length > 0);
      expect(worker.settled.at(-1)!.attempts.map(({ status }) => status)).to.deep.equal([429, 500]);
    });
  }

  for (const body of [
    '{"id":"c","model":"m","error":null,"choices":[]}',
    '{"id":"c","model":"m","error":{},"choices":[]}',
    '{"id":"c","model":"m","choices":[{"message":{"content":"{\\"error\\":{}}"}}],"error":{"code":0}}',
  ])
    it(`is passed on as it is: ${body}`, async () => {
      const [client, first] = await asked('/v1/chat/completions', { model: 'm', messages: hi });
      answer(first, body);
      await soon('it ends', () => client.ended);
      expect([client.status, client.text]).to.deep.equal([200, body]);
    });

  it('is passed on where it is a response that failed', async () => {
    const [client, first] = await worker.asking(worker.key(), {
      path: '/v1/responses',
      body: { model: 'm', input: 'Hi' },
      config: JSON.stringify({ provider: 'openai', api_key: 'sk-test-key-0001' }),
    });
    const body =
      '{"id":"r","object":"response","status":"failed","error":{"code":"server_error","message":"x"},"output":[]}';
    answer(first, body);
    await soon('it ends', () => client.ended);
    expect([client.status, client.text]).to.deep.equal([200, body]);
  });
});
