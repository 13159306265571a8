import { expect } from 'chai';
import {
  definePlugin,
  type FormatPiece,
  type Host,
  type Plugin,
  type PluginFormat,
  type PluginFormats,
} from '../../src/common/plugin-host/plugin-api.js';
import { type OpenedPlugin, openPlugin, type ProviderAnswer } from '../../src/plugin-kit/index.js';

/** A provider that asks for `{ engine, lines, opts }` and answers `{ out, n: [in, out] }`; its streams are lines of JSON. */
const generate: PluginFormat = {
  framing: 'lines',
  request({ model, messages, max_tokens: limit, stream, temperature }, { drop }) {
    if (temperature !== undefined) drop('temperature');
    const lines = (messages as { role: string; content: string }[]).map(
      ({ role, content }) => `${role}: ${content}`,
    );
    return { engine: model, lines, stream: stream === true, ...(limit !== undefined && { opts: { limit } }) };
  },
  reply: ({ out, n, why }) => ({
    choices: [{ message: { content: out }, ...(why !== undefined && { finish_reason: why }) }],
    usage: { prompt_tokens: (n as number[])[0], completion_tokens: (n as number[])[1] },
  }),
  error: (_status, body) => String(body?.['oops'] ?? 'it failed'),
  stream: () => ({
    event({ data }): FormatPiece[] {
      const { bit, end, n } = JSON.parse(data);
      return [
        ...(bit === undefined ? [] : [{ delta: { content: bit } }]),
        ...(end === undefined
          ? []
          : [{ finish_reason: end, usage: { prompt_tokens: n[0], completion_tokens: n[1] } }]),
      ];
    },
  }),
};
const vectors: PluginFormat = {
  kind: 'embeddings',
  request: ({ input }) => ({ texts: [input].flat() }),
  reply: ({ v, n }) => ({
    data: (v as number[][]).map((embedding) => ({ embedding })),
    usage: { prompt_tokens: n, total_tokens: n },
  }),
};
const bringing = (formats: (host: Host) => PluginFormats, paths: Record<string, string>): Plugin =>
  definePlugin({
    ...{ name: 'acme', options: { type: 'object' } },
    providers: { 'acme-ai': { base: 'https://ai.acme.example/v1', paths } },
    setup: (_options, host) => ({ formats: formats(host) }),
  });
const acme = bringing(() => ({ generate, vectors }), {
  generate: '/engines/{model}/generate',
  vectors: '/vectors',
});
const config = { provider: 'acme-ai', api_key: 'k-1' };
const whole = { body: { out: 'Hi there.', n: [5, 2] } };
const line = (value: object): string => `${JSON.stringify(value)}\n`;
const streamed: ProviderAnswer = {
  headers: { 'content-type': 'application/x-ndjson' },
  // Cut within a line and within a character.
  body: [
    line({ bit: 'Hi' }).slice(0, 5),
    `${line({ bit: 'Hi' }).slice(5)}\n${line({ bit: ' thère.' })}`,
    line({ end: 'stop', n: [5, 2] }).trimEnd(),
  ],
};
const paths = {
  '/v1/chat/completions': '/v1/chat/completions',
  '/v1/messages': '/v1/messages',
  '/v1/responses': '/v1/responses',
  '/v1beta/models/acme-1:generateContent': '/v1beta/models/acme-1:streamGenerateContent?alt=sse',
};

