// lane: shared gateway
import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import OpenAI from 'openai';
import { type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { type SharedGateway, shareGateway } from '../support/shared-gateway.js';

const signed = { call: 'c2ltdWxhdGVkIHNpZ25hdHVyZQ==', text: 'c2lnbmVkIHRleHQ=' };
const model = '@gemini/gemini-3-pro-preview';
const schema = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] };
const names = ['get_weather', 'get_time'];
const question = 'Use get_weather and get_time';

interface Part {
  readonly text?: string;
  readonly thought?: boolean;
  readonly thoughtSignature?: string;
  readonly functionCall?: object;
}

describe('Thought signatures of Gemini', () => {
  let gateway: SharedGateway;
  let provider: SimulatedProvider;
  let openai: OpenAI;
  let anthropic: Anthropic;

  before(async function () {
    this.timeout(20_000);
    [gateway, provider] = await Promise.all([shareGateway(), startSimulated({ record: true })]);
    const base_url = `${provider.url}/v1beta`;
    await gateway.admin().providers.create({ slug: 'gemini', provider: 'google', key: 'AIza-sim', base_url });
    const apiKey = gateway.workspaceKey;
    openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
    anthropic = new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 });
  });
  after(async () => {
    await gateway?.stop();
    await provider?.close();
  });
  afterEach(() => provider.reset());

  /** The parts of the model in the last request. */
  const sentParts = (): Part[] => {
    const body = JSON.parse(provider.requests.at(-1)?.body.toString() ?? '') as {
      contents: { role: string; parts: Part[] }[];
    };
    return body.contents.filter(({ role }) => role === 'model').flatMap(({ parts }) => parts);
  };
  const callSignatures = (): unknown[] =>
    sentParts()
      .filter((part) => part.functionCall !== undefined)
      .map((part) => part.thoughtSignature);

  for (const streaming of [false, true]) {
    const how = streaming ? 'in a stream' : 'in a whole answer';

    it(`of calls reach Anthropic’s client and come back ${how}`, async () => {
      const params = {
        model,
        max_tokens: 4000,
        tools: names.map((name) => ({ name, input_schema: schema })),
        messages: [{ role: 'user', content: question }] as Anthropic.MessageParam[],
      };
      const first = streaming
        ? await anthropic.messages.stream(params).finalMessage()
        : await anthropic.messages.create(params);
      expect(first.content.map(({ type }) => type)).to.deep.equal(['thinking', 'tool_use', 'tool_use']);
      params.messages.push({ role: 'assistant', content: first.content });
      const results = first.content.flatMap((block) =>
        block.type === 'tool_use'
          ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: '21' }]
          : [],
      );
      params.messages.push({ role: 'user', content: results });
      const { data: second, response } = await anthropic.messages
        .create(params, { headers: { 'x-gateway-explain': 'true' } })
        .withResponse();
      expect(second.content.map(({ type }) => type)).to.deep.equal(['text']);
      expect(callSignatures()).to.deep.equal([signed.call, undefined]);
      expect(response.headers.get('x-gateway-dropped-fields')).to.equal(null);
    });

    it(`of texts reach a thinking client of Anthropic’s and come back ${how}`, async () => {
      const params = {
        model,
        max_tokens: 4000,
        thinking: { type: 'enabled' as const, budget_tokens: 2000 },
        messages: [{ role: 'user', content: 'Hello' }] as Anthropic.MessageParam[],
      };
      const first = streaming
        ? await anthropic.messages.stream(params).finalMessage()
        : await anthropic.messages.create(params);
      expect(first.content.map(({ type }) => type)).to.deep.equal(['thinking', 'text', 'thinking']);
      params.messages.push({ role: 'assistant', content: first.content }, { role: 'user', content: 'More' });
      await anthropic.messages.create(params);
      expect(sentParts()).to.deep.equal([{ text: 'You said: Hello', thoughtSignature: signed.text }]);
    });

    it(`of calls reach clients of the Responses API and come back ${how}`, async () => {
      const params = {
        model,
        store: false,
        include: ['reasoning.encrypted_content' as const],
        tools: names.map((name) => ({ type: 'function' as const, name, parameters: schema, strict: false })),
        input: [{ role: 'user', content: question }] as OpenAI.Responses.ResponseInputItem[],
      };
      const first = streaming
        ? await openai.responses.stream(params).finalResponse()
        : await openai.responses.create(params);
      expect(first.output.map(({ type }) => type)).to.deep.equal([
        'reasoning',
        'function_call',
        'function_call',
      ]);
      params.input.push(...(first.output as OpenAI.Responses.ResponseInputItem[]));
      for (const item of first.output) {
        if (item.type === 'function_call')
          params.input.push({ type: 'function_call_output', call_id: item.call_id, output: '21' });
      }
      await openai.responses.create(params);
      expect(callSignatures()).to.deep.equal([signed.call, undefined]);
    });

    it(`of texts reach chat clients and come back ${how}`, async () => {
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hello' }];
      const completion = streaming
        ? await openai.chat.completions.stream({ model, messages }).finalChatCompletion()
        : await openai.chat.completions.create({ model, messages });
      const message = completion.choices[0]!.message;
      expect(message).to.deep.include({ extra_content: { google: { thought_signature: signed.text } } });
      messages.push(message, { role: 'user', content: 'More' });
      await openai.chat.completions.create({ model, messages });
      expect(sentParts()).to.deep.equal([{ text: 'You said: Hello', thoughtSignature: signed.text }]);
    });
  }
});
