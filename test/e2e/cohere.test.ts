// lane: shared gateway
import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import OpenAI from 'openai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { eventually } from '../support/gateway.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

const model = 'command-a-03-2025';

describe('Cohere as a provider', () => {
  let gateway: SharedGateway;
  let cohere: SimulatedProvider;
  let openai: OpenAI;
  let anthropic: Anthropic;

  before(async function () {
    this.timeout(30_000);
    [gateway, cohere] = await Promise.all([shareGateway(), startSimulated({ record: true })]);
    const api = gateway.admin();
    await api.providers.create({
      slug: 'co',
      provider: 'cohere',
      base_url: `${cohere.url}/v2`,
      key: 'co-key',
    });
    await api.providers.create({ slug: 'jina', provider: 'jina', base_url: `${cohere.url}/v1`, key: 'j' });
    await api.providers.create({
      slug: 'voyage',
      provider: 'voyage',
      base_url: `${cohere.url}/v1`,
      key: 'v',
    });
    const defaultHeaders = { 'x-gateway-provider': '@co' };
    const apiKey = gateway.workspaceKey;
    openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0, defaultHeaders });
    anthropic = new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0, defaultHeaders });
  });
  beforeEach(() => cohere.reset());
  after(async () => {
    await gateway?.stop();
    await cohere?.close();
  });

  const hello = [{ role: 'user' as const, content: 'Hello' }];
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const both = ['get_weather', 'get_time'].map((name) => ({
    type: 'function' as const,
    function: { name, parameters },
  }));
  const sent = (): Record<string, unknown> => JSON.parse(String(cohere.requests.at(-1)?.body));

  it('completes a chat whose usage adds up', async () => {
    const answer = await openai.chat.completions.create({ model, messages: hello, top_p: 1, stop: 'END' });
    expect(answer.choices[0]?.message.content).to.equal('You said: Hello');
    expect(answer.choices[0]?.finish_reason).to.equal('stop');
    expect(answer.model).to.equal(model);
    const {
      prompt_tokens: input = 0,
      completion_tokens: output = 0,
      total_tokens: total,
    } = answer.usage ?? {};
    expect(total).to.equal(input + output);
    expect(cohere.requests[0]?.path).to.equal('/v2/chat');
    expect(cohere.requests[0]?.headers['authorization']).to.equal('Bearer co-key');
    expect(sent()).to.deep.equal({ model, messages: hello, p: 0.99, stop_sequences: ['END'] });
  });

  it('streams the same text, with usage when asked', async () => {
    const stream = await openai.chat.completions.create({
      model,
      messages: hello,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    let usage: OpenAI.CompletionUsage | null = null;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      usage = chunk.usage ?? usage;
    }
    expect(text).to.equal('You said: Hello');
    expect(usage?.total_tokens).to.be.above(0);
  });

  it('calls tools over two turns, in parallel', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'user', content: 'Use get_weather and get_time for Rome' },
    ];
    const first = await openai.chat.completions.create({ model, messages, tools: both });
    const [choice] = first.choices;
    expect(choice?.finish_reason).to.equal('tool_calls');
    expect(choice?.message.tool_calls).to.have.length(2);
    messages.push(choice!.message);
    for (const { id } of choice?.message.tool_calls ?? [])
      messages.push({ role: 'tool', tool_call_id: id, content: 'sunny' });
    const second = await openai.chat.completions.create({ model, messages, tools: both });
    expect(second.choices[0]?.message.content).to.equal('The tool said: sunny');
    const turn = (sent()['messages'] as Record<string, unknown>[])[1];
    expect(turn?.['tool_plan']).to.equal('I will use a tool.');
  });

  it('streams tool calls whose pieces are the arguments of the plain answer', async () => {
    const messages = [{ role: 'user' as const, content: 'Use get_weather and get_time for Rome' }];
    const asked = { model, messages, tools: both };
    const plain = await openai.chat.completions.create(asked);
    const streamed = await openai.chat.completions.stream(asked).finalChatCompletion();
    const argumentsOf = (answer: OpenAI.ChatCompletion) =>
      answer.choices[0]?.message.tool_calls?.map(
        (call) => call.type === 'function' && call.function.arguments,
      );
    expect(argumentsOf(streamed)).to.deep.equal(argumentsOf(plain)).and.have.length(2);
  });

  it('answers by a schema', async () => {
    const schema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] };
    const answer = await openai.chat.completions.create({
      model,
      messages: hello,
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
    });
    expect(JSON.parse(answer.choices[0]?.message.content ?? '')).to.deep.equal({ answer: 'You said: Hello' });
  });

  it('embeds several texts, as floats and as the client packs them', async () => {
    const packed = await openai.embeddings.create({
      model: 'embed-v4.0',
      input: ['a', 'b'],
      dimensions: 256,
    });
    expect(packed.data).to.have.length(2);
    expect(packed.data[1]?.embedding).to.have.length(256);
    const plain = await openai.embeddings.create({
      model: 'embed-v4.0',
      input: ['a', 'b'],
      dimensions: 256,
      encoding_format: 'float',
    });
    expect(plain.data[1]?.embedding[7]).to.be.closeTo(packed.data[1]?.embedding[7] ?? 9, 1e-6);
    expect(plain.usage.total_tokens).to.be.above(0);
  });

  it('errors are of the client’s own classes, and a stream that breaks is noticed', async () => {
    cohere.fault('/v2/chat', '429=7');
    const limited = await openai.chat.completions.create({ model, messages: hello }).catch((error) => error);
    expect(limited).to.be.instanceOf(OpenAI.RateLimitError);
    expect(limited.message).to.include('Trial key');
    expect(limited.headers.get('retry-after')).to.equal('7');
    for (const fault of ['error-event', 'eof-mid-stream']) {
      cohere.fault('/v2/chat', fault);
      const stream = await openai.chat.completions.create({ model, messages: hello, stream: true });
      const broken = await (async () => {
        for await (const _ of stream);
      })().catch((error: unknown) => error);
      expect(broken, fault).to.be.instanceOf(OpenAI.APIError);
    }
  });

  it('refuses unsupported parameters by name, and logs what was left out', async () => {
    const refused = await openai.chat.completions
      .create({ model, messages: hello, n: 2 })
      .catch((error) => error);
    expect(refused).to.be.instanceOf(OpenAI.BadRequestError);
    expect(refused.param).to.equal('n');
    const { response } = await openai.chat.completions
      .create(
        { model, messages: hello, user: 'ann', logit_bias: { '1': 1 } },
        { headers: { 'x-gateway-explain': 'true' } },
      )
      .withResponse();
    expect(sent()).to.deep.equal({ model, messages: hello });
    expect(response.headers.get('x-gateway-dropped-fields')).to.equal('user, logit_bias');
  });

  it('answers a client of Anthropic’s, whole and streamed, with tools', async () => {
    const asked = { model, max_tokens: 100, messages: hello };
    const whole = await anthropic.messages.create(asked);
    expect(whole.content).to.deep.equal([{ type: 'text', text: 'You said: Hello' }]);
    expect(whole.stop_reason).to.equal('end_turn');
    const streamed = await anthropic.messages.stream(asked).finalMessage();
    expect(streamed.content).to.deep.equal(whole.content);
    const used = await anthropic.messages
      .stream({
        ...asked,
        messages: [{ role: 'user', content: 'Use get_weather for Rome' }],
        tools: [{ name: 'get_weather', input_schema: { type: 'object', properties: parameters.properties } }],
      })
      .finalMessage();
    expect(used.stop_reason).to.equal('tool_use');
    expect(used.content.at(-1)).to.include({ type: 'tool_use', name: 'get_weather' });
  });

  describe('reranking', () => {
    const rerank = async (provider: string, body: object): Promise<[number, Record<string, unknown>]> => {
      const response = await fetch(`${gateway.url}/v1/rerank`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-gateway-api-key': gateway.workspaceKey,
          'x-gateway-provider': provider,
        },
        body: JSON.stringify(body),
      });
      return [response.status, (await response.json()) as Record<string, unknown>];
    };
    const question = {
      query: 'capital of France',
      documents: ['Berlin is in Germany', { text: 'Paris is the capital of France' }],
      top_n: 1,
      return_documents: true,
    };

    for (const [provider, name] of [
      ['@co', 'rerank-v3.5'],
      ['@jina', 'jina-reranker-v2'],
      ['@voyage', 'rerank-2.5'],
    ] as const) {
      it(`of ${provider} comes in one shape`, async () => {
        const [status, answer] = await rerank(provider, { model: name, ...question });
        expect(status, JSON.stringify(answer)).to.equal(200);
        expect(answer).to.include({
          object: 'list',
          model: name,
          provider: provider.replace('@co', '@cohere').slice(1),
        });
        expect(answer['results']).to.deep.equal([
          { index: 1, relevance_score: 1, document: { text: 'Paris is the capital of France' } },
        ]);
        expect(answer['usage']).to.be.an('object').and.not.deep.equal({});
      });
    }

    it('is refused by the field at fault, and where a provider has none', async () => {
      const [status, answer] = await rerank('@co', { model: 'm', query: 'q', documents: [] });
      expect(status).to.equal(400);
      expect(answer['error']).to.include({ param: 'documents' });
      expect((await rerank('@co', { model: 'm', query: 'q', documents: ['a'], top_n: 0 }))[0]).to.equal(400);
      const [none, told] = await rerank('@none', { model: 'm', ...question });
      expect(none).to.equal(400);
      expect(told['error']).to.include({ code: 'unknown_provider' });
    });

    it('is in the log', async () => {
      await rerank('@co', { model: 'rerank-v3.5', ...question });
      await eventually('a logged rerank', async () => {
        const { data } = await gateway.admin().api.logs.listLogs({});
        return data.some((record) => JSON.stringify(record).includes('"rerank"'));
      });
    });
  });
});
