import { expect } from 'chai';
import fc from 'fast-check';
import { GatewayError } from '../../src/common/core/errors.js';
import type { JsonObject } from '../../src/common/core/exchange.js';
import { parseJson, stringifyJson } from '../../src/common/json/json.js';
import { anthropicMessages } from '../../src/data-plane/providers/formats/anthropic-messages.js';
import { claudeTraits } from '../../src/data-plane/providers/formats/claude-models.js';
import { InnerJson } from '../../src/data-plane/providers/inner-json.js';
import type { ConversionContext } from '../../src/data-plane/providers/provider.js';
import { SseReader } from '../../src/data-plane/providers/streams/sse.js';
import { countTokens, type SimulatedProvider, startSimulated } from '../../src/simulated/index.js';
import { examples } from '../support/long-forms.js';

const context: ConversionContext = { provider: 'anthropic', strict: true, includeUsage: true };

/** Whatever is thrown but a GatewayError is a mistake of ours. */
function onlyRefuses(convert: () => unknown): void {
  try {
    convert();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
  }
}

const fields = [
  'messages',
  'role',
  'content',
  'type',
  'text',
  'tool_calls',
  'function',
  'name',
  'arguments',
  'id',
  'tool_call_id',
  'image_url',
  'url',
  'file',
  'file_data',
  'tools',
  'tool_choice',
  'response_format',
  'json_schema',
  'schema',
  'stop',
  'thinking',
  'budget_tokens',
  'reasoning_effort',
  'max_tokens',
  'user',
  'metadata',
  'content_blocks',
  'functions',
  'function_call',
  'parameters',
  'allowed_tools',
  'index',
  'delta',
  'content_block',
  'message',
  'usage',
  'input',
  'error',
  'input_tokens',
  'output_tokens',
  'stop_reason',
  'partial_json',
  '__proto__',
  'constructor',
] as const;
const words = fc.constantFrom(
  'user',
  'assistant',
  'tool',
  'system',
  'text',
  'function',
  'image_url',
  'file',
  'json_schema',
  'enabled',
  'high',
  'data:',
  'data:image/png;base64,AA',
  'https://x',
  '{}',
  '{"a":1',
  'tool_use',
  'thinking',
  'text_delta',
  'input_json_delta',
  'message_start',
  'content_block_start',
  'content_block_delta',
  'message_delta',
  'required',
  '',
);
const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.oneof(words, fc.constantFrom(null, true, 0, -1, 1e308, 2048)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(fc.constantFrom(...fields), tie('value')), { maxLength: 6 }).map((entries) => {
      // As a parser makes it: `__proto__` is a key like another.
      const text = entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',');
      return JSON.parse(`{${text}}`) as unknown;
    }),
  ),
}));
const anyObject = fc.dictionary(fc.constantFrom(...fields), anyValue, { noNullPrototype: true });