describe('formats of a plugin', () => {
  const opened: OpenedPlugin[] = [];
  const open = async (...given: Parameters<typeof openPlugin>): Promise<OpenedPlugin> => {
    const one = await openPlugin(...given);
    opened.push(one);
    return one;
  };
  afterEach(() => Promise.all(opened.splice(0).map((one) => one.close())));

  it('serve clients of every format, whole and as a stream', async () => {
    for (const [path, streamPath] of Object.entries(paths)) {
      const gateway = await open(acme, {}, { answer: ({ json }) => (json.stream ? streamed : whole) });
      const one = await gateway.inject({ path, config });
      expect([one.status, one.text], one.body).to.deep.equal([200, 'Hi there.']);
      expect(one.row.usage).to.include({ input: 5, output: 2 });
      const [{ url, json, headers }] = one.calls as [(typeof one.calls)[0]];
      expect(url).to.match(/^https:\/\/ai\.acme\.example\/v1\/engines\/[\w.-]+\/generate$/);
      expect(headers['authorization']).to.equal('Bearer k-1');
      expect(json.lines).to.deep.equal(['user: Hello']);
      const many = await gateway.inject({ path: streamPath, stream: true, config });
      expect([many.status, many.text, many.outcome.error], many.body).to.deep.equal([200, 'Hi thère.', null]);
      expect(many.headers['content-type']).to.match(/^text\/event-stream/);
      expect(many.row.usage).to.include({ input: 5, output: 2 });
    }
  });

  it('note what they leave out, and have the usage at the end of a stream for those who ask for it', async () => {
    const gateway = await open(acme, {}, { answer: () => streamed });
    const body = {
      ...{ model: 'a/b c', stream: true, stream_options: { include_usage: true }, temperature: 1 },
      messages: [{ role: 'user', content: 'Hello' }],
    };
    const { events, calls, row } = await gateway.inject({ config, body });
    expect(calls[0]!.url).to.include('/engines/a%2Fb%20c/generate');
    expect(row.dropped).to.deep.equal(['temperature']);
    expect(events.at(-1)!.data).to.equal('[DONE]');
    expect(JSON.parse(events.at(-2)!.data)).to.deep.include({
      choices: [],
      usage: { prompt_tokens: 5, completion_tokens: 2 },
    });
    const up = { ...body, model: '..' };
    expect((await gateway.inject({ config, body: up })).status).to.equal(400);
  });

  it('leave requests alone that are passed on, and that name no model', async () => {
    const gateway = await open(acme, {}, { answer: () => ({ body: { data: [] } }) });
    const { status, calls, body } = await gateway.inject({
      method: 'GET',
      path: '/v1/fine_tuning/jobs',
      config,
    });
    expect([status, calls[0]?.url], body).to.deep.equal([200, 'https://ai.acme.example/v1/fine_tuning/jobs']);
  });

  it('read errors of the provider', async () => {
    const gateway = await open(acme, {}, { answer: () => ({ status: 429, body: { oops: 'too much' } }) });
    const { status, json } = await gateway.inject({ config });
    expect(status).to.equal(429);
    expect(json.error).to.include({ message: 'acme-ai error: too much', type: 'rate_limit_error' });
  });

  it('return errors of bounded length, however long those of the plugin are', async () => {
    const long = 'x'.repeat(1_000_000);
    const wordy: PluginFormat = {
      ...generate,
      error: () => ({ message: long, type: long, param: long, code: long }),
    };
    const plugin = bringing(() => ({ generate: wordy }), { generate: '/generate' });
    const gateway = await open(plugin, {}, { answer: () => ({ status: 400, body: {} }) });
    const { json } = await gateway.inject({ config });
    expect(json.error.message).to.match(/^acme-ai error: x+…$/);
    for (const [name, length] of Object.entries({ message: 4200, type: 200, param: 200, code: 200 }))
      expect(json.error[name].length, name).to.be.within(100, length);
  });

  it('embed, as numbers or in base64', async () => {
    const gateway = await open(acme, {}, { answer: () => ({ body: { v: [[0.5, 1]], n: 3 } }) });
    const ask = (more: object) =>
      gateway.inject({ path: '/v1/embeddings', config, body: { model: 'e', input: 'a', ...more } });
    const { json, row, calls } = await ask({});
    expect(calls[0]!.json).to.deep.equal({ texts: ['a'] });
    expect(json.data).to.deep.equal([{ object: 'embedding', index: 0, embedding: [0.5, 1] }]);
    expect(row.usage.input).to.equal(3);
    expect((await ask({ encoding_format: 'base64' })).json.data[0].embedding).to.equal('AAAAPwAAgD8=');
  });

  it('that do not stream refuse requests for streams, and the next target answers', async () => {
    const { stream: _, ...still } = generate;
    const plugin = bringing(() => ({ generate: still }), { generate: '/generate' });
    const gateway = await open(plugin);
    const refused = await gateway.inject({ config, stream: true });
    expect([refused.status, refused.json.error.code]).to.deep.equal([400, 'unsupported_by_provider']);
    const next = { strategy: { mode: 'fallback' }, targets: [config, { provider: '@simulated' }] };
    expect((await gateway.inject({ config: next, stream: true })).status).to.equal(200);
  });

  it('refuse what the provider has not, with a parameter', async () => {
    const plugin = bringing(
      (host) => ({
        generate: {
          ...generate,
          request() {
            throw host.error('unsupported_by_provider', 'tools: this provider has none.', { param: 'tools' });
          },
        },
      }),
      { generate: '/generate' },
    );
    const { status, json, log } = await (await open(plugin)).inject({ config });
    expect([status, json.error.param]).to.deep.equal([400, 'tools']);
    expect(log.filter(({ level }) => level === 'error')).to.deep.equal([]);
  });

  it('cannot write to the request of the client', async () => {
    const plugin = bringing(
      () => ({ generate: { ...generate, request: (body) => Object.assign(body, { model: 'x' }) } }),
      { generate: '/generate' },
    );
    expect((await (await open(plugin)).inject({ config })).status).to.equal(500);
  });

  it('fail their own requests where they throw or return garbage, and the log names them', async () => {
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    const boom = (): never => {
      throw new Error('boom');
    };
    const bad: readonly (readonly [keyof PluginFormat, unknown])[] = [
      ...[boom, () => null, () => 'text', () => [], () => Promise.resolve({}), () => circular].map(
        (request) => ['request', request] as const,
      ),
      ...[
        boom,
        () => undefined,
        () => ({}),
        () => ({ choices: [] }),
        () => ({ choices: [7] }),
        () => ({ choices: [{ message: 'Hi' }] }),
        () => Promise.resolve({ choices: [] }),
        () => ({ choices: [{ message: circular }] }),
      ].map((reply) => ['reply', reply] as const),
    ];
    for (const [member, value] of bad) {
      const plugin = bringing(() => ({ generate: { ...generate, [member]: value } }), {
        generate: '/generate',
      });
      const gateway = await open(
        plugin,
        {},
        { answer: ({ url }) => (url.includes('acme') ? whole : undefined) },
      );
      const { status, json, body } = await gateway.inject({ config });
      expect([status, json.error.code], `${member} ${value}`).to.deep.equal([500, 'internal']);
      expect(body).to.not.include('boom');
      expect((await gateway.inject()).status).to.equal(200);
      if (String(value).includes('circular')) continue;
      expect(
        gateway.log.map(({ fields }) => [fields['plugin'], fields['hook']]),
        `${member} ${value}`,
      ).to.deep.include(['acme', 'formats.generate']);
    }
  });

  it('that throw on an error answer do not hide it', async () => {
    for (const error of [() => JSON.parse('no'), () => ({}), () => null]) {
      const plugin = bringing(() => ({ generate: { ...generate, error } }), { generate: '/generate' });
      const gateway = await open(plugin, {}, { answer: () => ({ status: 403, body: { message: 'no' } }) });
      const { status, json } = await gateway.inject({ config });
      expect([status, json.error.message]).to.deep.equal([403, 'acme-ai error: no']);
    }
  });

  it('that fail in a stream end it with an error event, and one that is cut is truncated', async () => {
    const events: readonly (() => unknown)[] = [
      () => JSON.parse('no'),
      () => 7,
      () => ({ delta: 'Hi' }),
      () => ({ delta: { content: 'Hi' }, index: -1 }),
      () => ({ delta: { content: 'Hi' }, index: 1e9 }),
      () => Promise.resolve([]),
      () => ({ finish_reason: 1 }),
    ];
    for (const event of events) {
      const stream = () => ({ event: event as never });
      const plugin = bringing(() => ({ generate: { ...generate, stream } }), { generate: '/generate' });
      const { outcome, body } = await (await open(plugin, {}, { answer: () => streamed })).inject({
        config,
        stream: true,
      });
      expect(outcome.error, String(event)).to.equal('internal');
      expect(body, String(event)).to.not.include('[DONE]');
    }
    const cut = { ...streamed, body: [line({ bit: 'Hi' })] };
    const { outcome, text } = await (await open(acme, {}, { answer: () => cut })).inject({
      config,
      stream: true,
    });
    expect([outcome.error, text]).to.deep.equal(['upstream_truncated', 'Hi']);
    const long = { ...streamed, body: ['{', ...Array.from({ length: 20 }, () => '1'.repeat(65_536))] };
    const broken = await (await open(acme, {}, { answer: () => long })).inject({ config, stream: true });
    expect(broken.outcome.error).to.equal('upstream_stream_error');
    const page = { ...streamed, body: '<html>' };
    const none = await (await open(acme, {}, { answer: () => page })).inject({ config, stream: true });
    expect(none.outcome.error).to.equal('upstream_invalid_response');
  });

  it('are refused with path and reason where they could not be used', async () => {
    const wrong: readonly (readonly [unknown, RegExp])[] = [
      [[], /formats must be an object/],
      [{ Generate: generate }, /formats\.Generate must be named by/],
      [{ 'openai-chat': generate }, /formats\.openai-chat is a format of the gateway/],
      [{ generate: null }, /formats\.generate must be an object/],
      [{ generate: { ...generate, replies: 1 } }, /formats\.generate\.replies is not known here/],
      [{ generate: { ...generate, request: 1 } }, /formats\.generate\.request must be a function/],
      [{ generate: { ...generate, stream: {} } }, /formats\.generate\.stream must be a function/],
      [{ generate: { ...generate, kind: 'sound' } }, /formats\.generate\.kind must be/],
      [{ generate: { ...generate, kind: 'embeddings' } }, /formats\.generate\.stream is only for chat/],
      [{ generate: { ...generate, framing: 'xml' } }, /formats\.generate\.framing must be/],
      [{ generate: { ...generate, contentType: 'a' } }, /formats\.generate\.contentType must be/],
      [{ other: generate }, /providers\.acme-ai\.paths\.generate: there is no such format/],
    ];
    for (const [formats, reason] of wrong) {
      const plugin = bringing(() => formats as PluginFormats, { generate: '/generate' });
      const error = await openPlugin(plugin).then(
        (one) => one.close().then(() => null),
        (thrown: Error) => thrown,
      );
      expect(error?.message, JSON.stringify(formats)).to.match(reason);
    }
    const twice = bringing(() => ({ generate, more: generate }), { generate: '/a', more: '/b' });
    const error = await openPlugin(twice).catch((thrown: Error) => thrown);
    expect((error as Error).message).to.include('paths.more: it is the second format for chat');
  });
});
