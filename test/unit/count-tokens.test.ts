// lane: not quick
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Format } from '../../src/common/core/endpoint.js';
import { createTokenCounter, type TokenCounter } from '../../src/data-plane/journal/token-counter.js';
import countTokens, { countText } from '../../workers/count-tokens.js';
import { encoderNamed } from '../../workers/encoders.js';
import { expectWithinMs, scaled } from '../support/time-limits.js';

const encoder = encoderNamed('o200k_base');
const plain = (text: string): number => encoder.count(text);

const chat = (request: unknown, answer: unknown = { choices: [] }, model = 'gpt-4o') =>
  countTokens({
    format: 'openai-chat',
    model,
    request: Buffer.from(JSON.stringify(request)),
    answer: Buffer.from(JSON.stringify(answer)),
    events: false,
  });
const streamed = (format: Format, ...events: unknown[]) =>
  countTokens({
    format,
    model: 'gpt-4o',
    request: null,
    answer: Buffer.from(
      events
        .map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
        .join(''),
    ),
    events: true,
  }).output;
const delta = (change: object, index = 0) => ({ choices: [{ index, delta: change }] });

describe('the tokens of a text', () => {
  const prose = 'The quick brown fox jumps over the lazy dog, and 12 others: früh am Morgen – 早上好! 😀\n\n';

  it('are those of one encoding, though it is cut into pieces', () => {
    const text = prose.repeat(2000);
    expect(Math.abs(countText(encoder, text) / plain(text) - 1)).to.be.lessThan(0.001);
    expect(countText(encoder, prose)).to.equal(plain(prose));
  });

  it('are all counted, wherever it is cut', () => {
    const spy = {
      seen: '',
      count(text: string) {
        this.seen += text;
        return 1;
      },
    };
    const run = fc
      .tuple(fc.constantFrom(' ', '\n', 'a', '😀', 'é'), fc.integer({ min: 1, max: 3000 }))
      .map(([unit, times]) => unit.repeat(times));
    fc.assert(
      fc.property(fc.array(run, { maxLength: 8 }), (runs) => {
        const text = runs.join('');
        const pieces: string[] = [];
        countText(
          {
            count(piece: string) {
              pieces.push(piece);
              return spy.count(piece);
            },
          },
          text,
        );
        expect(pieces.join('')).to.equal(text);
        for (const piece of pieces) {
          expect(piece.length).to.be.within(1, 4096);
          // No piece cuts a character in two.
          expect(piece).not.to.match(/\p{Surrogate}/u);
        }
      }),
    );
  });

  it('beyond a megabyte are taken to be like the beginning', () => {
    const text = 'word '.repeat(600_000);
    expect(countText(encoder, text)).to.be.closeTo(600_000, 6000);
  });

  it('may spell a special token', () => {
    expect(chat({ messages: [{ role: 'user', content: 'a <|endoftext|> b' }] }).input).to.be.greaterThan(7);
  });

  it('without a break are counted in time', () => {
    const began = performance.now();
    const { input } = chat({ messages: [{ role: 'user', content: 'a'.repeat(400_000) }] });
    expectWithinMs(performance.now() - began, 3000);
    expect(input).to.be.closeTo(50_000, 2000);
  }).timeout(5000);
});

