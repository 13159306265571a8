import { expect } from 'chai';
import { GatewayError } from '../../src/common/core/errors.js';
import type { JsonObject } from '../../src/common/core/exchange.js';
import { clientFormats } from '../../src/data-plane/providers/client-formats/index.js';
import { openAiChat } from '../../src/data-plane/providers/formats/openai-chat.js';
import { openAiUsage } from '../../src/data-plane/providers/formats/openai-usage.js';
import { withQuirks } from '../../src/data-plane/providers/quirks.js';
import { providers } from '../../src/data-plane/providers/rows.js';
import { SseReader } from '../../src/data-plane/providers/streams/sse.js';

/** The body that a provider is sent; an unchanged one is the very object. */
const sentTo = (name: string, body: JsonObject): JsonObject =>
  withQuirks(providers.get(name)?.quirks, Object.freeze(body));

/** What a stream of the provider comes to: its chunks, and how it was counted. */
function read(name: string, text: string, includeUsage = true) {
  const stream = openAiChat.stream({ provider: name, strict: true, includeUsage });
  const chunks: JsonObject[] = [];
  const reader = new SseReader((event, data) => chunks.push(...stream.event(event, data)));
  reader.push(Buffer.from(text));
  reader.end();
  return { chunks, stream };
}

const says = (content: string, more: JsonObject = {}): JsonObject => ({
  id: 'c',
  object: 'chat.completion.chunk',
  model: 'm',
  choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }],
  ...more,
});
const messages = [
  { role: 'developer', content: 'Be kind.' },
  { role: 'user', content: 'Hi' },
];

