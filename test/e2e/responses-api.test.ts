// lane: shared gateway, quick
import { expect } from 'chai';
import OpenAI from 'openai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { eventually } from '../support/gateway.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

type Stored = Record<string, unknown>;

const weather: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  strict: true,
};
const time: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'get_time',
  parameters: { type: 'object', properties: {}, required: [], additionalProperties: false },
  strict: true,
};

const thrown = (work: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(work).then(
    () => null,
    (error: unknown) => error,
  );

describe('the Responses API', () => {
  let gateway: SharedGateway;
  let provider: SimulatedProvider;
  let client: OpenAI;

  before(async function () {
    this.timeout(20_000);
    [gateway, provider] = await Promise.all([shareGateway(), startSimulated({ record: true })]);
    const admin = gateway.admin();
    const base_url = `${provider.url}/v1`;
    await admin.providers.create({ slug: 'main', provider: 'openai', key: 'sk-sim', base_url });
    await admin.providers.create({ slug: 'chat', provider: 'deepseek', key: 'sk-sim', base_url });
    await admin.providers.create({ slug: 'claude', provider: 'anthropic', key: 'sk-ant-sim', base_url });
    await admin.providers.create({
      slug: 'gemini',
      provider: 'google',
      key: 'AIza-sim',
      base_url: `${provider.url}/v1beta`,
    });
    client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.workspaceKey, maxRetries: 0 });
  });

  beforeEach(() => provider.reset());

  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  const seen = (): Stored => JSON.parse(provider.requests.at(-1)!.body.toString()) as Stored;
  const lastPath = (): string => provider.requests.at(-1)!.path;

  function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    return fetch(gateway.url + path, {
      method,
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${gateway.workspaceKey}`,
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  }

  for (const [slug, name, format] of [
    ['main', 'gpt-4o-mini', 'the same'],
    ['chat', 'deepseek-chat', 'OpenAI chat'],
    ['claude', 'claude-sonnet-4-5', 'Anthropic'],
    ['gemini', 'gemini-2.5-flash', 'Gemini'],
  ] as const) {
    describe(`before a provider of format ${format}`, () => {
      const model = `@${slug}/${name}`;

      it('answers', async () => {
        const answer = await client.responses.create({ model, input: 'Hello', instructions: 'Be brief.' });
        expect(answer).to.include({ object: 'response', status: 'completed', model: name });
        expect(answer.output_text).to.equal('You said: Hello');
        const { input_tokens = 0, output_tokens = 0, total_tokens } = answer.usage ?? {};
        expect(input_tokens).to.be.greaterThan(0);
        expect(total_tokens).to.equal(input_tokens + output_tokens);
      });

      it('streams the same, event by event, numbered from 0', async () => {
        const stream = client.responses.stream({ model, input: 'Hello to everybody' });
        const types: string[] = [];
        let next = 0;
        let text = '';
        for await (const event of stream) {
          expect(event.sequence_number).to.equal(next++);
          if (types.at(-1) !== event.type) types.push(event.type);
          if (event.type === 'response.output_text.delta') text += event.delta;
        }
        expect(types).to.deep.equal([
          'response.created',
          'response.in_progress',
          'response.output_item.added',
          'response.content_part.added',
          'response.output_text.delta',
          'response.output_text.done',
          'response.content_part.done',
          'response.output_item.done',
          'response.completed',
        ]);
        const final = await stream.finalResponse();
        expect(text).to.equal('You said: Hello to everybody');
        expect(final.output_text).to.equal(text);
        expect(final.usage?.input_tokens).to.be.greaterThan(0);
      });

      it('calls tools in parallel and takes their results over two turns', async () => {
        const input: OpenAI.Responses.ResponseInput = [
          { role: 'user', content: 'Ask get_weather and get_time.' },
        ];
        const tools = [weather, time];
        const first = await client.responses.create({ model, input, tools });
        const calls = first.output.filter((item) => item.type === 'function_call');
        expect(calls.map((item) => item.name)).to.deep.equal(['get_weather', 'get_time']);
        const streamed = await client.responses.stream({ model, input, tools }).finalResponse();
        const pieced = streamed.output.filter((item) => item.type === 'function_call');
        expect(pieced.map(({ name, arguments: given }) => [name, given])).to.deep.equal(
          calls.map(({ name, arguments: given }) => [name, given]),
        );
        const results = calls.map((item) => ({
          type: 'function_call_output' as const,
          call_id: item.call_id,
          output: '{"celsius":21}',
        }));
        const second = await client.responses.create({
          model,
          input: [...input, ...calls, ...results],
          tools,
        });
        expect(second.output_text).to.include('celsius');
      });

      it('answers by a schema', async () => {
        const answer = await client.responses.create({
          model,
          input: 'Hello',
          text: {
            format: {
              type: 'json_schema',
              name: 'said',
              schema: {
                type: 'object',
                properties: { said: { type: 'string' } },
                required: ['said'],
                additionalProperties: false,
              },
              strict: true,
            },
          },
        });
        expect(JSON.parse(answer.output_text)).to.have.property('said').that.includes('Hello');
      });

      it('reports that the answer was cut short', async () => {
        const answer = await client.responses.create({ model, input: 'Hello there', max_output_tokens: 2 });
        expect(answer.status).to.equal('incomplete');
        expect(answer.incomplete_details?.reason).to.equal('max_output_tokens');
      });

      it("throws the client's own classes", async () => {
        provider.fault('*', '429');
        expect(await thrown(client.responses.create({ model, input: 'x' }))).to.be.instanceOf(
          OpenAI.RateLimitError,
        );
        provider.fault('*', '500');
        expect(await thrown(client.responses.create({ model, input: 'x' }))).to.be.instanceOf(
          OpenAI.InternalServerError,
        );
      });

      for (const fault of ['reset-mid-stream', 'eof-mid-stream', 'error-event']) {
        it(`throws in the middle of a stream: ${fault}`, async () => {
          provider.fault('*', `${fault},chunks=20`);
          const stream = await client.responses.create({ model, input: 'Hello to everybody', stream: true });
          const error = await thrown(
            (async () => {
              for await (const _ of stream);
            })(),
          );
          expect(error).to.be.instanceOf(OpenAI.APIError);
        });
      }
    });
  }

  it('passes a native request byte by byte, but for the model', async () => {
    const body =
      '{ "input":"x", "model":"gpt-4o" ,"new_field":12345678901234567890.10,"tools":[{"type":"web_search"}],"previous_response_id":"resp_1"}';
    const answer = await call('POST', '/v1/responses', body, { 'x-gateway-provider': '@main' });
    expect(answer.status).to.equal(200);
    expect(lastPath()).to.equal('/v1/responses');
    expect(provider.requests.at(-1)!.body.toString()).to.equal(body);
  });

  it('logs the usage of a native stream, a long one too', async () => {
    const text = 'Hello '.repeat(8000);
    const stream = client.responses.stream({ model: '@main/gpt-4o-streamed', input: text });
    const final = await stream.finalResponse();
    const log = await eventually('a log row with its usage', async () =>
      (await gateway.admin().logs.list({})).data.find((row) => row.ai_model === 'gpt-4o-streamed'),
    );
    expect(log).to.include({
      req_units: final.usage?.input_tokens,
      res_units: final.usage?.output_tokens,
      response_status_code: 200,
    });
  });

  it('names what needs a provider that keeps answers', async () => {
    for (const [field, value] of [
      ['previous_response_id', 'resp_1'],
      ['conversation', 'conv_1'],
      ['background', true],
    ] as const) {
      const answer = await call('POST', '/v1/responses', {
        model: '@chat/m',
        input: 'x',
        [field]: value,
      });
      const { error } = (await answer.json()) as { error: Stored };
      expect(answer.status, field).to.equal(400);
      expect(error['param']).to.equal(field);
      expect(error['code']).to.equal('unsupported_by_provider');
    }
    const hosted = await thrown(
      client.responses.create({
        model: '@claude/claude-sonnet-4-5',
        input: 'x',
        tools: [{ type: 'web_search' }],
      }),
    );
    expect(hosted).to.be.instanceOf(OpenAI.BadRequestError).with.property('param', 'tools[0].type');
    expect(provider.requests).to.have.length(0);
  });

  it('refuses a bad body by the path of its field', async () => {
    const cases: [unknown, string][] = [
      [{ model: 'm' }, 'input'],
      [{ input: 'x' }, 'model'],
      [{ model: 'm', input: 5 }, 'input'],
      [{ model: 'm', input: [{ role: 'nobody', content: 'x' }] }, 'input[0].role'],
      [
        { model: 'm', input: [{ role: 'user', content: [{ type: 'input_text' }] }] },
        'input[0].content[0].text',
      ],
      [{ model: 'm', input: [{ type: 'function_call', call_id: 'a', name: 'b' }] }, 'input[0].arguments'],
      [{ model: 'm', input: 'x', temperature: 3 }, 'temperature'],
      [{ model: 'm', input: 'x', tools: [{ type: 'function' }] }, 'tools[0].name'],
      [
        { model: 'm', input: 'x', text: { format: { type: 'json_schema', name: 'a' } } },
        'text.format.schema',
      ],
    ];
    for (const [body, path] of cases) {
      const answer = await call('POST', '/v1/responses', body, { 'x-gateway-provider': '@chat' });
      const { error } = (await answer.json()) as { error: Stored };
      expect(answer.status, path).to.equal(400);
      expect(error['param']).to.equal(path);
    }
    expect(provider.requests).to.have.length(0);
  });

  it('passes calls for stored answers on to the provider that stores them, and recognises the others', async () => {
    for (const [method, path] of [
      ['GET', '/v1/responses/resp_1'],
      ['DELETE', '/v1/responses/resp_1'],
      ['POST', '/v1/responses/resp_1/cancel'],
      ['GET', '/v1/responses/resp_1/input_items?limit=2'],
    ] as const) {
      const kept = await call(method, path, undefined, { 'x-gateway-provider': '@main' });
      expect(kept.status, path).to.equal(200);
      expect(lastPath()).to.equal(path);
      const count = provider.requests.length;
      const none = await call(method, path, undefined, { 'x-gateway-provider': '@chat' });
      expect(none.status, path).to.equal(400);
      const { error } = (await none.json()) as { error: Stored };
      expect(error['code']).to.equal('unsupported_by_provider');
      expect(provider.requests).to.have.length(count);
    }
  });

  it('reports what the conversion left out', async () => {
    const answer = await call(
      'POST',
      '/v1/responses',
      { model: '@claude/claude-sonnet-4-5', input: 'x', store: true, text: { verbosity: 'low' } },
      { 'x-gateway-explain': 'true' },
    );
    expect(answer.headers.get('x-gateway-dropped-fields')).to.equal('store, text.verbosity');
  });

  it("sends a second target a request built from the client's own body", async () => {
    const config = {
      strategy: { mode: 'fallback' },
      targets: [
        { virtual_key: 'main', override_params: { model: 'sim-fault:500', store: false } },
        { virtual_key: 'claude', override_params: { model: 'claude-sonnet-4-5' } },
      ],
    };
    const answer = await call(
      'POST',
      '/v1/responses',
      { model: 'm', input: 'Hello' },
      { 'x-gateway-config': JSON.stringify(config) },
    );
    expect(answer.status).to.equal(200);
    expect(((await answer.json()) as { model: string }).model).to.equal('claude-sonnet-4-5');
    expect(seen()).to.not.have.any.keys('input', 'store');
  });
});
