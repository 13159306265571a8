import { expect } from 'chai';
import fc from 'fast-check';
import { GatewayError } from '../../src/common/core/errors.js';
import { maxEventBytes, SseReader, writeEvent } from '../../src/data-plane/providers/streams/sse.js';
import { quickest } from '../support/quickest.js';
import { expectWithinMs } from '../support/time-limits.js';

type Event = [name: string, data: string];

function read(...chunks: (string | Buffer)[]): Event[] {
  const events: Event[] = [];
  const reader = new SseReader((name, data) => events.push([name, data]));
  for (const chunk of chunks) reader.push(Buffer.from(chunk as string));
  reader.end();
  return events;
}

describe('Reading server-sent events', () => {
  const cases: [title: string, text: string, events: Event[]][] = [
    ['one event', 'data: a\n\n', [['', 'a']]],
    [
      'two events with names',
      'event: x\ndata: 1\n\nevent: y\ndata: 2\n\n',
      [
        ['x', '1'],
        ['y', '2'],
      ],
    ],
    [
      'a name that does not outlive its event',
      'event: x\ndata: 1\n\ndata: 2\n\n',
      [
        ['x', '1'],
        ['', '2'],
      ],
    ],
    [
      'CRLF',
      'event: x\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n',
      [
        ['x', '1'],
        ['', '2'],
      ],
    ],
    [
      'lone CR',
      'event: x\rdata: 1\r\rdata: 2\r\r',
      [
        ['x', '1'],
        ['', '2'],
      ],
    ],
    [
      'mixed line ends',
      'data: 1\r\n\ndata: 2\n\r\ndata: 3\r\r\n',
      [
        ['', '1'],
        ['', '2'],
        ['', '3'],
      ],
    ],
    ['no space after the colon', 'data:a\n\n', [['', 'a']]],
    ['only the first space taken off', 'data:  a \n\n', [['', ' a ']]],
    ['a comment', ': OPENROUTER PROCESSING\n\ndata: a\n\n', [['', 'a']]],
    ['a comment within an event', 'data: a\n: ping\ndata: b\n\n', [['', 'a\nb']]],
    ['data of several lines', 'data: a\ndata:\ndata: b\n\n', [['', 'a\n\nb']]],
    ['a field without a colon', 'data\n\n', [['', '']]],
    ['empty data', 'data:\n\n', [['', '']]],
    ['an event without data', 'event: x\n\ndata: a\n\n', [['', 'a']]],
    ['id and retry', 'id: 1\u0000\nretry: 1e99\ndata: a\n\n', [['', 'a']]],
    ['fields it does not know', 'database: x\nevents: y\ndata: a\n\n', [['', 'a']]],
    ['a byte order mark', '\ufeffdata: a\n\n', [['', 'a']]],
    [
      'a missing last blank line',
      'data: a\n\ndata: [DONE]\n',
      [
        ['', 'a'],
        ['', '[DONE]'],
      ],
    ],
    [
      'a missing last line end',
      'data: a\n\ndata: [DONE]',
      [
        ['', 'a'],
        ['', '[DONE]'],
      ],
    ],
    [
      'data after the end marker',
      'data: [DONE]\n\ndata: a\n\n',
      [
        ['', '[DONE]'],
        ['', 'a'],
      ],
    ],
    ['text beyond ASCII', 'data: {"x":"é€😀"}\n\n', [['', '{"x":"é€😀"}']]],
    ['nothing', '', []],
  ];

  for (const [title, text, events] of cases) {
    it(`reads ${title}, wherever the bytes are cut`, () => {
      const bytes = Buffer.from(text);
      expect(read(bytes)).to.deep.equal(events);
      for (let k = 1; k < bytes.length; k++) {
        expect(read(bytes.subarray(0, k), bytes.subarray(k)), `cut at ${k}`).to.deep.equal(events);
      }
      expect(read(...Array.from(bytes, (byte) => Buffer.from([byte]))), 'byte by byte').to.deep.equal(events);
    });
  }

  it('reads the same events however a stream is cut', () => {
    const line = fc.constantFrom(
      'data: x',
      'data:é',
      'data: 😀y',
      'event: n',
      ': c',
      'data',
      '',
      'foo: 1',
      'data: ',
    );
    const end = fc.constantFrom('\n', '\r\n', '\r');
    fc.assert(
      fc.property(fc.array(fc.tuple(line, end)), fc.array(fc.nat({ max: 200 })), (lines, cuts) => {
        const bytes = Buffer.from(lines.flat().join(''));
        const chunks: Buffer[] = [];
        let from = 0;
        for (const cut of cuts.toSorted((a, b) => a - b)) {
          chunks.push(bytes.subarray(from, Math.max(from, cut)));
          from = Math.max(from, Math.min(cut, bytes.length));
        }
        chunks.push(bytes.subarray(from));
        expect(read(...chunks)).to.deep.equal(read(bytes));
      }),
      { numRuns: 300 },
    );
  });

  it('never throws anything but a GatewayError, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 })), (chunks) => {
        read(...chunks.map((chunk) => Buffer.from(chunk)));
      }),
      { numRuns: 300 },
    );
  });

  it('puts a replacement character where bytes are not UTF-8', () => {
    expect(read(Buffer.from('data: a\xff\xfeb\n\n', 'latin1'))).to.deep.equal([['', 'a\ufffd\ufffdb']]);
  });

  it('takes an event of 1 MiB and refuses a longer one, in a line or in many', () => {
    const most = 'x'.repeat(maxEventBytes - 100);
    expect(read(`data: ${most}\n\n`)[0]?.[1]).to.have.length(most.length);
    const refused = (...chunks: string[]): void => {
      expect(() => read(...chunks))
        .to.throw(GatewayError)
        .with.property('code', 'upstream_stream_error');
    };
    refused(`data: ${most}${most}\n\n`);
    refused('data: ', ...Array(20).fill('y'.repeat(100_000)));
    refused(...Array(20).fill(`data: ${'y'.repeat(100_000)}\n`));
    refused(`: ${most}${most}`);
    refused('data\n'.repeat(40_000));
  });

  it('takes time in proportion to the bytes, also one byte at a time', async () => {
    const time = (length: number): Promise<number> => {
      const bytes = Buffer.from(`data: ${'x'.repeat(length)}\n\n`);
      const reader = new SseReader(() => {});
      return quickest(1, () => {
        for (let i = 0; i < bytes.length; i++) reader.push(bytes.subarray(i, i + 1));
      });
    };
    await time(50_000);
    const small = await time(100_000);
    // Quadratic would be 36 times; four times is linear with room for a busy machine.
    expectWithinMs(await time(600_000), small * 6 * 4 + 100);
  });
});

describe('Writing server-sent events', () => {
  it('writes a name, data and the closing blank line', () => {
    expect(writeEvent(null, '{}')).to.equal('data: {}\n\n');
    expect(writeEvent('', '{}')).to.equal('data: {}\n\n');
    expect(writeEvent('ping', '{}')).to.equal('event: ping\ndata: {}\n\n');
  });

  it('gives data of several lines back as it was, line ends as LF', () => {
    expect(read(writeEvent('x', 'a\nb\r\nc\rd\n'))).to.deep.equal([['x', 'a\nb\nc\nd\n']]);
  });
});