describe('The Anthropic format', () => {
  it('refuses with a GatewayError or converts, whatever the request', () => {
    fc.assert(
      fc.property(anyObject, fc.array(anyObject, { minLength: 1, maxLength: 3 }), (request, messages) => {
        onlyRefuses(() =>
          anthropicMessages.toWire({ model: 'claude-opus-4-5', ...request, messages }, new InnerJson()),
        );
        onlyRefuses(() => anthropicMessages.toWire(request, new InnerJson()));
      }),
      { numRuns: examples(2000) },
    );
  });

  it('refuses with a GatewayError or converts, whatever the answer', () => {
    fc.assert(
      fc.property(anyObject, fc.array(anyValue, { maxLength: 4 }), fc.integer(), (body, content, status) => {
        onlyRefuses(() => anthropicMessages.fromWire({ ...body, content }, context));
        onlyRefuses(() => anthropicMessages.usage(body));
        onlyRefuses(() => anthropicMessages.errorFromWire(status, body, context));
      }),
      { numRuns: examples(1000) },
    );
  });

  it('refuses with a GatewayError or converts, whatever the events, and its figures stay numbers', () => {
    const kinds = fc.constantFrom(
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
      'error',
      'x',
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(kinds, anyObject), { maxLength: 8 }), fc.boolean(), (events, strict) => {
        const stream = anthropicMessages.stream({ ...context, strict });
        for (const [type, event] of events)
          onlyRefuses(() => stream.event(type, JSON.stringify({ ...event, type })));
        for (const figure of [stream.usage.input, stream.usage.output]) expect(figure).to.be.at.least(0);
      }),
      { numRuns: examples(1000) },
    );
  });

  it('recognises models by the version anywhere in their name', () => {
    const max = (model: string): number => claudeTraits(model).defaultMaxTokens;
    expect(max('claude-3-opus-20240229')).to.equal(4096);
    expect(max('claude-3-5-haiku-latest')).to.equal(8192);
    expect(max('claude-3-7-sonnet-20250219')).to.equal(32_000);
    expect(max('claude-sonnet-4-20250514')).to.equal(32_000);
    expect(claudeTraits('claude-sonnet-4-20250514')).to.include({ structuredOutput: false, effort: false });
    expect(claudeTraits('claude-opus-4-1')).to.include({
      structuredOutput: true,
      temperatureWithTopP: false,
    });
    expect(claudeTraits('claude-opus-4-5-20251101')).to.include({ budgetThinking: true, effort: false });
    expect(claudeTraits('claude-opus-4-6')).to.include({ budgetThinking: true, effort: true, xhigh: false });
    expect(claudeTraits('anthropic/claude-opus-4.7')).to.include({ sampling: false, budgetThinking: false });
    expect(claudeTraits('claude-haiku-5-5')).to.include({ sampling: false, thinksByDefault: true });
    expect(max('some-alias')).to.equal(4096);
  });

  describe('against the simulated provider', () => {
    let provider: SimulatedProvider;
    before(async () => {
      provider = await startSimulated();
    });
    after(() => provider.close());

    const post = async (body: JsonObject): Promise<Response> => {
      const headers = {
        'x-api-key': 'k',
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
      };
      return fetch(`${provider.url}/v1/messages`, { method: 'POST', headers, body: stringifyJson(body) });
    };

    const tool = {
      type: 'function',
      function: { name: 'look_up', parameters: { type: 'object', properties: { q: { type: 'string' } } } },
    };
    const requests: Record<string, JsonObject> = {
      'a plain question': {},
      'with everything that OpenAI has': {
        max_completion_tokens: 50,
        temperature: 1.7,
        top_p: 0.5,
        stop: 'never',
        seed: 1,
        frequency_penalty: 1,
        user: 'u',
        stream_options: { include_usage: true },
        parallel_tool_calls: false,
        tool_choice: 'auto',
      },
      'with a tool': { tools: [tool], tool_choice: 'required', parallel_tool_calls: false },
      'with a schema': {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'x', schema: { type: 'object', properties: { a: { type: 'string' } } } },
        },
      },
      'with an effort': { reasoning_effort: 'medium' },
    };

    for (const model of ['claude-3-haiku-20240307', 'claude-sonnet-4-5', 'claude-opus-5-5', 'anything']) {
      for (const [title, extra] of Object.entries(requests)) {
        it(`${model} takes a request ${title} and answers the same, streamed or not`, async () => {
          const request = { model, messages: [{ role: 'user', content: 'Hello there' }], ...extra };
          const plain = await post(anthropicMessages.toWire(request, new InnerJson()).body);
          expect(plain.status, await plain.clone().text()).to.equal(200);
          const whole = anthropicMessages.fromWire(
            parseJson(await plain.text()) as JsonObject,
            context,
          ) as never as Whole;

          const streamed = await post(
            anthropicMessages.toWire({ ...request, stream: true }, new InnerJson()).body,
          );
          const stream = anthropicMessages.stream(context);
          const chunks: Chunk[] = [];
          const reader = new SseReader((name, data) =>
            chunks.push(...(stream.event(name, data) as never as Chunk[])),
          );
          reader.push(Buffer.from(await streamed.arrayBuffer()));
          reader.end();
          expect(stream.done).to.equal(true);
          const deltas = chunks.flatMap((chunk) => chunk.choices.map((choice) => choice.delta));
          expect(deltas.map((delta) => delta.content ?? '').join('')).to.equal(
            whole.choices[0].message.content ?? '',
          );
          const json = deltas.map((delta) => delta.tool_calls?.[0]?.function.arguments ?? '').join('');
          expect(json).to.equal(whole.choices[0].message.tool_calls?.[0]?.function.arguments ?? '');
          expect(chunks.at(-1)?.usage).to.deep.equal(whole.usage);
          expect(new Set(chunks.map((chunk) => chunk.id)).size).to.equal(1);
        });
      }
    }

    it('carries a tool turn through to its end', async () => {
      const messages: JsonObject[] = [{ role: 'user', content: 'Please look_up this' }];
      const ask = async (): Promise<Message> => {
        const answer = await post(
          anthropicMessages.toWire({ model: 'claude-opus-5-5', messages, tools: [tool] }, new InnerJson())
            .body,
        );
        const whole = anthropicMessages.fromWire(
          parseJson(await answer.text()) as JsonObject,
          context,
        ) as never as Whole;
        return whole.choices[0].message;
      };
      const first = await ask();
      const call = first.tool_calls?.[0];
      expect(call?.function.name).to.equal('look_up');
      messages.push(first as never as JsonObject, {
        role: 'tool',
        tool_call_id: call?.id,
        content: 'found it',
      });
      expect((await ask()).content).to.equal('The tool said: found it');
      expect(countTokens('found it')).to.equal(2);
    });
  });
});

interface Message {
  content: string | null;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
}
interface Whole {
  choices: [{ message: Message }];
  usage: unknown;
}
interface Chunk {
  id: string;
  choices: { delta: { content?: string; tool_calls?: { function: { arguments: string } }[] } }[];
  usage?: unknown;
}
