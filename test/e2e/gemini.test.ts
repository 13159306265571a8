// lane: shared gateway
import { expect } from 'chai';
import OpenAI from 'openai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

const dot =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const weather: OpenAI.ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
};
const time: OpenAI.ChatCompletionTool = { type: 'function', function: { name: 'get_time' } };

describe('OpenAI’s client and Gemini', () => {
  let gateway: SharedGateway;
  let provider: SimulatedProvider;
  let openai: OpenAI;

  before(async function () {
    this.timeout(20_000);
    [gateway, provider] = await Promise.all([shareGateway(), startSimulated({ record: true })]);
    const admin = gateway.admin();
    const base_url = `${provider.url}/v1beta`;
    await admin.providers.create({ slug: 'gemini', provider: 'google', key: 'AIza-sim', base_url });
    await admin.providers.create({ slug: 'refused', provider: 'google', key: 'sk-invalid', base_url });
    openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.workspaceKey, maxRetries: 0 });
  });

  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  afterEach(() => provider.reset());

  const hello: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hello' }];

  it('completes a chat, with usage that adds up', async () => {
    const answer = await openai.chat.completions.create({
      model: '@gemini/gemini-2.5-flash',
      messages: hello,
    });
    expect(answer.choices[0]?.message.content).to.equal('You said: Hello');
    expect(answer.choices[0]?.finish_reason).to.equal('stop');
    expect(answer.model).to.equal('gemini-2.5-flash');
    const { prompt_tokens = 0, completion_tokens = 0, total_tokens } = answer.usage ?? {};
    expect(prompt_tokens).to.be.greaterThan(0);
    expect(total_tokens).to.equal(prompt_tokens + completion_tokens);
    const [request] = provider.requests;
    expect(request?.path).to.equal('/v1beta/models/gemini-2.5-flash:generateContent');
    expect(request?.headers['x-goog-api-key']).to.equal('AIza-sim');
    expect(request?.headers).to.not.have.property('authorization');
  });

  it('streams the same text, with usage at the end', async () => {
    const stream = await openai.chat.completions.create({
      model: '@gemini/gemini-2.5-flash',
      messages: hello,
      stream: true,
      stream_options: { include_usage: true },
      reasoning_effort: 'low',
    });
    let text = '';
    let finish: string | null = null;
    let usage: OpenAI.CompletionUsage | null | undefined = null;
    const ids = new Set<string>();
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta?.content ?? '';
      finish = chunk.choices[0]?.finish_reason ?? finish;
      usage = chunk.usage ?? usage;
      ids.add(chunk.id);
    }
    expect(text).to.equal('You said: Hello');
    expect(finish).to.equal('stop');
    expect(ids.size).to.equal(1);
    expect(usage?.completion_tokens_details?.reasoning_tokens).to.be.greaterThan(0);
    expect(usage?.total_tokens).to.equal((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0));
    expect(provider.requests[0]?.path).to.equal(
      '/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
    );
  });

  for (const model of ['gemini-2.5-flash', 'gemini-3-pro-preview']) {
    it(`calls tools over two turns, in parallel, with signatures (${model})`, async () => {
      const messages: OpenAI.ChatCompletionMessageParam[] = [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Use get_weather and get_time' },
      ];
      const tools = [weather, time];
      const runner = openai.chat.completions.stream({ model: `@gemini/${model}`, messages, tools });
      const first = (await runner.finalChatCompletion()).choices[0];
      expect(first?.finish_reason).to.equal('tool_calls');
      const calls = (first?.message.tool_calls ?? []) as OpenAI.ChatCompletionMessageFunctionToolCall[];
      expect(calls.map((call) => call.function.name)).to.deep.equal(['get_weather', 'get_time']);
      expect(JSON.parse(calls[0]?.function.arguments ?? '')).to.have.keys('city', 'days');
      expect(JSON.parse(calls[1]?.function.arguments ?? '')).to.deep.equal({});
      expect(new Set(calls.map((call) => call.id)).size).to.equal(2);
      messages.push(first!.message);
      for (const call of calls) messages.push({ role: 'tool', tool_call_id: call.id, content: '21 degrees' });
      const second = await openai.chat.completions.create({ model: `@gemini/${model}`, messages, tools });
      expect(second.choices[0]?.message.content).to.equal('The tool said: 21 degrees21 degrees');
      const sent = JSON.parse(provider.requests[1]?.body.toString() ?? '') as {
        contents: { parts: { thoughtSignature?: string }[] }[];
      };
      expect(sent.contents[1]?.parts[0]?.thoughtSignature).to.equal('c2ltdWxhdGVkIHNpZ25hdHVyZQ==');
    });
  }

  it('answers by a schema', async () => {
    const schema = { type: 'object', properties: { name: { type: 'string' }, n: { type: 'integer' } } };
    const answer = await openai.chat.completions.create({
      model: '@gemini/gemini-2.5-flash',
      messages: hello,
      response_format: { type: 'json_schema', json_schema: { name: 'thing', strict: true, schema } },
    });
    expect(JSON.parse(answer.choices[0]?.message.content ?? '')).to.have.keys('name', 'n');
  });

  it('sends pictures', async () => {
    const answer = await openai.chat.completions.create({
      model: '@gemini/gemini-2.5-flash',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: dot } },
          ],
        },
      ],
    });
    expect(answer.choices[0]?.message.content).to.equal('You said: What is this?');
    expect(provider.requests[0]?.body.toString()).to.include('"inlineData":{"mimeType":"image/png"');
  });

  it('embeds one text and several, as numbers and as base64', async () => {
    const model = '@gemini/gemini-embedding-001';
    const plain = await openai.embeddings.create({
      model,
      input: ['a', 'b', 'a'],
      dimensions: 16,
      encoding_format: 'float',
    });
    expect(plain.data.map(({ index }) => index)).to.deep.equal([0, 1, 2]);
    expect(plain.data[0]?.embedding).to.have.length(16);
    expect(plain.data[0]?.embedding).to.deep.equal(plain.data[2]?.embedding);
    expect(plain.data[0]?.embedding).to.not.deep.equal(plain.data[1]?.embedding);
    const packed = await openai.embeddings.create({ model, input: 'a', dimensions: 16 });
    expect(packed.data[0]?.embedding).to.deep.equal(plain.data[0]?.embedding);
    expect(provider.requests[0]?.path).to.equal('/v1beta/models/gemini-embedding-001:batchEmbedContents');
  });

  it('reports a blocked prompt by its finish reason and a refusal', async () => {
    const answer = await openai.chat.completions.create({
      model: '@gemini/gemini-2.5-flash',
      messages: [{ role: 'user', content: '[blocked]' }],
    });
    expect(answer.choices[0]?.finish_reason).to.equal('content_filter');
    expect(answer.choices[0]?.message.refusal).to.include('PROHIBITED_CONTENT');
  });

  it('gives errors the class that the client has for them', async () => {
    const ask = (model: string): Promise<unknown> =>
      openai.chat.completions.create({ model, messages: hello }).then(
        () => null,
        (error: unknown) => error,
      );
    const refused = (await ask('@refused/gemini-2.5-flash')) as InstanceType<typeof OpenAI.BadRequestError>;
    expect(refused).to.be.instanceOf(OpenAI.BadRequestError);
    expect(refused.message).to.include('google error: API key not valid');
    expect(refused.type).to.equal('INVALID_ARGUMENT');
    expect(await ask('@gemini/sim-fault:429')).to.be.instanceOf(OpenAI.RateLimitError);
    expect(await ask('@gemini/sim-fault:503')).to.be.instanceOf(OpenAI.InternalServerError);
    expect(await ask('@gemini/../../x')).to.be.instanceOf(OpenAI.BadRequestError);
  });

  for (const fault of ['error-event', 'eof-mid-stream', 'reset-mid-stream']) {
    it(`notices a stream that fails on the way (${fault})`, async () => {
      const stream = await openai.chat.completions.create({
        model: `@gemini/sim-fault:${fault}`,
        messages: hello,
        stream: true,
      });
      let failure: unknown = null;
      try {
        for await (const chunk of stream) expect(chunk.choices).to.be.an('array');
      } catch (error) {
        failure = error;
      }
      expect(failure).to.be.instanceOf(OpenAI.APIError);
    });
  }

  describe('on Vertex AI', () => {
    const vertex = (more: Record<string, string> = {}): OpenAI =>
      new OpenAI({
        baseURL: `${gateway.url}/v1`,
        apiKey: 'ya29.token',
        maxRetries: 0,
        defaultHeaders: {
          'x-gateway-api-key': gateway.workspaceKey,
          'x-gateway-provider': 'vertex-ai',
          'x-gateway-custom-host': `${provider.url}/v1`,
          'x-gateway-vertex-project-id': 'a-project',
          'x-gateway-vertex-region': 'europe-west4',
          ...more,
        },
      });
    const under = '/v1/projects/a-project/locations/europe-west4';

    for (const [model, path] of [
      ['gemini-2.5-flash', `${under}/publishers/google/models/gemini-2.5-flash`],
      ['google.gemini-2.5-flash', `${under}/publishers/google/models/gemini-2.5-flash`],
      ['anthropic.claude-sonnet-4-5', `${under}/publishers/anthropic/models/claude-sonnet-4-5`],
      ['meta.llama-4-scout', `${under}/endpoints/openapi/chat/completions`],
      ['endpoints.1234', `${under}/endpoints/1234/chat/completions`],
    ] as const) {
      it(`reaches ${model}, whole and streamed`, async () => {
        const answer = await vertex().chat.completions.create({ model, messages: hello });
        expect(answer.choices[0]?.message.content).to.include('Hello');
        const stream = await vertex().chat.completions.create({ model, messages: hello, stream: true });
        let text = '';
        for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? '';
        expect(text).to.equal(answer.choices[0]?.message.content);
        for (const request of provider.requests) {
          expect(request.path.startsWith(path), request.path).to.equal(true);
          expect(request.headers['authorization']).to.equal('Bearer ya29.token');
        }
      });
    }

    it('embeds', async () => {
      const found = await vertex().embeddings.create({ model: 'text-embedding-005', input: ['a', 'b'] });
      expect(found.data).to.have.length(2);
      expect(found.usage.prompt_tokens).to.equal(2);
      const newer = await vertex().embeddings.create({
        model: 'gemini-embedding-2',
        input: 'a',
        dimensions: 8,
      });
      expect(newer.data[0]?.embedding).to.have.length(8);
      expect(provider.requests[1]?.path).to.equal(
        `${under}/publishers/google/models/gemini-embedding-2:embedContent`,
      );
    });

    it('refuses a region that is none, and an identity that is not the caller’s to use', async () => {
      const ask = (more: Record<string, string>): Promise<unknown> =>
        vertex(more)
          .chat.completions.create({ model: 'gemini-2.5-flash', messages: hello })
          .catch((error: unknown) => error);
      const region = await ask({ 'x-gateway-vertex-region': 'evil.example/' });
      expect(region).to.be.instanceOf(OpenAI.BadRequestError);
      expect((region as { param: string }).param).to.equal('vertex_region');
      const identity = await ask({ 'x-gateway-vertex-auth-type': 'workloadIdentity' });
      expect((identity as { param: string }).param).to.equal('vertex_auth_type');
      expect(provider.requests).to.have.length(0);
    });
  });
});