describe('What single providers do otherwise', () => {
  describe('x-ai', () => {
    it('is sent the body as it is: search_parameters and reasoning_effort are its own', () => {
      const body = {
        model: 'grok-4.3',
        messages,
        search_parameters: { mode: 'auto' },
        reasoning_effort: 'low',
      };
      expect(sentTo('x-ai', body)).to.equal(body);
      expect(providers.get('x-ai')?.passHeaders).to.include('x-grok-conv-id');
    });

    it('counts thinking beside the completion, and it is paid for as output', () => {
      const usage = openAiUsage({
        usage: {
          prompt_tokens: 10_120,
          completion_tokens: 1499,
          total_tokens: 14_428,
          prompt_tokens_details: { cached_tokens: 128 },
          completion_tokens_details: { reasoning_tokens: 2809 },
        },
      });
      expect(usage).to.include({ input: 10_120, output: 4308, cached: 128, reasoning: 2809 });
    });

    it('leaves the count alone where thinking is part of the completion, as OpenAI has it', () => {
      for (const total of [600, undefined, 0]) {
        const usage = openAiUsage({
          usage: {
            prompt_tokens: 100,
            completion_tokens: 500,
            total_tokens: total,
            completion_tokens_details: { reasoning_tokens: 200 },
          },
        });
        expect(usage).to.include({ output: 500, reasoning: 200 });
      }
    });

    it('keeps reasoning_content where it is', () => {
      const chunk = says('', { choices: [{ index: 0, delta: { reasoning_content: 'Hm' } }] });
      expect(read('x-ai', `data: ${JSON.stringify(chunk)}\n\n`).chunks).to.deep.equal([chunk]);
    });
  });

  describe('mistral-ai', () => {
    const turn = (a: string, b: string): JsonObject[] => [
      { role: 'user', content: 'Weather and time?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [a, b].map((id) => ({
          id,
          type: 'function',
          function: { name: 'look', arguments: '{}' },
        })),
      },
      ...[b, a].map((id) => ({ role: 'tool', tool_call_id: id, content: 'x' })),
    ];
    const idsOf = ({ messages: sent }: JsonObject): unknown[] =>
      (sent as JsonObject[]).flatMap(({ tool_calls: calls, tool_call_id: id }) =>
        Array.isArray(calls) ? calls.map((call: JsonObject) => call['id']) : (id ?? []),
      );

    it('is sent ids of other providers as nine letters or digits, the same wherever they are', () => {
      const given = ['toolu_01A09q90qw90lq917835lq9', 'call_2'] as const;
      const [a, b, ...results] = idsOf(sentTo('mistral-ai', { messages: turn(...given) }));
      for (const id of [a, b]) expect(id).to.match(/^[a-zA-Z0-9]{9}$/);
      expect(a).to.not.equal(b);
      expect(results).to.deep.equal([b, a]);
      expect(idsOf(sentTo('mistral-ai', { messages: turn(...given) }))).to.deep.equal([a, b, b, a]);
    });

    it('is sent its own ids as they are', () => {
      const body = { messages: turn('D681PevKs', 'oJkXAAbq1') };
      expect(sentTo('mistral-ai', body)).to.equal(body);
    });

    it('is sent files as its own parts', () => {
      const url = 'data:application/pdf;base64,JVBERi0=';
      const text = { type: 'text', text: 'Read.' };
      const stored = { type: 'file', file_id: 'f' };
      const given = [text, { type: 'file', file: { file_data: url, filename: 'a.pdf' } }, stored];
      const body = { messages: [{ role: 'user', content: given }] };
      const sent = [text, { type: 'document_url', document_url: url, document_name: 'a.pdf' }, stored];
      expect(sentTo('mistral-ai', body)).to.deep.equal({ messages: [{ role: 'user', content: sent }] });
    });

    it('is not sent fields that change no answer, which it refuses', () => {
      const body = { messages, user: 'u', service_tier: 'default', safety_identifier: 's', store: false };
      const system = { role: 'system', content: 'Be kind.' };
      expect(sentTo('mistral-ai', body)).to.deep.equal({ messages: [system, messages[1]] });
    });

    it('is not sent the thinking that its answers have beside their text, which it refuses', () => {
      const said = { role: 'assistant', content: 'Yes.' };
      const body = {
        messages: [
          { ...said, reasoning_content: 'Hm.' },
          { role: 'user', content: 'Sure?' },
        ],
      };
      expect(sentTo('mistral-ai', body)).to.deep.equal({ messages: [said, body.messages[1]] });
    });
  });

  describe('openrouter', () => {
    it('is sent its own fields, and who calls under both names of that header', () => {
      const body = {
        model: 'anthropic/claude-sonnet-4.5',
        messages,
        models: ['a', 'b'],
        provider: { order: ['x'] },
        transforms: ['middle-out'],
        reasoning: { effort: 'high', max_tokens: 100 },
        usage: { include: true },
      };
      expect(sentTo('openrouter', body)).to.equal(body);
      expect(providers.get('openrouter')?.passHeaders).to.include.members([
        'http-referer',
        'x-title',
        'x-openrouter-title',
      ]);
      expect(providers.get('openrouter')?.headers).to.equal(undefined);
    });

    it('has comment lines between its events, and cost in its usage', () => {
      const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, cost: 0.00014 };
      const last = { id: 'c', model: 'm', choices: [], usage };
      const { chunks, stream } = read(
        'openrouter',
        `: OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\ndata: ${JSON.stringify(says('Hi'))}\n\n` +
          `data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`,
      );
      expect(chunks).to.deep.equal([says('Hi'), last]);
      expect(stream.done).to.equal(true);
      expect(stream.usage).to.include({ input: 3, output: 2, source: 'provider' });
    });

    it('ends a stream with an error object in a data line', () => {
      const error = { code: 502, message: 'The upstream has gone' };
      const chunk = { ...says(''), error, choices: [{ index: 0, delta: {}, finish_reason: 'error' }] };
      expect(() => read('openrouter', `data: ${JSON.stringify(chunk)}\n\n`)).to.throw(
        GatewayError,
        'The upstream has gone',
      );
    });
  });

  describe('perplexity-ai', () => {
    const repeated = (delta: string, message: string, more: JsonObject = {}): JsonObject => ({
      id: 'p',
      model: 'sonar',
      object: 'chat.completion.chunk',
      citations: ['https://one.example'],
      search_results: [{ title: 'One', url: 'https://one.example' }],
      choices: [
        {
          index: 0,
          delta: { role: 'assistant', content: delta },
          message: { role: 'assistant', content: message },
          finish_reason: null,
        },
      ],
      usage: { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 },
      ...more,
    });
    const stream = [
      `data: ${JSON.stringify(repeated('Hel', 'Hel'))}`,
      ': ping',
      `data: ${JSON.stringify(repeated('lo', 'Hello'))}`,
      `data: ${JSON.stringify(repeated('', 'Hello', { object: 'chat.completion.done' }))}`,
    ].join('\r\n\r\n');

    it('divides events by CRLF and pings in comments', () => {
      const { chunks, stream: reader } = read('perplexity-ai', `${stream}\r\n\r\n`);
      expect(chunks).to.have.length(3);
      expect(reader.usage).to.include({ input: 4, output: 2 });
    });

    it('keeps citations and search_results', () => {
      for (const chunk of read('perplexity-ai', `${stream}\r\n\r\n`).chunks) {
        expect(chunk['citations']).to.deep.equal(['https://one.example']);
        expect(chunk['search_results']).to.have.length(1);
      }
      const whole = { choices: [{ index: 0, message: {} }], citations: ['a'], search_results: [] };
      expect(openAiChat.fromWire(whole, { provider: 'p', strict: true, includeUsage: true })).to.equal(whole);
    });

    it('repeats the text so far in each event, which is sent once in another format', () => {
      const messagesFormat = clientFormats.get('anthropic-messages');
      const writer = messagesFormat?.streamWriter({
        requestId: 'r',
        asked: { model: 'sonar', stream: true },
        body: {},
      });
      const text = read('perplexity-ai', `${stream}\r\n\r\n`)
        .chunks.map((chunk) => writer?.chunk(chunk))
        .join('');
      const texts = [...`${text}${writer?.end()}`.matchAll(/"text_delta","text":"([^"]*)"/g)].map(
        ([, t]) => t,
      );
      expect(texts.join('')).to.equal('Hello');
    });
  });

  describe('fireworks-ai', () => {
    it('is sent the body as it is: the path of a model, and its own fields', () => {
      const body = {
        model: 'accounts/fireworks/models/glm-5',
        messages,
        context_length_exceeded_behavior: 'error',
        raw_output: true,
        thinking: { type: 'enabled' },
      };
      expect(sentTo('fireworks-ai', body)).to.equal(body);
    });

    it('has usage in a chunk without choices, which is for those who asked for it', () => {
      const last = { id: 'c', model: 'm', choices: [], usage: { prompt_tokens: 7, completion_tokens: 1 } };
      const text = `data: ${JSON.stringify(says('Hi'))}\n\ndata: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`;
      for (const asked of [true, false]) {
        const { chunks, stream } = read('fireworks-ai', text, asked);
        expect(chunks).to.deep.equal(asked ? [says('Hi'), last] : [says('Hi')]);
        expect(stream.usage).to.include({ input: 7, output: 1 });
      }
    });
  });

  describe('ollama', () => {
    it('gets the limit and the instructions under the names that it reads', () => {
      expect(sentTo('ollama', { model: 'm', messages, max_completion_tokens: 9 })).to.deep.equal({
        model: 'm',
        messages: [{ role: 'system', content: 'Be kind.' }, messages[1]],
        max_tokens: 9,
      });
      const plain = { model: 'm', messages: [messages[1]], max_tokens: 9 };
      expect(sentTo('ollama', plain)).to.equal(plain);
    });

    it('speaks the API of OpenAI below /v1, embeddings too, with a key only where there is one', () => {
      const { auth, base, paths } = providers.get('ollama') ?? {};
      expect(base).to.match(/\/v1$/);
      expect(paths?.['openai-embeddings']).to.equal('/embeddings');
      expect(auth).to.deep.equal({ kind: 'bearer' });
    });
  });

  for (const name of ['vllm', 'openai-compatible', 'lm-studio']) {
    it(`${name} is sent the body as it is, with whatever its server alone has`, () => {
      const body = {
        model: 'm',
        messages,
        guided_json: { type: 'object' },
        top_k: 5,
        chat_template_kwargs: { enable_thinking: false },
        max_completion_tokens: 9,
      };
      expect(sentTo(name, body)).to.equal(body);
    });
  }
});
