// lane: heap
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { looksLikeEvents, StreamTail } from '../../src/data-plane/providers/streams/stream-tail.js';
import type { TailFindings, TailFormat } from '../../src/data-plane/providers/streams/tail-findings.js';

function watch(format: TailFormat, bytes: Buffer, size: number): TailFindings {
  const tail = new StreamTail(format);
  for (let at = 0; at < bytes.length; at += size) tail.push(bytes.subarray(at, at + size));
  return tail.end();
}

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (text: string): string =>
  data({ model: 'gpt-4o', choices: [{ index: 0, delta: { content: text } }] });
const usageChunk = data({
  model: 'gpt-4o',
  choices: [],
  usage: {
    prompt_tokens: 9,
    completion_tokens: 4,
    total_tokens: 13,
    prompt_tokens_details: { cached_tokens: 5 },
  },
});

describe('The tail of a stream that passes through', () => {
  const long = Array.from({ length: 3000 }, (_, i) => chunk(`word ${i} `)).join('');

  for (const size of [1, 7, 1000, 1_000_000]) {
    it(`finds end, usage and model of a long OpenAI stream in pieces of ${size} bytes`, () => {
      const bytes = Buffer.from(`${size === 1 ? long.slice(-30_000) : long}${usageChunk}data: [DONE]\n\n`);
      const found = watch('openai-chat', bytes, size);
      expect(found.done).to.equal(true);
      expect(found.model).to.equal('gpt-4o');
      expect(found.usage).to.include({ input: 9, output: 4, cached: 5, source: 'provider' });
    });
  }

  it('reports a stream without its end marker as not done', () => {
    expect(watch('openai-chat', Buffer.from(long), 500)).to.deep.equal({
      done: false,
      marked: false,
      error: null,
      usage: null,
      model: 'gpt-4o',
    });
    expect(watch('openai-chat', Buffer.from(''), 500).done).to.equal(false);
  });

  it('does not take the words [DONE] in a text for the end', () => {
    expect(watch('openai-chat', Buffer.from(chunk('\ndata: [DONE]\n\n')), 500).done).to.equal(false);
  });

  it('finds an error that a server reports before the end marker, with or without the object around it', () => {
    const bare = { object: 'error', message: 'Out of memory', type: 'InternalServerError', code: 500 };
    for (const error of [bare, { error: bare }, { error: 'Out of memory' }]) {
      const bytes = Buffer.from(`${chunk('Hi')}${data(error)}data: [DONE]\n\n`);
      expect(watch('openai-chat', bytes, 50).error).to.deep.equal(error);
    }
  });

  it("takes usage from Groq's place and from a last chunk with choices", () => {
    const groq = data({
      model: 'l',
      choices: [{ delta: {}, finish_reason: 'stop' }],
      x_groq: { usage: { prompt_tokens: 3, completion_tokens: 2 } },
    });
    expect(watch('openai-chat', Buffer.from(`${groq}data: [DONE]\r\n\r\n`), 50).usage).to.include({
      input: 3,
      output: 2,
    });
    const own = data({
      model: 'l',
      choices: [{ delta: {} }],
      usage: { prompt_tokens: 3, completion_tokens: 2 },
    });
    expect(watch('openai-completions', Buffer.from(`${own}data:[DONE]`), 50)).to.deep.include({
      done: true,
      model: 'l',
    });
  });

  it('puts the start and the end of an Anthropic stream together', () => {
    const event = (type: string, rest: object): string => `event: ${type}\n${data({ type, ...rest })}`;
    const start = event('message_start', {
      message: {
        model: 'claude-x',
        usage: {
          input_tokens: 5,
          cache_read_input_tokens: 7,
          cache_creation_input_tokens: 2,
          output_tokens: 1,
        },
      },
    });
    const text = Array.from({ length: 2000 }, (_, i) =>
      event('content_block_delta', { delta: { text: `w${i}` } }),
    ).join('');
    const end = `${event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 40 } })}${event('message_stop', {})}`;
    const found = watch('anthropic-messages', Buffer.from(start + text + end), 300);
    expect(found).to.deep.include({ done: true, model: 'claude-x' });
    expect(found.usage).to.include({ input: 14, cached: 7, cacheWrite: 2, output: 40 });
    const cut = watch('anthropic-messages', Buffer.from(start + text), 300);
    expect(cut.done).to.equal(false);
    expect(cut.usage).to.include({ input: 14, output: 1 });
  });

  it('finds the end of a Responses stream, also where its last event is longer than what is kept', () => {
    const event = (type: string, rest: object): string => `event: ${type}\n${data({ type, ...rest })}`;
    for (const text of ['Hello', 'Hello "usage":{"input_tokens":1} '.repeat(4000)]) {
      const response = { id: 'resp_1', status: 'completed', model: 'gpt-x', output: [{ text }] };
      const usage = {
        input_tokens: 5,
        input_tokens_details: { cached_tokens: 2 },
        output_tokens: 7,
        output_tokens_details: { reasoning_tokens: 3 },
      };
      const begun = event('response.created', { response: { ...response, output: [], usage: null } });
      const done = event('response.output_text.done', { text });
      const end = event('response.completed', { response: { ...response, usage, user: null } });
      for (const tail of ['', 'data: [DONE]\n\n']) {
        const found = watch('openai-responses', Buffer.from(begun + done + end + tail), 700);
        expect(found).to.deep.include({ done: true, model: 'gpt-x' });
        expect(found.usage).to.include({ input: 5, cached: 2, output: 7, reasoning: 3 });
      }
      const torn = watch('openai-responses', Buffer.from(begun + done), 700);
      expect(torn).to.deep.include({ done: false, usage: null, model: 'gpt-x' });
      const cut = watch('openai-responses', Buffer.from((begun + done + end).slice(0, -20)), 700);
      expect(cut.done).to.equal(false);
    }
    const failed = event('response.failed', { response: { status: 'failed', usage: null } });
    expect(watch('openai-responses', Buffer.from(failed), 700)).to.include({ done: true, usage: null });
  });

  it('finds the end of a Gemini stream, also after a large picture', () => {
    for (const part of [
      { text: 'Hello' },
      { inlineData: { mimeType: 'image/png', data: 'A'.repeat(90_000) } },
    ]) {
      const frame = (rest: object): string =>
        data({ candidates: [{ content: { parts: [part] }, ...rest }], modelVersion: 'gemini-x' });
      const last = data({
        candidates: [{ content: { parts: [part] }, finishReason: 'STOP' }],
        usageMetadata: {
          promptTokenCount: 5,
          candidatesTokenCount: 7,
          promptTokensDetails: [{ modality: 'TEXT', tokenCount: 5 }],
        },
      });
      const found = watch('gemini-generate-content', Buffer.from(frame({}) + last), 999);
      expect(found.done).to.equal(true);
      expect(found.usage).to.include({ input: 5, output: 7 });
      expect(watch('gemini-generate-content', Buffer.from(frame({})), 999).done).to.equal(false);
    }
    const blocked = data({
      promptFeedback: { blockReason: 'SAFETY' },
      usageMetadata: { promptTokenCount: 3 },
    });
    expect(watch('gemini-generate-content', Buffer.from(blocked), 999).done).to.equal(true);
  });

  it('holds on to no more than it needs, however long the stream', async () => {
    const tail = new StreamTail('openai-chat');
    const piece = Buffer.from(chunk('x'.repeat(100)));
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const used = async (): Promise<number> => {
      // Freed buffers are counted off a turn later.
      collect();
      await new Promise((resolve) => setTimeout(resolve, 10));
      collect();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    const before = await used();
    for (let i = 0; i < 100_000; i++) tail.push(Buffer.from(piece));
    expect((await used()) - before).to.be.below(512 * 1024);
    expect(tail.end().model).to.equal('gpt-4o');
  });
});

describe('Whether a body can be a stream of events', () => {
  const yes = [
    'data: {}',
    'data:',
    'event: x\n',
    'id: 1',
    'retry: 1',
    ': ping',
    ':',
    '\n\ndata: x',
    '\r\n: x',
    'data\n',
    '\ufeffdata: x',
  ];
  const no = ['{"error":{}}', '<html>', '[1]', 'dat4', 'hello', 'database: x', ' data: x', 'null', '\u0000'];
  const unsure = ['', 'd', 'dat', 'data', '\n\r\n', 'ev', 'retr'];
  for (const text of yes)
    it(`${JSON.stringify(text)} can`, () => expect(looksLikeEvents(Buffer.from(text))).to.equal(true));
  for (const text of no)
    it(`${JSON.stringify(text)} cannot`, () => expect(looksLikeEvents(Buffer.from(text))).to.equal(false));
  for (const text of unsure)
    it(`${JSON.stringify(text)} is too short to decide`, () =>
      expect(looksLikeEvents(Buffer.from(text))).to.equal(null));

  it('does not wait for ever on blank lines or half a byte order mark', () => {
    expect(looksLikeEvents(Buffer.alloc(5000, '\n'))).to.equal(false);
    expect(looksLikeEvents(Buffer.from([0xef, 0xbb]))).to.equal(null);
    expect(looksLikeEvents(Buffer.from([0xef, 0xbb, 0x20]))).to.equal(false);
  });
});