describe('the tokens of a request', () => {
  it("follow OpenAI's rules for what surrounds a message", () => {
    // The cookbook's own example, which the API itself answered with 124 for gpt-4o.
    const messages = [
      {
        role: 'system',
        content:
          'You are a helpful, pattern-following assistant that translates corporate jargon into plain English.',
      },
      { role: 'system', name: 'example_user', content: 'New synergies will help drive top-line growth.' },
      {
        role: 'system',
        name: 'example_assistant',
        content: 'Things working well together will increase revenue.',
      },
      {
        role: 'system',
        name: 'example_user',
        content:
          "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
      },
      {
        role: 'system',
        name: 'example_assistant',
        content: "Let's talk later when we're less busy about how to do better.",
      },
      {
        role: 'user',
        content: "This late pivot means we don't have time to boil the ocean for the client deliverable.",
      },
    ];
    expect(chat({ messages }).input).to.equal(124);
    expect(chat({ messages }, {}, 'gpt-4-0613').input).to.equal(129);
    expect(chat({ messages }, {}, '@main/gpt-4-0613').input).to.equal(129);
    expect(chat({ messages }, {}, 'gpt-3.5-turbo').input).to.equal(129);
  });

  it("follow OpenAI's rules for tools", () => {
    // The cookbook's example, answered with 101 for gpt-4o.
    const request = {
      messages: [
        {
          role: 'system',
          content: 'You are a helpful assistant that can answer to questions about the weather.',
        },
        { role: 'user', content: "What's the weather like in San Francisco?" },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_current_weather',
            description: 'Get the current weather in a given location',
            parameters: {
              type: 'object',
              properties: {
                location: { type: 'string', description: 'The city and state, e.g. San Francisco, CA' },
                unit: {
                  type: 'string',
                  description: 'The unit of temperature to return',
                  enum: ['celsius', 'fahrenheit'],
                },
              },
              required: ['location'],
            },
          },
        },
      ],
    };
    expect(chat(request).input).to.equal(101);
  });

  it('count parts, pictures, tools that were called and what they answered', () => {
    const none = chat({ messages: [] }).input;
    const of = (message: object): number => chat({ messages: [message] }).input - none - 3 - plain('user');
    expect(of({ role: 'user', content: [{ type: 'text', text: 'four words of text' }] })).to.equal(
      plain('four words of text'),
    );
    expect(
      of({
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: `data:${'x'.repeat(100_000)}` } }],
      }),
    ).to.equal(765);
    expect(of({ role: 'user', tool_calls: [{ function: { name: 'look', arguments: '{"a":1}' } }] })).to.equal(
      3 + plain('look') + plain('{"a":1}'),
    );
    expect(
      of({ role: 'user', content: [{ type: 'tool_result', content: [{ type: 'text', text: 'sunny' }] }] }),
    ).to.equal(3 + plain('sunny'));
  });

  it('in the formats that are no chats are those of the text', () => {
    const count = (format: Format, request: unknown) =>
      countTokens({
        format,
        model: 'x',
        request: Buffer.from(JSON.stringify(request)),
        answer: Buffer.alloc(0),
        events: false,
      });
    expect(count('openai-embeddings', { input: ['one two', [1, 2, 3]] })).to.deep.equal({
      input: plain('one two') + 3,
      output: 0,
    });
    expect(count('openai-completions', { prompt: 'one two' }).input).to.equal(plain('one two'));
    expect(
      count('anthropic-messages', { system: 'be kind', messages: [{ role: 'user', content: 'hi' }] }).input,
    ).to.equal(3 + 3 + plain('be kind') + 3 + plain('user') + plain('hi'));
  });

  it('are counted in the shapes of the Responses and the Gemini API as in chat', () => {
    const count = (format: Format, request: unknown, answer: unknown = {}) =>
      countTokens({
        format,
        model: 'gpt-4o',
        request: Buffer.from(JSON.stringify(request)),
        answer: Buffer.from(JSON.stringify(answer)),
        events: false,
      });
    const said = 'What is the weather in Paris?';
    const items = [
      { role: 'user', content: [{ type: 'input_text', text: said }] },
      { type: 'function_call', name: 'look', arguments: '{"city":"Paris"}' },
      { type: 'function_call_output', output: 'rain' },
    ];
    const ofItems = plain(said) + plain('look') + plain('{"city":"Paris"}') + plain('rain') + 3 + 9;
    expect(count('openai-responses', { input: items }).input).to.equal(ofItems);
    expect(count('openai-responses', { instructions: 'be kind', input: said }).input).to.equal(
      3 + 3 + plain('be kind') + 3 + plain(said),
    );
    const contents = [{ role: 'user', parts: [{ text: said }, { text: said }] }];
    const system = { parts: [{ text: 'be kind' }] };
    const ofContents = 3 + plain('be kind') + 3 + 2 * plain(said);
    const request = { contents, systemInstruction: system };
    expect(count('gemini-generate-content', request).input).to.equal(ofContents);
    expect(count('gemini-count-tokens', { generateContentRequest: request }).input).to.equal(ofContents);
    expect(
      count('gemini-batch-embed-contents', { requests: [{ content: contents[0] }, { content: system }] })
        .input,
    ).to.equal(ofContents);
    const output = [
      { type: 'message', content: [{ type: 'output_text', text: said }] },
      { type: 'function_call', name: 'look', arguments: '{}' },
    ];
    expect(count('openai-responses', {}, { output }).output).to.equal(
      plain(said) + plain('look') + plain('{}'),
    );
    const candidates = [{ content: { parts: [{ text: said }] } }];
    expect(count('gemini-generate-content', {}, { candidates }).output).to.equal(plain(said));
    expect(
      streamed(
        'openai-responses',
        ...[...said].map((delta) => ({ type: 'response.output_text.delta', output_index: 0, delta })),
        { type: 'response.output_text.done', output_index: 0, text: said },
      ),
    ).to.equal(plain(said));
    expect(
      streamed(
        'gemini-generate-content',
        ...[...said].map((text) => ({ candidates: [{ content: { parts: [{ text }] } }] })),
      ),
    ).to.equal(plain(said));
  });

  it('that cannot be read are none', () => {
    for (const request of [
      '',
      '{',
      'null',
      '[]',
      '"x"',
      '{"messages":7}',
      '{"messages":[null,3]}',
      '{"tools":[{"function":null}]}',
    ]) {
      expect(
        countTokens({
          format: 'openai-chat',
          model: null,
          request: Buffer.from(request),
          answer: Buffer.from('x'),
          events: false,
        }).output,
      ).to.equal(0);
    }
  });
});

