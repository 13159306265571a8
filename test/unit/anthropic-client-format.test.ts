import { expect } from 'chai';
import fc from 'fast-check';
import { GatewayError } from '../../src/common/core/errors.js';
import type { JsonObject } from '../../src/common/core/exchange.js';
import { convertRequest } from '../../src/data-plane/pipeline/answer/conversion.js';
import { anthropicMessagesClientFormat as clientFormat } from '../../src/data-plane/providers/client-formats/anthropic-messages.js';
import type { ClientFormatContext } from '../../src/data-plane/providers/client-formats/client-format.js';
import { formats } from '../../src/data-plane/providers/formats/index.js';
import { openAiChat } from '../../src/data-plane/providers/formats/openai-chat.js';
import type { ConversionContext } from '../../src/data-plane/providers/provider.js';
import { SseReader, writeEvent } from '../../src/data-plane/providers/streams/sse.js';
import { examples } from '../support/long-forms.js';

const reading: ConversionContext = {
  provider: 'openai',
  strict: false,
  canonicalReasons: true,
  includeUsage: true,
};
const context: ClientFormatContext = { requestId: 'r', asked: { model: 'm', stream: true }, body: {} };

/** The events that a client gets of an OpenAI stream that came in these parts. */
function through(parts: readonly Buffer[]): JsonObject[] {
  const reader = openAiChat.stream(reading);
  const writer = clientFormat.streamWriter(context);
  let text = '';
  const sse = new SseReader((name, data) => {
    for (const chunk of reader.event(name, data)) text += writer.chunk(chunk);
  });
  for (const part of parts) sse.push(part);
  sse.end();
  return eventsOf(text + writer.end());
}

function eventsOf(text: string): JsonObject[] {
  const events: JsonObject[] = [];
  const sse = new SseReader((name, data) => {
    const event = JSON.parse(data) as JsonObject;
    expect(event['type']).to.equal(name);
    events.push(event);
  });
  sse.push(Buffer.from(text));
  sse.end();
  return events;
}

/** Puts a stream together as a client does, and holds it to its grammar on the way. */
function assembled(events: readonly JsonObject[]): JsonObject {
  const [first, ...rest] = events;
  expect(first?.['type']).to.equal('message_start');
  const message = { ...(first?.['message'] as JsonObject) };
  const content: JsonObject[] = [];
  let json = '';
  let open = false;
  rest.forEach((event, i) => {
    const delta = event['delta'] as JsonObject;
    switch (event['type']) {
      case 'content_block_start':
        expect(open).to.equal(false);
        expect(event['index']).to.equal(content.length);
        content.push({ ...(event['content_block'] as JsonObject) });
        open = true;
        json = '';
        break;
      case 'content_block_delta': {
        expect(open).to.equal(true);
        expect(event['index']).to.equal(content.length - 1);
        const block = content.at(-1)!;
        if (delta['type'] === 'input_json_delta') json += String(delta['partial_json']);
        else if (delta['type'] === 'text_delta') block['text'] = `${block['text']}${delta['text']}`;
        else if (delta['type'] === 'thinking_delta')
          block['thinking'] = `${block['thinking']}${delta['thinking']}`;
        else block['signature'] = delta['signature'];
        break;
      }
      case 'content_block_stop':
        expect(open).to.equal(true);
        if (json !== '') content.at(-1)!['input'] = json;
        open = false;
        break;
      case 'message_delta':
        expect(open).to.equal(false);
        expect(i).to.equal(rest.length - 2);
        Object.assign(message, delta, { usage: event['usage'] });
        break;
      default:
        expect(event['type']).to.equal('message_stop');
    }
  });
  return { ...message, content };
}

