// lane: shared gateway, quick
import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { eventually } from '../support/gateway.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

type Stored = Record<string, unknown>;

const hello: Anthropic.MessageParam[] = [{ role: 'user', content: 'Hello' }];
const weather: Anthropic.Tool = {
  name: 'get_weather',
  description: 'The weather of a city.',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const time: Anthropic.Tool = { name: 'get_time', input_schema: { type: 'object', properties: {} } };

const thrown = (work: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(work).then(
    () => null,
    (error: unknown) => error,
  );

describe('the Anthropic Messages API', () => {
  let gateway: SharedGateway;
  let provider: SimulatedProvider;
  let client: Anthropic;

  before(async function () {
    this.timeout(20_000);
    [gateway, provider] = await Promise.all([shareGateway(), startSimulated({ record: true })]);
    const admin = gateway.admin();
    const base_url = `${provider.url}/v1`;
    await admin.providers.create({ slug: 'main', provider: 'openai', key: 'sk-sim', base_url });
    await admin.providers.create({ slug: 'claude', provider: 'anthropic', key: 'sk-ant-sim', base_url });
    await admin.providers.create({
      slug: 'gemini',
      provider: 'google',
      key: 'AIza-sim',
      base_url: `${provider.url}/v1beta`,
    });
    client = new Anthropic({ baseURL: gateway.url, apiKey: gateway.workspaceKey, maxRetries: 0 });
  });

  beforeEach(() => provider.reset());

  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  const seen = (): Stored => JSON.parse(provider.requests.at(-1)!.body.toString()) as Stored;
  const model = (name: string): string => `@main/${name}`;

  function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(gateway.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': gateway.workspaceKey, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  for (const [slug, format, name] of [
    ['main', 'openai', 'gpt-4o-mini'],
    ['claude', 'anthropic', 'claude-sonnet-4-5'],
    ['gemini', 'google', 'gemini-2.5-flash'],
  ] as const) {
    describe(`before a provider of format ${format}`, () => {
      const asked = `@${slug}/${name}`;

      it('answers', async () => {
        const answer = await client.messages.create({ model: asked, max_tokens: 64, messages: hello });
        expect(answer).to.include({
          type: 'message',
          role: 'assistant',
          stop_reason: 'end_turn',
          model: name,
        });
        expect(answer.content).to.deep.equal([{ type: 'text', text: 'You said: Hello' }]);
        expect(answer.usage.input_tokens).to.be.greaterThan(0);
        expect(answer.usage.output_tokens).to.be.greaterThan(0);
        expect(answer._request_id).to.be.a('string').and.not.equal('');
      });

      it('streams the same, event by event', async () => {
        const params = { model: asked, max_tokens: 64, messages: hello };
        const whole = await client.messages.create(params);
        const stream = client.messages.stream(params);
        const kinds: string[] = [];
        stream.on('streamEvent', (event) => kinds.push(event.type));
        const final = await stream.finalMessage();
        expect(final.content).to.deep.equal(whole.content);
        expect(final.stop_reason).to.equal('end_turn');
        expect(final.usage.input_tokens).to.equal(whole.usage.input_tokens);
        expect(final.usage.output_tokens).to.equal(whole.usage.output_tokens);
        expect(kinds[0]).to.equal('message_start');
        expect(kinds.slice(-3)).to.deep.equal(['content_block_stop', 'message_delta', 'message_stop']);
      });

      for (const streamed of [false, true]) {
        it(`calls two tools at once and takes their results${streamed ? ', streamed' : ''}`, async () => {
          const ask = async (messages: Anthropic.MessageParam[]): Promise<Anthropic.Message> => {
            const params = { model: asked, max_tokens: 64, tools: [weather, time], messages };
            return streamed
              ? client.messages.stream(params).finalMessage()
              : await client.messages.create(params);
          };
          const messages: Anthropic.MessageParam[] = [
            { role: 'user', content: 'Use get_weather and get_time for Paris' },
          ];
          const first = await ask(messages);
          expect(first.stop_reason).to.equal('tool_use');
          const calls = first.content.filter((block) => block.type === 'tool_use');
          expect(calls.map((call) => call.name)).to.deep.equal(['get_weather', 'get_time']);
          expect(calls[0]!.input).to.have.property('city').that.is.a('string');
          expect(calls[1]!.input).to.deep.equal({});
          expect(new Set(calls.map((call) => call.id)).size).to.equal(2);
          messages.push(
            { role: 'assistant', content: first.content },
            {
              role: 'user',
              content: calls.map((call) => ({
                type: 'tool_result' as const,
                tool_use_id: call.id,
                content: '21 degrees',
              })),
            },
          );
          const second = await ask(messages);
          expect(second.stop_reason).to.equal('end_turn');
          expect(second.content[0]).to.have.property('text').that.includes('21 degrees');
        });
      }

      it('answers by a schema', async () => {
        const schema = {
          type: 'object',
          properties: { city: { type: 'string' } },
          required: ['city'],
          additionalProperties: false,
        };
        const answer = await client.messages.create({
          model: asked,
          max_tokens: 64,
          messages: hello,
          output_config: { format: { type: 'json_schema', schema } },
        });
        const [block] = answer.content;
        if (block?.type !== 'text') throw new Error('no text');
        expect(JSON.parse(block.text)).to.have.property('city').that.is.a('string');
      });

      it("raises the client's own error classes", async () => {
        const fails = (status: string): Promise<unknown> =>
          thrown(
            client.messages.create({ model: `@${slug}/sim-fault:${status}`, max_tokens: 9, messages: hello }),
          );
        expect(await fails('400')).to.be.instanceOf(Anthropic.BadRequestError);
        expect(await fails('401')).to.be.instanceOf(Anthropic.AuthenticationError);
        expect(await fails('403')).to.be.instanceOf(Anthropic.PermissionDeniedError);
        expect(await fails('404')).to.be.instanceOf(Anthropic.NotFoundError);
        expect(await fails('500')).to.be.instanceOf(Anthropic.InternalServerError);
        const limited = await fails('429');
        expect(limited).to.be.instanceOf(Anthropic.RateLimitError);
        expect(limited).to.have.property('type', 'rate_limit_error');
        expect((limited as InstanceType<typeof Anthropic.RateLimitError>).requestID).to.be.a('string');
      });

      for (const fault of ['reset-mid-stream', 'eof-mid-stream', 'error-event']) {
        it(`has a stream that breaks (${fault}) noticed`, async () => {
          const params = { model: `@${slug}/sim-fault:${fault}`, max_tokens: 64, messages: hello };
          const raw = await client.messages.create({ ...params, stream: true });
          let events = 0;
          const broken = await thrown(
            (async () => {
              for await (const event of raw) if (event.type !== 'message_stop') events++;
            })(),
          );
          expect(events).to.be.greaterThan(0);
          expect(broken).to.be.instanceOf(Anthropic.APIError);
          expect(broken).to.have.nested.property('error.type', 'error');
          expect(await thrown(client.messages.stream(params).finalMessage())).to.be.instanceOf(
            Anthropic.APIError,
          );
        });
      }

      for (const fault of ['html', 'bad-json', 'empty', 'redirect', 'reset-before-head']) {
        it(`reports an invalid answer (${fault}) as an error of its own`, async () => {
          const params = { model: `@${slug}/sim-fault:${fault}`, max_tokens: 64, messages: hello };
          for (const stream of [false, true]) {
            const error = await thrown(client.messages.create({ ...params, stream }));
            expect(error).to.be.instanceOf(Anthropic.InternalServerError);
            expect(error).to.include({ status: 502, type: 'api_error' });
          }
        });
      }

      it('counts tokens', async () => {
        const params = { model: asked, system: 'Be kind.', messages: hello, tools: [weather] };
        const { data, response } = await client.messages.countTokens(params).withResponse();
        expect(data.input_tokens).to.be.within(10, 200);
        const isEstimate = format === 'openai';
        expect(response.headers.get('x-gateway-token-count')).to.equal(isEstimate ? 'estimated' : null);
        expect(provider.requests).to.have.length(isEstimate ? 0 : 1);
      });
    });
  }

  it('takes keys from where each of its clients puts them', async () => {
    const body = { model: model('gpt-4o-mini'), max_tokens: 9, messages: hello };
    const places: Record<string, string>[] = [
      { 'x-api-key': gateway.workspaceKey },
      { authorization: `Bearer ${gateway.workspaceKey}`, 'x-api-key': '' },
      { 'x-gateway-api-key': gateway.workspaceKey, 'x-api-key': 'sk-ant-other' },
    ];
    for (const headers of places) {
      expect((await post('/v1/messages', body, headers)).status).to.equal(200);
    }
    for (const { headers } of provider.requests) {
      expect(headers['authorization']).to.equal('Bearer sk-sim');
      expect(headers).to.not.have.property('x-api-key');
    }
  });

  it('sends an OAuth token of a coding agent on as the bearer that it is', async () => {
    for (const [token, header] of [
      ['sk-ant-oat01-agent', 'authorization'],
      ['sk-ant-api03-person', 'x-api-key'],
    ] as const) {
      const answer = await post(
        '/v1/messages',
        { model: 'claude-sonnet-4-5', max_tokens: 9, messages: hello },
        {
          'x-gateway-api-key': gateway.workspaceKey,
          'x-gateway-provider': 'anthropic',
          'x-gateway-custom-host': `${provider.url}/v1`,
          authorization: `Bearer ${token}`,
          'x-api-key': '',
        },
      );
      expect(answer.status).to.equal(200);
      const { headers } = provider.requests.at(-1)!;
      expect(headers[header]).to.equal(header === 'authorization' ? `Bearer ${token}` : token);
      expect(headers).to.not.have.property(header === 'authorization' ? 'x-api-key' : 'authorization');
    }
  });

  it('refuses in the shape of this API: no key, a bad body, an unknown provider, another method', async () => {
    const stranger = await post('/v1/messages', {}, { 'x-api-key': 'nonsense' });
    expect(stranger.status).to.equal(401);
    expect(await stranger.json())
      .to.deep.include({ type: 'error' })
      .and.nested.property('error.type', 'authentication_error');
    expect(stranger.headers.get('request-id')).to.equal(stranger.headers.get('x-request-id'));
    const good = { model: model('m'), max_tokens: 9, messages: hello };
    for (const [body, path] of [
      [{ ...good, max_tokens: undefined }, 'max_tokens'],
      [{ ...good, max_tokens: 1.5 }, 'max_tokens'],
      [{ ...good, messages: [] }, 'messages'],
      [{ ...good, messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].role'],
      [{ ...good, messages: [{ role: 'user', content: [{ type: 'text' }] }] }, 'messages[0].content[0].text'],
      [{ ...good, temperature: 1.5 }, 'temperature'],
      [{ ...good, tools: [{ name: 'f' }] }, 'tools[0].input_schema'],
      [{ ...good, tool_choice: { type: 'any' } }, 'tool_choice'],
      [{ ...good, thinking: { type: 'enabled', budget_tokens: 5 } }, 'thinking.budget_tokens'],
      [{ ...good, system: [{ type: 'image' }] }, 'system[0].type'],
      ['{"model":', 'The body'],
    ] as const) {
      const refused = await post('/v1/messages', body);
      const { error } = (await refused.json()) as { error: { type: string; message: string } };
      expect(refused.status, path).to.equal(400);
      expect(error.type).to.equal('invalid_request_error');
      expect(error.message.startsWith(path), `${error.message} begins with ${path}`).to.equal(true);
    }
    const nowhere = await post('/v1/messages', { ...good, model: '@nobody/m' });
    expect(nowhere.status).to.equal(400);
    expect(await nowhere.json()).to.have.property('type', 'error');
    const got = await fetch(`${gateway.url}/v1/messages`);
    expect(got.status).to.equal(405);
    expect(await got.json()).to.have.property('type', 'error');
    expect(provider.requests).to.have.length(0);
  });

  it('sends a provider of the same format the bytes of its client, and gives back its answer untouched', async () => {
    const body = `{ "max_tokens":64,"new_field":1.0e2, "model":"claude-sonnet-4-5","messages":[{"role":"user","content":"Hi \\u00e9"}],"metadata":{"big":12345678901234567890}}`;
    const answer = await post('/v1/messages', body, {
      'x-gateway-provider': '@claude',
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'some-beta',
    });
    expect(answer.status).to.equal(200);
    const request = provider.requests.at(-1)!;
    expect(request.body.toString()).to.equal(body);
    expect(request.headers).to.include({ 'anthropic-version': '2026-10-21', 'anthropic-beta': 'some-beta' });
    expect(answer.headers.get('request-id')).to.match(/^req_/);
  });

  it('brings images, documents and the history of tools to a provider of another format', async () => {
    await client.messages.create({
      model: model('gpt-4o'),
      max_tokens: 64,
      system: 'Be kind.',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
            { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' } },
            { type: 'text', text: 'What is this?' },
          ],
        },
      ],
    });
    expect(seen()['messages']).to.deep.equal([
      { role: 'system', content: 'Be kind.' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
          {
            type: 'file',
            file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,JVBERg==' },
          },
          { type: 'text', text: 'What is this?' },
        ],
      },
    ]);
  });

  it('names what was dropped when asked to explain', async () => {
    const body = {
      model: model('gpt-4o'),
      max_tokens: 9,
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] },
      ],
      top_k: 4,
      'new,é': 1,
    };
    const silent = await post('/v1/messages', body);
    expect(silent.headers.get('x-gateway-dropped-fields')).to.equal(null);
    const told = await post('/v1/messages', body, { 'x-gateway-explain': 'true' });
    expect(told.headers.get('x-gateway-dropped-fields')).to.equal(
      'new\\u002c\\u00e9, top_k, messages[0].content[0].cache_control',
    );
    const kept = await post(
      '/v1/messages',
      { model: '@claude/claude-sonnet-4-5', max_tokens: 9, messages: hello, top_k: 4 },
      { 'x-gateway-explain': 'true' },
    );
    expect(kept.headers.get('x-gateway-dropped-fields')).to.equal(null);
  });

  it('falls back from one format to another with a request made of the client’s own body', async () => {
    const config = (first: string, second: string): string =>
      JSON.stringify({
        strategy: { mode: 'fallback' },
        targets: [{ provider: first, override_params: { model: 'sim-fault:500' } }, { provider: second }],
      });
    const body = {
      model: 'claude-sonnet-4-5',
      max_tokens: 64,
      messages: hello,
      top_k: 3,
      stop_sequences: ['END'],
    };
    const toClaude = await post('/v1/messages', body, { 'x-gateway-config': config('@main', '@claude') });
    expect(toClaude.status).to.equal(200);
    expect(provider.requests.map(({ path }) => path)).to.deep.equal(['/v1/chat/completions', '/v1/messages']);
    expect(provider.requests[1]!.body.toString()).to.equal(JSON.stringify(body));
    provider.reset();
    const toOpenAi = await post('/v1/messages', body, { 'x-gateway-config': config('@claude', '@main') });
    expect(await toOpenAi.json()).to.have.property('type', 'message');
    expect(seen()).to.deep.equal({
      model: 'claude-sonnet-4-5',
      messages: hello,
      max_tokens: 64,
      stop: ['END'],
    });
  });

  it('writes usage, model and endpoint of a converted stream into the log', async () => {
    const stream = client.messages.stream({ model: model('gpt-4o-logged'), max_tokens: 64, messages: hello });
    const final = await stream.finalMessage();
    const logs = gateway.admin().logs;
    const row = await eventually('the row of the stream', async () =>
      (await logs.list({})).data.find((log) => log.ai_model === 'gpt-4o-logged'),
    );
    expect(row).to.include({
      ai_org: 'openai',
      request_url: '/v1/messages',
      req_units: final.usage.input_tokens,
      res_units: final.usage.output_tokens,
    });
  });
});