describe('the tokens of an answer', () => {
  it('are those of the text, however a stream cuts it', () => {
    const text = 'Tokenisation is unreasonably interesting. 早上好';
    const whole = plain(text);
    expect(streamed('openai-chat', ...[...text].map((content) => delta({ content })), '[DONE]')).to.equal(
      whole,
    );
    expect(
      streamed(
        'anthropic-messages',
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        ...[...text].map((piece) => ({
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'text_delta', text: piece },
        })),
      ),
    ).to.equal(whole);
    expect(chat({}, { choices: [{ message: { content: text } }] }).output).to.equal(whole);
    expect(chat({}, { content: [{ type: 'text', text }] }).output).to.equal(whole);
  });

  it('include what was thought, refused and asked of tools, in each choice', () => {
    expect(
      streamed(
        'openai-chat',
        delta({ reasoning_content: 'hmm' }),
        delta({ tool_calls: [{ index: 0, function: { name: 'look', arguments: '{"where":' } }] }),
        delta({ tool_calls: [{ index: 0, function: { arguments: '"up"}' } }] }),
        delta({ refusal: 'no' }, 1),
      ),
    ).to.equal(plain('hmm') + plain('look') + plain('{"where":"up"}') + plain('no'));
    expect(
      chat(
        {},
        {
          content: [
            { type: 'thinking', thinking: 'hmm' },
            { type: 'tool_use', name: 'look', input: { up: true } },
          ],
        },
      ).output,
    ).to.equal(plain('hmm') + plain('look') + plain('{"up":true}'));
  });

  it('of an answer that broke off at any byte are at most those of the whole, and come near it', () => {
    const text = 'It said "yes"\nand \\ then é😀 more';
    const whole = Buffer.from(
      JSON.stringify({ id: 'x', choices: [{ index: 0, message: { role: 'assistant', content: text } }] }),
    );
    const events = Buffer.from(
      [...text].map((content) => `data: ${JSON.stringify(delta({ content }))}\n\n`).join(''),
    );
    for (const [bytes, isStream] of [
      [whole, false],
      [events, true],
    ] as const) {
      let most = 0;
      for (let length = 0; length <= bytes.length; length++) {
        const { output } = countTokens({
          format: 'openai-chat',
          model: 'gpt-4o',
          request: null,
          answer: bytes.subarray(0, length),
          events: isStream,
        });
        expect(output).to.be.within(0, plain(text) + 4);
        most = Math.max(most, output);
      }
      expect(most).to.be.at.least(plain(text));
    }
  });
});