const head = { id: 'c', model: 'm' };
const chunkOf = (delta: JsonObject, finish: string | null = null): JsonObject => ({
  ...head,
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const usage = { prompt_tokens: 9, completion_tokens: 7, total_tokens: 16 };

const isWhole = (json: string): boolean =>
  json.includes('{') && json.split('{').length <= json.split('}').length;

describe('The Anthropic client format', () => {
  it('gives the same blocks streamed, for every split of the upstream’s bytes, as unstreamed', () => {
    const calls = [
      { id: 'call_1', name: 'look', arguments: '{"ort":"Zürich 🌍","n":[1,2.50,{"deep":"\\"q\\""}]}' },
      { id: 'call_2', name: 'look', arguments: '{"ort":"Ōsaka"}' },
      { id: 'call_3', name: 'now', arguments: '{}' },
    ];
    const chunks: JsonObject[] = [
      chunkOf({ role: 'assistant', content: '' }),
      chunkOf({ content: 'Ich schaue. ✓' }),
    ];
    calls.forEach((call, index) => {
      const fn = { name: call.name, arguments: '' };
      chunks.push(chunkOf({ tool_calls: [{ index, id: call.id, type: 'function', function: fn }] }));
      for (const piece of call.arguments.match(/.{1,7}/gsu) ?? []) {
        chunks.push(chunkOf({ tool_calls: [{ index, function: { arguments: piece } }] }));
      }
    });
    chunks.push(chunkOf({}, 'tool_calls'), { ...head, choices: [], usage });
    const bytes = Buffer.from(
      `${chunks.map((chunk) => writeEvent(null, JSON.stringify(chunk))).join('')}data: [DONE]\n\n`,
    );
    const message = {
      content: 'Ich schaue. ✓',
      tool_calls: calls.map(({ id, ...fn }) => ({ id, type: 'function', function: fn })),
    };
    const whole = clientFormat.writeReply(
      { ...head, choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage },
      context,
    );
    for (let k = 0; k < bytes.length; k++) {
      const got = assembled(through([bytes.subarray(0, k), bytes.subarray(k)]));
      const content = (got['content'] as JsonObject[]).map((block) =>
        typeof block['input'] === 'string' ? { ...block, input: JSON.parse(block['input']) } : block,
      );
      expect({ ...got, content }, `cut at byte ${k}`).to.deep.equal(whole);
    }
  });

  it('keeps to the grammar whatever chunks come, and loses no arguments', () => {
    const piece = fc.oneof(
      fc.record({ content: fc.constantFrom('a', '', null) }),
      fc.record({ reasoning_content: fc.constantFrom('h', '') }),
      fc.record({ refusal: fc.constantFrom('no', null) }),
      fc.record({
        content_blocks: fc.constantFrom<unknown[]>(
          [{ delta: { type: 'thinking', thinking: 't' } }],
          [{ delta: { signature: 's' } }],
          [{ delta: { type: 'redacted_thinking', data: 'd' } }],
          [null, {}],
        ),
      }),
      fc.record({
        index: fc.constantFrom(0, 1, 2),
        text: fc.constantFrom('{', '}', '"a":1', '{}', ''),
      }),
    );
    const body = { thinking: { type: 'adaptive' } };
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const begun = new Map<number, string>();
        const writer = clientFormat.streamWriter({ ...context, body });
        let text = '';
        for (const given of pieces) {
          if (!('index' in given)) {
            text += writer.chunk(chunkOf(given));
            continue;
          }
          const { index, text: json } = given;
          const first = !begun.has(index);
          const before = begun.get(index) ?? '';
          // What follows whole arguments is no part of them.
          if (isWhole(before)) continue;
          begun.set(index, before + json);
          const call = { index, function: { ...(first ? { name: 'f' } : {}), arguments: json } };
          text += writer.chunk(chunkOf({ tool_calls: [{ ...call, ...(first ? { id: `c${index}` } : {}) }] }));
        }
        const { content } = assembled(eventsOf(text + writer.end()));
        const got = (content as JsonObject[])
          .filter((block) => block['type'] === 'tool_use')
          .map((block) => [block['id'], typeof block['input'] === 'string' ? block['input'] : '']);
        expect(got).to.have.deep.members([...begun].map(([index, json]) => [`c${index}`, json]));
      }),
      { numRuns: examples(3000) },
    );
  });

  it('refuses with a GatewayError or converts, whatever the request, into every format', () => {
    const words = fc.constantFrom<unknown>(
      'user',
      'assistant',
      'text',
      'image',
      'document',
      'tool_use',
      'tool_result',
      'thinking',
      'base64',
      'url',
      'content',
      'enabled',
      'data',
      '',
      null,
      true,
      0,
      2048,
    );
    const names = fc.constantFrom(
      ...['type', 'role', 'content', 'text', 'source', 'data', 'media_type', 'url', 'id', 'name', 'input'],
      ...[
        'tool_use_id',
        'is_error',
        'cache_control',
        'thinking',
        'signature',
        'budget_tokens',
        'title',
        '__proto__',
      ],
    );
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        words,
        fc.array(tie('value'), { maxLength: 3 }),
        fc.array(fc.tuple(names, tie('value')), { maxLength: 5 }).map((entries) => {
          const text = entries.map(([key, member]) => `${JSON.stringify(key)}:${JSON.stringify(member)}`);
          return JSON.parse(`{${text.join(',')}}`) as unknown;
        }),
      ),
    }));
    const fields = [
      'system',
      'tools',
      'tool_choice',
      'thinking',
      'output_config',
      'metadata',
      'stop_sequences',
    ];
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...fields, 'max_tokens', 'stream'), value, { noNullPrototype: true }),
        fc.array(fc.record({ role: fc.constantFrom('user', 'assistant'), content: value }), { maxLength: 3 }),
        fc.constantFrom(...formats.values()),
        (body, messages, format) => {
          try {
            convertRequest(clientFormat, format, [], { model: 'm', ...body, messages }, context.asked);
          } catch (error) {
            if (!(error instanceof GatewayError)) throw error;
          }
        },
      ),
      { numRuns: examples(3000) },
    );
    expect(({} as JsonObject)['type']).to.equal(undefined);
  });

  it('writes a long answer in linear time, some microseconds a chunk', () => {
    const time = (chunks: number): number => {
      const writer = clientFormat.streamWriter(context);
      const from = process.cpuUsage();
      for (let i = 0; i < chunks; i++) {
        const call = {
          index: 0,
          ...(i === 0 ? { id: 'c' } : {}),
          function: { name: 'f', arguments: '"abcd",' },
        };
        writer.chunk(chunkOf({ tool_calls: [call] }));
      }
      writer.end();
      return process.cpuUsage(from).user;
    };
    time(5000);
    const [short, long] = [time(10_000), time(40_000)];
    expect(long).to.be.lessThan(Math.max(short, 20_000) * 10);
    expect(long / 40_000).to.be.lessThan(30);
  });
});
