import { expect } from 'chai';
import { MessagesStreamWriter } from '../../src/data-plane/providers/client-formats/anthropic-stream.js';
import type { StreamWriter } from '../../src/data-plane/providers/client-formats/client-format.js';
import { GeminiStreamWriter } from '../../src/data-plane/providers/client-formats/gemini-stream.js';
import { ResponsesStreamWriter } from '../../src/data-plane/providers/client-formats/responses-stream.js';
import { AnthropicStream } from '../../src/data-plane/providers/formats/anthropic-stream.js';
import { ChoiceEnds } from '../../src/data-plane/providers/formats/choice-ends.js';

const context = {
  asked: { model: 'm', stream: true },
  body: { model: 'm', input: 'Hello', stream: true },
  requestId: '0198c0de-0000-7000-8000-000000000000',
} as unknown as ConstructorParameters<typeof ResponsesStreamWriter>[0];

const writers: Readonly<Record<string, () => StreamWriter>> = {
  Messages: () => new MessagesStreamWriter(context),
  Responses: () => new ResponsesStreamWriter(context),
  Gemini: () => new GeminiStreamWriter(context),
};

const call = (index: number, text: string): object => ({
  tool_calls: [{ index, id: `c${index}`, function: { name: 'f', arguments: text } }],
});

/** Writes deltas until the writer refuses one. Returns how many it took. */
function takenBy(writer: StreamWriter, most: number, delta: (i: number) => object, choice = 0): number {
  for (let i = 0; i < most; i++) {
    try {
      writer.chunk({
        created: 1,
        model: 'm',
        choices: [{ index: choice, delta: delta(i), finish_reason: null }],
      });
    } catch (error) {
      expect(error).to.include({ code: 'upstream_stream_error' });
      return i;
    }
  }
  return most;
}

describe('a stream that is converted', () => {
  for (const [name, writer] of Object.entries(writers)) {
    it(`keeps the arguments of a call, and refuses them beyond 16 MiB: ${name}`, () => {
      const mebibyte = 'x'.repeat(1024 * 1024);
      expect(takenBy(writer(), 100, () => call(0, mebibyte))).to.equal(15);
    });

    it(`keeps 10,000 calls of tools, and refuses more: ${name}`, () => {
      expect(takenBy(writer(), 12_000, (i) => call(i, '{}'))).to.be.within(9_990, 10_000);
    });
  }

  it("keeps Google's signatures of calls, and refuses them beyond 16 MiB", () => {
    const extra = { google: { thought_signature: 'x'.repeat(1024 * 1024) } };
    const signed = (index: number): object => ({
      tool_calls: [
        { index, id: `c${index}`, function: { name: 'f', arguments: '{}' }, extra_content: extra },
      ],
    });
    expect(takenBy(new MessagesStreamWriter(context), 100, signed)).to.equal(15);
  });

  it('has at most 10,000 choices', () => {
    const ends = new ChoiceEnds();
    const add = (from: number, to: number): void => {
      for (let index = from; index < to; index++) ends.add([{ index }]);
    };
    add(0, 10_000);
    add(0, 10_000);
    expect(() => add(10_000, 10_001)).to.throw('more than 10000 choices');
  });

  it('has at most 10,000 blocks of tools', () => {
    const reader = new AnthropicStream({ provider: 'p', strict: true, includeUsage: false });
    const start = (index: number): void => {
      const block = {
        type: 'content_block_start',
        index,
        content_block: { type: 'tool_use', id: 'i', name: 'n' },
      };
      reader.event('content_block_start', JSON.stringify(block));
    };
    for (let index = 0; index < 10_000; index++) start(index);
    expect(() => start(10_000)).to.throw('more than 10000 choices');
  });
});