describe('a token counter', () => {
  let counter: TokenCounter;
  afterEach(() => counter.close());
  const job = (content: string) => ({
    format: 'openai-chat' as const,
    model: 'gpt-4o',
    request: Buffer.from(JSON.stringify({ messages: [{ role: 'user', content }] })),
    answer: Buffer.from('data: {"choices":[{"delta":{"content":"yes"}}]}\n\n'),
    events: true,
  });

  it('counts on a thread of its own, and leaves the bytes where they were', async () => {
    counter = createTokenCounter({ maxQueue: 4, deadlineMs: 9000 });
    const given = job('Hello there');
    let turns = 0;
    const timer = setInterval(() => turns++, 5);
    const usage = await counter.count(given);
    clearInterval(timer);
    expect(usage).to.deep.equal({
      input: 3 + 3 + plain('user') + plain('Hello there'),
      output: plain('yes'),
      cached: 0,
      cacheWrite: 0,
      reasoning: 0,
      source: 'counted',
    });
    expect(given.request.toString()).to.include('Hello there');
    expect(turns).to.be.greaterThan(5);
  });

  it('answers null when its queue is full', async () => {
    counter = createTokenCounter({ maxQueue: 2, deadlineMs: 9000 });
    const counted = await Promise.all(Array.from({ length: 12 }, () => counter.count(job('hi'))));
    const given = counted.filter((usage) => usage !== null).length;
    expect(given).to.be.within(2, 4);
  });

  it('answers null at its deadline, and counts what waits and what comes next', async () => {
    // In that time a thread that was ended begins again, and counts what waits.
    const deadlineMs = Math.min(12_000, scaled(1000));
    counter = createTokenCounter({ maxQueue: 4, deadlineMs });
    expect(await counter.count(job('warm up'))).not.to.equal(null);
    const began = performance.now();
    // Forty choices, each as slow to count as a text can be made: more than the deadline allows.
    const slow = {
      ...job(''),
      answer: Buffer.from(
        `data: ${JSON.stringify({ choices: Array.from({ length: 40 }, (_, index) => ({ index, delta: { content: 'a'.repeat(900_000) } })) })}\n\n`,
      ),
    };
    const counted = counter.count(slow);
    await setTimeout(0.75 * deadlineMs);
    const waiting = counter.count(job('hi'));
    expect(await counted).to.equal(null);
    expectWithinMs(performance.now() - began - deadlineMs, 1500, { atLeast: -100 });
    expect(await waiting).not.to.equal(null);
    expect(await counter.count(job('hi'))).not.to.equal(null);
  });

  it('loses a job that needs too much memory, and nothing else', async () => {
    counter = createTokenCounter({ maxQueue: 4, deadlineMs: scaled(9000), maxHeapMb: 48 });
    expect(await counter.count(job('hi'))).not.to.equal(null);
    const huge = { ...job(''), request: Buffer.from(`{"messages":[${'{"a":[[]]},'.repeat(700_000)}{}]}`) };
    const [lost, waiting] = await Promise.all([counter.count(huge), counter.count(job('hi'))]);
    expect(lost).to.equal(null);
    expect(waiting).not.to.equal(null);
    expect(await counter.count(job('hi'))).not.to.equal(null);
  });

  it('that is closed counts nothing more', async () => {
    counter = createTokenCounter({ maxQueue: 4, deadlineMs: 1000 });
    await counter.close();
    expect(await counter.count(job('hi'))).to.equal(null);
  });
});
