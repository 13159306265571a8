import { expect } from 'chai';
import fc from 'fast-check';
import { GatewayError } from '../../src/common/core/errors.js';
import {
  EventStreamReader,
  looksLikeEventStream,
} from '../../src/data-plane/providers/streams/event-stream.js';
import { maxEventBytes } from '../../src/data-plane/providers/streams/sse.js';
import { awsError, awsEvent, frame } from '../../src/simulated/aws/aws-event-stream.js';
import { expectWithinMs } from '../support/time-limits.js';

type Event = [name: string, data: string];

function read(...chunks: Buffer[]): Event[] {
  const events: Event[] = [];
  const reader = new EventStreamReader((name, data) => events.push([name, data]));
  for (const chunk of chunks) reader.push(chunk);
  reader.end();
  return events;
}

function refusal(...chunks: Buffer[]): string {
  try {
    read(...chunks);
  } catch (error) {
    if (error instanceof GatewayError) return error.code;
    throw error;
  }
  return 'none';
}

describe('Reading event streams of AWS', () => {
  it('gives events by their type, exceptions by theirs, and unmodelled errors as error', () => {
    const events = read(
      Buffer.concat([
        awsEvent('messageStart', { role: 'assistant' }),
        awsEvent('contentBlockDelta', { delta: { text: 'Zürich €' } }),
        awsEvent('throttlingException', { message: 'wait' }),
        awsError('InternalFailure', 'sorry'),
      ]),
    );
    expect(events).to.deep.equal([
      ['messageStart', '{"role":"assistant"}'],
      ['contentBlockDelta', '{"delta":{"text":"Zürich €"}}'],
      ['throttlingException', '{"message":"wait"}'],
      ['error', '{"code":"InternalFailure","message":"sorry"}'],
    ]);
  });

  it('passes over kinds of messages that do not exist yet, and headers of every type', () => {
    const headers = {
      a: { type: 'boolean', value: true },
      b: { type: 'byte', value: 1 },
      c: { type: 'short', value: 2 },
      d: { type: 'integer', value: 3 },
      e: { type: 'binary', value: Buffer.from('xyz') },
      f: { type: 'timestamp', value: new Date(0) },
      g: { type: 'uuid', value: '01234567-89ab-cdef-0123-456789abcdef' },
    } as const;
    const named = { type: 'string', value: 'later' } as const;
    expect(
      read(
        frame({ ...headers, ':message-type': named }, '{}'),
        frame(
          { ...headers, ':message-type': { type: 'string', value: 'event' }, ':event-type': named },
          '{}',
        ),
      ),
    ).to.deep.equal([['later', '{}']]);
  });

  it('gives the same events however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(fc.stringMatching(/^[a-zA-Z]{1,20}$/), fc.string({ unit: 'grapheme', maxLength: 400 })),
          {
            maxLength: 8,
          },
        ),
        fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 20 }),
        (sent, sizes) => {
          const bytes = Buffer.concat(sent.map(([name, text]) => awsEvent(`e${name}`, text)));
          const chunks: Buffer[] = [];
          for (let at = 0, i = 0; at < bytes.length; i++) {
            const size = sizes[i % sizes.length] as number;
            chunks.push(bytes.subarray(at, at + size));
            at += size;
          }
          expect(read(...chunks)).to.deep.equal(read(bytes));
          expect(read(bytes).map(([, data]) => data)).to.deep.equal(sent.map(([, text]) => text));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('refuses a stream in which any one byte is damaged', () => {
    const bytes = Buffer.concat([awsEvent('a', { x: 1 }), awsEvent('b', { y: 2 })]);
    for (let i = 0; i < bytes.length; i++) {
      const damaged = Buffer.from(bytes);
      damaged[i] = (damaged[i] as number) ^ 0x10;
      expect(refusal(damaged), `byte ${i}`).to.equal('upstream_stream_error');
      expect(
        refusal(...Array.from(damaged, (_, k) => damaged.subarray(k, k + 1))),
        `byte ${i}, one by one`,
      ).to.equal('upstream_stream_error');
    }
  });

  it('gives nothing of a frame that was cut off', () => {
    const bytes = awsEvent('a', { x: 1 });
    for (let i = 0; i < bytes.length; i++) expect(read(bytes.subarray(0, i))).to.deep.equal([]);
  });

  it('refuses a frame over 1 MiB before it has come', () => {
    const large = awsEvent('a', 'x'.repeat(maxEventBytes));
    expect(refusal(large.subarray(0, 100))).to.equal('upstream_stream_error');
    expect(read(awsEvent('a', 'x'.repeat(maxEventBytes - 200)))).to.have.length(1);
  });

  it('recognises such a stream by its first bytes', () => {
    const bytes = awsEvent('a', {});
    expect(looksLikeEventStream(bytes)).to.equal(true);
    expect(looksLikeEventStream(bytes.subarray(0, 11))).to.equal(null);
    expect(looksLikeEventStream(Buffer.from('{"message":"no stream"}'))).to.equal(false);
  });

  it('takes time in proportion to the bytes, in pieces of any size', () => {
    const event = awsEvent('contentBlockDelta', { delta: { text: 'some words' }, contentBlockIndex: 0 });
    const large = awsEvent('contentBlockDelta', 'x'.repeat(900_000));
    const time = (frames: number, piece: number, of = event): number => {
      const bytes = Buffer.concat(Array.from({ length: frames }, () => of));
      let seen = 0;
      const reader = new EventStreamReader(() => seen++);
      const from = performance.now();
      for (let at = 0; at < bytes.length; at += piece) reader.push(bytes.subarray(at, at + piece));
      const took = performance.now() - from;
      expect(seen).to.equal(frames);
      return took;
    };
    time(2_000, 7);
    for (const piece of [7, 100, 65_536]) {
      const small = time(2_000, piece);
      // Quadratic would be 64 times; four times is linear with room for a busy machine.
      expectWithinMs(time(16_000, piece), small * 8 * 4 + 100, { what: `pieces of ${piece}` });
    }
    // One frame in pieces of a few bytes: copying what is there at each would take minutes.
    expectWithinMs(time(1, 16, large), 2_000);
  });
});
