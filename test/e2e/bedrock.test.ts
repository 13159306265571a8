// lane: shared gateway
import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import OpenAI from 'openai';
import { awsKeys } from '../../src/simulated/aws/aws-auth.js';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

const model = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const encoded = '/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0';

describe('Amazon Bedrock as a provider', () => {
  let gateway: SharedGateway;
  let aws: SimulatedProvider;
  let openai: OpenAI;
  let anthropic: Anthropic;

  before(async function () {
    this.timeout(30_000);
    [gateway, aws] = await Promise.all([shareGateway(), startSimulated({ record: true })]);
    await gateway.admin().providers.create({
      slug: 'aws',
      provider: 'bedrock',
      base_url: aws.url,
      aws_auth_type: 'accessKey',
      aws_region: 'eu-central-1',
      aws_access_key_id: awsKeys.accessKeyId,
      aws_secret_access_key: awsKeys.secretAccessKey,
    });
    const defaultHeaders = { 'x-gateway-provider': '@aws' };
    const apiKey = gateway.workspaceKey;
    openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0, defaultHeaders });
    anthropic = new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0, defaultHeaders });
  });
  beforeEach(() => aws.reset());
  after(async () => {
    await gateway?.stop();
    await aws?.close();
  });

  const hello = [{ role: 'user' as const, content: 'Hello' }];
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const weather = [{ type: 'function' as const, function: { name: 'get_weather', parameters } }];
  const both = [...weather, { type: 'function' as const, function: { name: 'get_time', parameters } }];

  describe('for the openai client', () => {
    it('completes a chat, signed, under the id that AWS gave', async () => {
      const { data, response } = await openai.chat.completions
        .create({ model, messages: hello })
        .withResponse();
      expect(data.choices[0]?.message.content).to.equal('You said: Hello');
      expect(data.choices[0]?.finish_reason).to.equal('stop');
      expect(data.model).to.equal(model);
      expect(data.id).to.equal(response.headers.get('x-amzn-requestid'));
      const { prompt_tokens: input = 0, completion_tokens: output, total_tokens: total } = data.usage ?? {};
      expect(total)
        .to.equal(input + (output ?? 0))
        .and.to.be.above(0);
      const [sent] = aws.requests;
      expect(sent?.path).to.equal(`${encoded}/converse`);
      expect(sent?.headers['authorization'])
        .to.include(`Credential=${awsKeys.accessKeyId}/`)
        .and.include('eu-central-1/bedrock');
      expect(JSON.stringify(sent?.headers)).to.not.include(gateway.workspaceKey);
    });

    it('streams the same text, with usage when asked', async () => {
      const stream = await openai.chat.completions.create({
        model,
        messages: hello,
        stream: true,
        stream_options: { include_usage: true },
      });
      const ids = new Set<string>();
      let text = '';
      let finish: string | null = null;
      let usage: OpenAI.CompletionUsage | null = null;
      for await (const chunk of stream) {
        ids.add(chunk.id);
        text += chunk.choices[0]?.delta.content ?? '';
        finish = chunk.choices[0]?.finish_reason ?? finish;
        usage = chunk.usage ?? usage;
      }
      expect(text).to.equal('You said: Hello');
      expect(finish).to.equal('stop');
      expect(usage?.total_tokens).to.be.above(0);
      expect(ids.size).to.equal(1);
      expect(aws.requests[0]?.path).to.equal(`${encoded}/converse-stream`);
    });

    it('calls tools over two turns, in parallel', async () => {
      const messages: OpenAI.ChatCompletionMessageParam[] = [
        { role: 'user', content: 'Use get_weather and get_time for Rome' },
      ];
      const first = await openai.chat.completions.create({ model, messages, tools: both });
      const calls = first.choices[0]?.message.tool_calls ?? [];
      expect(first.choices[0]?.finish_reason).to.equal('tool_calls');
      expect(calls).to.have.length(2);
      messages.push(first.choices[0]!.message);
      for (const { id } of calls)
        messages.push({ role: 'tool', tool_call_id: id, content: `result of ${id}` });
      const second = await openai.chat.completions.create({ model, messages, tools: both });
      for (const { id } of calls) expect(second.choices[0]?.message.content).to.include(`result of ${id}`);
    });

    it('streams tool calls whose pieces are the arguments of the plain answer', async () => {
      const messages = [{ role: 'user' as const, content: 'Use get_weather and get_time for Rome' }];
      const plain = await openai.chat.completions.create({ model, messages, tools: both });
      const streamed = await openai.chat.completions
        .stream({ model, messages, tools: both })
        .finalChatCompletion();
      const argumentsOf = (answer: OpenAI.ChatCompletion) =>
        answer.choices[0]?.message.tool_calls?.map(
          (call) => call.type === 'function' && call.function.arguments,
        );
      expect(argumentsOf(streamed)).to.deep.equal(argumentsOf(plain)).and.have.length(2);
    });

    it('answers by a schema, and sees an image', async () => {
      const schema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] };
      const answer = await openai.chat.completions.create({
        model,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is it?' },
              { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
            ],
          },
        ],
        response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
      });
      expect(JSON.parse(answer.choices[0]?.message.content ?? '')).to.deep.equal({
        answer: 'You said: What is it? (with 1 image)',
      });
    });

    it('embeds with Titan and Cohere', async () => {
      const titan = await openai.embeddings.create({ model: 'amazon.titan-embed-text-v2:0', input: 'one' });
      const cohere = await openai.embeddings.create({
        model: 'cohere.embed-multilingual-v3',
        input: ['one', 'two'],
        encoding_format: 'float',
      });
      expect(cohere.data).to.have.length(2);
      expect(titan.data[0]?.embedding[0]).to.be.closeTo(cohere.data[0]?.embedding[0] as number, 1e-6);
      expect(titan.usage.prompt_tokens).to.equal(1);
      expect(cohere.usage.total_tokens).to.equal(2);
    });

    it("raises the client's own class of error, with the exception's name", async () => {
      for (const [status, Class, code] of [
        [400, OpenAI.BadRequestError, 'ValidationException'],
        [403, OpenAI.PermissionDeniedError, 'AccessDeniedException'],
        [404, OpenAI.NotFoundError, 'ResourceNotFoundException'],
        [429, OpenAI.RateLimitError, 'ThrottlingException'],
        [500, OpenAI.InternalServerError, 'InternalServerException'],
      ] as const) {
        aws.fault('*', String(status));
        const error = await openai.chat.completions
          .create({ model, messages: hello })
          .catch((thrown) => thrown);
        expect(error, String(status)).to.be.instanceOf(Class);
        expect(error.code).to.equal(code);
      }
    });

    it('notices a stream that fails midway, by an exception or without its end', async () => {
      for (const [fault, words] of [
        ['error-event', 'throttlingException'],
        ['eof-mid-stream', 'ended its stream'],
        ['reset-mid-stream', ''],
      ] as const) {
        aws.fault('*', fault);
        const thrown = await (async () => {
          const stream = await openai.chat.completions.create({ model, messages: hello, stream: true });
          for await (const _ of stream);
          return null;
        })().catch((error: Error) => error);
        expect(thrown, fault).to.be.instanceOf(OpenAI.APIError);
        expect(thrown?.message, fault).to.include(words);
      }
    });

    it('reports dropped parameters on demand', async () => {
      const { response } = await openai.chat.completions
        .create(
          { model, messages: hello, seed: 1, logit_bias: {} },
          { headers: { 'x-gateway-explain': 'true' } },
        )
        .withResponse();
      expect([...response.headers.values()].join(' '))
        .to.include('seed')
        .and.include('logit_bias');
    });
  });

  describe('with credentials of the caller', () => {
    const call = (headers: Record<string, string>) =>
      new OpenAI({
        baseURL: `${gateway.url}/v1`,
        apiKey: 'ABSK-simulated',
        maxRetries: 0,
        defaultHeaders: {
          'x-gateway-api-key': gateway.workspaceKey,
          'x-gateway-provider': 'bedrock',
          'x-gateway-custom-host': aws.url,
          'x-gateway-aws-region': 'us-east-1',
          ...headers,
        },
      }).chat.completions.create({ model, messages: hello });

    it('passes an API key on as a bearer', async () => {
      expect((await call({})).choices[0]?.message.content).to.equal('You said: Hello');
      expect(aws.requests[0]?.headers['authorization']).to.equal('Bearer ABSK-simulated');
    });

    it('signs with the keys of its headers, which go no further', async () => {
      await call({
        'x-gateway-aws-access-key-id': awsKeys.accessKeyId,
        'x-gateway-aws-secret-access-key': awsKeys.secretAccessKey,
      });
      const [sent] = aws.requests;
      expect(sent?.headers['authorization']).to.match(/^AWS4-HMAC-SHA256 /);
      expect(JSON.stringify(sent?.headers)).to.not.include(awsKeys.secretAccessKey);
    });

    it("passes on AWS's error for a wrong secret", async () => {
      const error = await call({
        'x-gateway-aws-access-key-id': awsKeys.accessKeyId,
        'x-gateway-aws-secret-access-key': 'wrong',
      }).catch((thrown) => thrown);
      expect(error).to.be.instanceOf(OpenAI.PermissionDeniedError);
      expect(error.code).to.equal('InvalidSignatureException');
    });

    it('refuses a region that would lead elsewhere', async () => {
      const error = await call({ 'x-gateway-aws-region': 'x.example.com' }).catch((thrown) => thrown);
      expect(error).to.be.instanceOf(OpenAI.BadRequestError);
      expect(error.param).to.equal('aws_region');
      expect(aws.requests).to.have.length(0);
    });
  });

  describe('for the Anthropic client', () => {
    const ask = { model, max_tokens: 2000, messages: hello };

    it('answers a message, and streams it with its thinking', async () => {
      const message = await anthropic.messages.create(ask);
      expect(message.content).to.deep.equal([{ type: 'text', text: 'You said: Hello' }]);
      expect(message.stop_reason).to.equal('end_turn');
      const streamed = await anthropic.messages
        .stream({ ...ask, thinking: { type: 'enabled', budget_tokens: 1024 } })
        .finalMessage();
      expect(streamed.content.map(({ type }) => type)).to.deep.equal(['thinking', 'text']);
      expect(streamed.content[0]).to.include({ signature: 'c2ltdWxhdGVk' });
      expect(streamed.usage.output_tokens).to.be.above(0);
    });

    it('calls a tool over two turns, thinking kept', async () => {
      const tools = [{ name: 'get_weather', input_schema: { ...parameters, type: 'object' as const } }];
      const question = { role: 'user' as const, content: 'Use get_weather for Rome' };
      const thinking = { type: 'enabled' as const, budget_tokens: 1024 };
      const first = await anthropic.messages
        .stream({ ...ask, thinking, tools, messages: [question] })
        .finalMessage();
      expect(first.stop_reason).to.equal('tool_use');
      const call = first.content.find((block) => block.type === 'tool_use');
      if (call === undefined) throw new Error('no call');
      const second = await anthropic.messages.create({
        ...ask,
        thinking,
        tools,
        messages: [
          question,
          { role: 'assistant', content: first.content },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: '21 degrees' }] },
        ],
      });
      expect(second.content.at(-1)).to.include({ text: 'The tool said: 21 degrees' });
      const sent = JSON.parse(String(aws.requests[1]?.body)) as { messages: { content: object[] }[] };
      expect(sent.messages[1]?.content.map((block) => Object.keys(block)[0])).to.deep.equal([
        'reasoningContent',
        'toolUse',
      ]);
    });

    it('raises its own errors, also midway', async () => {
      aws.fault('*', '429');
      expect(await anthropic.messages.create(ask).catch((thrown) => thrown)).to.be.instanceOf(
        Anthropic.RateLimitError,
      );
      aws.fault('*', 'error-event');
      const error = await anthropic.messages
        .stream(ask)
        .finalMessage()
        .catch((thrown) => thrown);
      expect(error).to.be.instanceOf(Anthropic.APIError);
    });
  });

  it('lets a passed-through call of Converse itself through, signed', async () => {
    const reply = await fetch(`${gateway.url}/v1/model/${encodeURIComponent(model)}/converse`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': gateway.workspaceKey,
        'x-gateway-provider': '@aws',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ messages: [{ role: 'user', content: [{ text: 'Hi' }] }] }),
    });
    expect(reply.status).to.equal(200);
    expect(await reply.text()).to.include('You said: Hi');
  });
});
