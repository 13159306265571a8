// lane: shared gateway
import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import OpenAI from 'openai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

describe('official SDKs, unchanged but for base URL and key', () => {
  let gateway: SharedGateway;
  let provider: SimulatedProvider;
  let openai: OpenAI;

  before(async function () {
    this.timeout(20_000);
    [gateway, provider] = await Promise.all([shareGateway(), startSimulated({ record: true })]);
    const admin = gateway.admin();
    await admin.providers.create({
      slug: 'main',
      provider: 'openai',
      key: 'sk-sim',
      base_url: `${provider.url}/v1`,
    });
    await admin.providers.create({
      slug: 'claude',
      provider: 'anthropic',
      key: 'sk-ant-sim',
      base_url: `${provider.url}/v1`,
    });
    openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.workspaceKey, maxRetries: 0 });
  });

  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  const hello = [{ role: 'user' as const, content: 'Hello' }];
  const weather = [
    {
      type: 'function' as const,
      function: {
        name: 'get_weather',
        description: 'The weather of a city.',
        parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    },
  ];

  for (const [slug, model] of [
    ['main', 'gpt-4o-mini'],
    ['claude', 'claude-sonnet-4-5'],
  ] as const) {
    describe(`openai, with a provider of format ${slug === 'main' ? 'openai' : 'anthropic'}`, () => {
      it('completes a chat', async () => {
        const answer = await openai.chat.completions.create({ model: `@${slug}/${model}`, messages: hello });
        expect(answer.object).to.equal('chat.completion');
        expect(answer.choices[0]?.message.content).to.include('Hello');
        expect(answer.choices[0]?.finish_reason).to.equal('stop');
        const { prompt_tokens, completion_tokens, total_tokens } = answer.usage ?? {};
        expect(prompt_tokens).to.be.greaterThan(0);
        expect(total_tokens).to.equal((prompt_tokens ?? 0) + (completion_tokens ?? 0));
      });

      it('streams the same text, with usage when asked', async () => {
        const whole = await openai.chat.completions.create({ model: `@${slug}/${model}`, messages: hello });
        const stream = await openai.chat.completions.create({
          model: `@${slug}/${model}`,
          messages: hello,
          stream: true,
          stream_options: { include_usage: true },
        });
        let text = '';
        let finish: string | null = null;
        let usage: OpenAI.CompletionUsage | null | undefined = null;
        for await (const chunk of stream) {
          text += chunk.choices[0]?.delta?.content ?? '';
          finish = chunk.choices[0]?.finish_reason ?? finish;
          if (chunk.usage) {
            usage = chunk.usage;
            expect(chunk.choices).to.deep.equal([]);
          }
        }
        expect(text).to.equal(whole.choices[0]?.message.content);
        expect(finish).to.equal('stop');
        expect(usage?.prompt_tokens).to.equal(whole.usage?.prompt_tokens);
      });

      it('calls a tool and takes its result', async () => {
        const messages: OpenAI.ChatCompletionMessageParam[] = [
          { role: 'user', content: 'Weather in Paris?' },
        ];
        const first = await openai.chat.completions.create({
          model: `@${slug}/${model}`,
          messages,
          tools: weather,
          tool_choice: 'required',
        });
        const call = first.choices[0]?.message.tool_calls?.[0];
        expect(first.choices[0]?.finish_reason).to.equal('tool_calls');
        if (call?.type !== 'function') throw new Error('no function call');
        expect(call.function.name).to.equal('get_weather');
        expect(JSON.parse(call.function.arguments)).to.be.an('object');
        messages.push(first.choices[0]!.message, {
          role: 'tool',
          tool_call_id: call.id,
          content: '{"celsius":21}',
        });
        const second = await openai.chat.completions.create({
          model: `@${slug}/${model}`,
          messages,
          tools: weather,
          tool_choice: 'none',
        });
        expect(second.choices[0]?.message.content).to.be.a('string').and.not.equal('');
      });

      it('streams a tool call whose pieces join to valid JSON', async () => {
        const stream = openai.chat.completions.stream({
          model: `@${slug}/${model}`,
          messages: [{ role: 'user', content: 'Weather in Paris?' }],
          tools: weather,
          tool_choice: 'required',
        });
        const final = await stream.finalChatCompletion();
        const call = final.choices[0]?.message.tool_calls?.[0];
        if (call?.type !== 'function') throw new Error('no function call');
        expect(call.function.name).to.equal('get_weather');
        expect(JSON.parse(call.function.arguments)).to.be.an('object');
      });
    });
  }

  it('openai embeds, in the encoding it asks for by itself', async () => {
    const answer = await openai.embeddings.create({
      model: '@main/text-embedding-3-small',
      input: ['one', 'two'],
    });
    expect(answer.data).to.have.length(2);
    expect(answer.data[0]?.embedding[0]).to.be.a('number');
  });

  it('openai moderates', async () => {
    const answer = await openai.moderations.create({ model: '@main/omni-moderation-latest', input: 'hello' });
    expect(answer.results[0]).to.have.property('flagged');
  });

  it('openai lists the models of a provider named by header', async () => {
    const models = await openai.models.list({ headers: { 'x-gateway-provider': '@main' } });
    expect(models.data.length).to.be.greaterThan(0);
  });

  it('openai throws its own error classes, with a request id that is in the ledger', async () => {
    const refused = await openai.chat.completions.create({ model: '@main/gpt-4o-mini', messages: [] }).then(
      () => null,
      (error: unknown) => error,
    );
    expect(refused).to.be.instanceOf(OpenAI.BadRequestError);
    const stranger = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'gw_ws_nobody', maxRetries: 0 });
    const unknown = await stranger.chat.completions
      .create({ model: '@main/gpt-4o-mini', messages: hello })
      .then(
        () => null,
        (error: unknown) => error,
      );
    expect(unknown).to.be.instanceOf(OpenAI.AuthenticationError);
    const limited = await openai.chat.completions
      .create({ model: '@main/sim-fault:429', messages: hello })
      .then(
        () => null,
        (error: unknown) => error,
      );
    expect(limited).to.be.instanceOf(OpenAI.RateLimitError);
    const id = (limited as InstanceType<typeof OpenAI.RateLimitError>).requestID;
    expect(id).to.match(/^[0-9a-f-]{36}$/);
  });

  it('openai throws when a stream breaks in the middle, rather than taking it for whole', async () => {
    const stream = await openai.chat.completions.create({
      model: '@main/sim-fault:reset-mid-stream',
      messages: hello,
      stream: true,
    });
    let text = '';
    let thrown: unknown = null;
    try {
      for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? '';
    } catch (error) {
      thrown = error;
    }
    expect(text).to.not.equal('');
    expect(thrown).to.be.instanceOf(OpenAI.APIError);
  });

  it('@anthropic-ai/sdk works over passthrough, streamed too', async () => {
    const anthropic = new Anthropic({
      baseURL: gateway.url,
      apiKey: gateway.workspaceKey,
      maxRetries: 0,
      defaultHeaders: { 'x-gateway-provider': '@claude' },
    });
    const answer = await anthropic.messages.create({
      model: 'claude-sonnet-4-5',
      max_tokens: 64,
      messages: hello,
    });
    expect(answer.content[0]).to.have.property('type', 'text');
    const stream = anthropic.messages.stream({ model: 'claude-sonnet-4-5', max_tokens: 64, messages: hello });
    const final = await stream.finalMessage();
    expect(final.content).to.deep.equal(answer.content);
    expect(final.usage.input_tokens).to.equal(answer.usage.input_tokens);
    const refused = await new Anthropic({
      baseURL: gateway.url,
      apiKey: 'gw_ws_nobody',
      maxRetries: 0,
    }).messages
      .create({ model: 'claude-sonnet-4-5', max_tokens: 64, messages: hello })
      .then(
        () => null,
        (error: unknown) => error,
      );
    expect(refused).to.be.instanceOf(Anthropic.AuthenticationError);
  });
});
