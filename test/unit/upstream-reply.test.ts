import { expect } from 'chai';
import type { HeaderList } from '../../src/common/http/headers.js';
import { ReplyHeadReader } from '../../src/data-plane/upstream/reply/reply-head.js';
import { ReplyParser } from '../../src/data-plane/upstream/reply/reply-parser.js';

/** What came of a reply. */
interface Seen {
  status: number;
  headers: HeaderList;
  body: string;
  outcome: 'whole' | 'whole and more' | 'unfinished' | 'invalid';
  persistent: boolean;
}

/** Reads `pieces` as one reply, as a connection does. `ended`: the upstream then ends the connection. */
function readPieces(
  pieces: readonly Buffer[],
  reader = new ReplyHeadReader(),
  bodyless = false,
  ended = false,
): Seen {
  const parser = new ReplyParser(reader);
  parser.start(bodyless);
  const seen: Seen = { status: 0, headers: [], body: '', outcome: 'unfinished', persistent: false };
  for (const piece of pieces) {
    if (seen.outcome === 'whole') {
      seen.outcome = 'whole and more';
      break;
    }
    // With bytes of another connection behind it, as in the buffer that all share.
    const shared = Buffer.concat([piece, Buffer.from('\r\n\r\nHTTP/1.1 500 other\r\n\r\n')]);
    parser.read(shared, piece.length);
    if (parser.headed) {
      seen.status = parser.head.status;
      seen.headers = parser.head.headers;
      seen.persistent = parser.head.persistent;
    }
    if (parser.body !== null) seen.body += parser.body.toString('latin1');
    if (parser.invalid) {
      seen.outcome = 'invalid';
      break;
    }
    if (parser.done) seen.outcome = 'whole';
    if (parser.done && parser.excess) {
      seen.outcome = 'whole and more';
      break;
    }
  }
  if (ended && seen.outcome === 'unfinished' && parser.end()) seen.outcome = 'whole';
  return seen;
}

const read = (text: string, bodyless = false, ended = false): Seen =>
  readPieces([Buffer.from(text, 'latin1')], undefined, bodyless, ended);

const ok = (...lines: string[]): string =>
  `HTTP/1.1 200 OK\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
const chunk = (text: string, extension = ''): string =>
  `${text.length.toString(16)}${extension}\r\n${text}\r\n`;
const chunked = ok('content-type: text/plain', 'Transfer-Encoding: chunked');

const seed = Number(process.env['HEADGATE_TEST_SEED'] ?? Date.now() % 1_000_000);
let state = seed;
const random = (below: number): number => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};
const pick = <T>(list: readonly T[]): T => list[random(list.length)]!;

describe('a reply of an upstream, byte by byte', () => {
  const whole: [string, string, string][] = [
    ['of known length', `${ok('content-length: 5')}hello`, 'hello'],
    ['of no length', ok('content-length: 0'), ''],
    ['whose length is said twice, the same', `${ok('content-length: 5', 'Content-Length: 5')}hello`, 'hello'],
    ['in chunks', `${chunked}${chunk('hello')}${chunk(' world')}0\r\n\r\n`, 'hello world'],
    ['in chunks of many digits', `${chunked}0000005\r\nhello\r\n000\r\n\r\n`, 'hello'],
    [
      'in chunks with extensions',
      `${chunked}${chunk('hello', ';a="b c"')}${chunk('!', ' \t;x')}0;z\r\n\r\n`,
      'hello!',
    ],
    ['in chunks whose sizes are padded', `${chunked}${chunk('hello', '  \t')}0 \r\n\r\n`, 'hello'],
    [
      'in chunks with every kind of extension',
      `${chunked}${chunk('hello', ';a;b=c ; d = "x;\\"y\r"'.replace('\r', '\t'))}0;e=""\r\n\r\n`,
      'hello',
    ],
    ['in chunks with trailers', `${chunked}${chunk('hello')}0\r\nx-t: 1\r\nx-u:\r\n\r\n`, 'hello'],
    [
      'behind interim ones',
      `HTTP/1.1 103 E\r\nlink: x\r\n\r\nHTTP/1.1 100 C\r\n\r\n${ok('content-length: 2')}ok`,
      'ok',
    ],
    ['without a reason', 'HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok', 'ok'],
    ['204', 'HTTP/1.1 204 No\r\n\r\n', ''],
    ['304 with a length', 'HTTP/1.1 304 No\r\ncontent-length: 100\r\n\r\n', ''],
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok', 'ok'],
  ];
  for (const [what, text, body] of whole) {
    it(`is read whole: one ${what}`, () => {
      const seen = read(text);
      expect([seen.outcome, seen.body]).to.deep.equal(['whole', body]);
      expect(read(`${text}x`).outcome).to.equal('whole and more');
      const bytes = Buffer.from(text, 'latin1');
      for (let at = 1; at < bytes.length; at++) {
        const cut = readPieces([bytes.subarray(0, at), bytes.subarray(at)]);
        expect([cut.outcome, cut.body], `cut at ${at}`).to.deep.equal(['whole', body]);
      }
    });
  }

  const refused: [string, string][] = [
    ['a line that ends in LF alone', 'HTTP/1.1 200 OK\ncontent-length: 0\r\n\r\n'],
    ['a header line that ends in LF alone', 'HTTP/1.1 200 OK\r\ncontent-length: 0\n\r\n'],
    ['a CR alone', ok('x-a: b\rc', 'content-length: 0')],
    ['a folded line', ok('x-a: b', ' c', 'content-length: 0')],
    ['a blank before the colon', ok('x-a : b', 'content-length: 0')],
    ['a line without a colon', ok('x-a', 'content-length: 0')],
    ['a line without a name', ok(': b', 'content-length: 0')],
    ['a NUL in a value', ok('x-a: \0', 'content-length: 0')],
    ['a DEL in a value', ok('x-a: \x7f', 'content-length: 0')],
    ['a name that is no token', ok('x\xe4: b', 'content-length: 0')],
    ['a length with a sign', ok('content-length: +5')],
    ['a length in hexadecimal', ok('content-length: 0x5')],
    ['an empty length', ok('content-length:')],
    ['a list of lengths', ok('content-length: 5, 5')],
    ['a length beyond 2^53', ok('content-length: 9007199254740993')],
    ['two lengths', ok('content-length: 5', 'content-length: 6')],
    ['a length and chunks', ok('content-length: 5', 'transfer-encoding: chunked')],
    ['another coding', ok('transfer-encoding: gzip, chunked')],
    ['chunks said twice', ok('transfer-encoding: chunked', 'transfer-encoding: chunked')],
    ['two digits of status', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['four digits of status', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['a status below 100', 'HTTP/1.1 099 OK\r\n\r\n'],
    ['a version in lower case', 'http/1.1 200 OK\r\n\r\n'],
    ['an empty line first', `\r\n${ok('content-length: 0')}`],
    ['an unasked 101', 'HTTP/1.1 101 S\r\n\r\n'],
    ['a chunk without a size', `${chunked}\r\n`],
    ['a chunk with a sign', `${chunked}-1\r\n`],
    ['a chunk with 0x', `${chunked}0x1\r\na\r\n`],
    ['a chunk of 17 digits', `${chunked}00000000000000001\r\na\r\n`],
    ['a chunk beyond 2^53', `${chunked}ffffffffffffff\r\n`],
    ['a chunk that is longer than it says', `${chunked}1\r\nab\r\n`],
    ['a size that ends in LF alone', `${chunked}1\na\r\n`],
    ['a chunk that ends in LF alone', `${chunked}1\r\na\n`],
    ['junk after the size of a chunk', `${chunked}5 junk\r\nhello\r\n0\r\n\r\n`],
    ['junk right after the size of a chunk', `${chunked}5x\r\nhello\r\n0\r\n\r\n`],
    ['junk after the last size', `${chunked}${chunk('hello')}0 junk\r\n\r\n`],
    ['an extension without a name', `${chunked}5;\r\nhello\r\n`],
    ['an extension with a value and no name', `${chunked}5;=a\r\nhello\r\n`],
    ['an extension with an empty value', `${chunked}5;a=\r\nhello\r\n`],
    ['an extension of two words', `${chunked}5;a b\r\nhello\r\n`],
    ['an extension whose quotes stay open', `${chunked}5;a="b\r\nhello\r\n`],
    ['an extension with something after its quotes', `${chunked}5;a="b"c\r\nhello\r\n`],
    ['a CR within an extension', `${chunked}5;a\rb\r\nhello\r\n`],
    ['a trailer without a colon', `${chunked}${chunk('hello')}0\r\nx-t 1\r\n\r\n`],
    ['a trailer without a name', `${chunked}${chunk('hello')}0\r\n: 1\r\n\r\n`],
    ['a trailer with a blank before its colon', `${chunked}${chunk('hello')}0\r\nx-t : 1\r\n\r\n`],
    ['a trailer that is folded', `${chunked}${chunk('hello')}0\r\nx-t: 1\r\n 2\r\n\r\n`],
    ['a trailer that is cut off in its name', `${chunked}${chunk('hello')}0\r\nx-t\r\n\r\n`],
    ['another reply in place of trailers', `${chunked}${chunk('hello')}0\r\nHTTP/1.1 200 OK\r\n\r\n`],
    ['a control character in a trailer', `${chunked}${chunk('hello')}0\r\nx-t: \0\r\n\r\n`],
    ['a control character in an extension', `${chunked}1;\0\r\n`],
    ['an endless extension', `${chunked}1;${'x'.repeat(5_000)}`],
    ['endless trailers', `${chunked}0\r\n${'x: y\r\n'.repeat(20_000)}`],
    ['257 headers', ok(...Array.from({ length: 257 }, (_, i) => `x-${i}: 1`), 'content-length: 0')],
    ['a head of 65 KiB', ok(`x-a: ${'b'.repeat(65 * 1024)}`)],
  ];
  for (const [what, text] of refused) {
    it(`is refused with ${what}`, () => {
      expect(read(text).outcome).to.equal('invalid');
      const bytes = Buffer.from(text, 'latin1');
      const single = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
      expect(readPieces(single).outcome, 'byte by byte').to.equal('invalid');
      for (let at = 1; at < bytes.length && bytes.length < 1_000; at++) {
        const cut = readPieces([bytes.subarray(0, at), bytes.subarray(at)]);
        expect(cut.outcome, `cut at ${at}`).to.equal('invalid');
      }
    });
  }

  it('is refused as soon as its first bytes cannot be HTTP/1', () => {
    for (const text of ['<', 'HTTP/2', 'HTP', '\x16\x03\x01', '220 ']) {
      expect(read(text).outcome, text).to.equal('invalid');
    }
    expect(read('HTTP/1.').outcome).to.equal('unfinished');
  });

  it('ends with the connection where it has neither length nor chunks', () => {
    const text = `${ok('x-a: b')}all of it`;
    expect(read(text).outcome).to.equal('unfinished');
    expect([read(text, false, true).outcome, read(text, false, true).body]).to.deep.equal([
      'whole',
      'all of it',
    ]);
    for (const cut of [
      `${ok('content-length: 9')}half`,
      `${chunked}${chunk('half')}`,
      'HTTP/1.1 200 OK\r\nx-',
    ]) {
      expect(read(cut, false, true).outcome).to.equal('unfinished');
    }
  });

  it('has no body to HEAD, whatever its head announces', () => {
    for (const head of [ok('content-length: 5'), chunked, ok()]) {
      expect([read(head, true).outcome, read(`${head}x`, true).outcome]).to.deep.equal([
        'whole',
        'whole and more',
      ]);
    }
  });

  it('shows whether the connection continues', () => {
    const says = (version: string, ...lines: string[]): boolean =>
      read(ok('content-length: 0', ...lines).replace('1.1', version)).persistent;
    expect(says('1.1')).to.equal(true);
    expect(says('1.1', 'Connection: Close')).to.equal(false);
    expect(says('1.1', 'connection: x, close')).to.equal(false);
    expect(says('1.1', 'connection: keep-alive', 'connection: close')).to.equal(false);
    expect(says('1.0')).to.equal(false);
    expect(says('1.0', 'Connection: Keep-Alive')).to.equal(true);
  });

  it('is refused where `Connection` names more headers than a head has', () => {
    const names = (count: number): string => `connection: ${Array.from({ length: count }, () => 'x').join()}`;
    expect(read(ok('content-length: 0', names(256))).outcome).to.equal('whole');
    expect(read(ok('content-length: 0', names(257))).outcome).to.equal('invalid');
  });

  it('closes the connection where HTTP/1.0 comes in chunks', () => {
    const body = `${chunk('hello')}0\r\n\r\n`;
    for (const line of ['Connection: keep-alive', 'x-a: b']) {
      const text = ok(line, 'transfer-encoding: chunked').replace('1.1', '1.0') + body;
      const seen = read(text);
      expect([seen.outcome, seen.body, seen.persistent]).to.deep.equal(['whole', 'hello', false]);
      const bytes = Buffer.from(text, 'latin1');
      for (let at = 1; at < bytes.length; at++)
        expect(readPieces([bytes.subarray(0, at), bytes.subarray(at)])).to.deep.equal(seen);
    }
  });

  it('trims blanks around a value and keeps those within', () => {
    const { headers } = read(ok('a:\t b  c \t', 'd:', 'E:f', 'content-length: 0'));
    expect(headers).to.deep.equal(['a', 'b  c', 'd', '', 'e', 'f']);
  });

  // Whatever is put together, and wherever it is cut, the same is read.

  const values = ['', '1', 'a b', 'x'.repeat(70), 'b\xe9\xff', ' padded ', 'Mon, 01 Jan'];
  const names = [
    'Date',
    'x-request-id',
    'Content-Type',
    'Set-Cookie',
    'set-cookie',
    'CF-Ray',
    'Server',
    'Proxy-X',
  ];
  const randomReply = (): string => {
    const lines = Array.from({ length: random(8) }, () => `${pick(names)}:${pick(values)}`);
    const body = 'y'.repeat(random(300));
    let framed = body;
    if (random(2) === 0) {
      lines.splice(random(lines.length + 1), 0, `Content-Length: ${body.length}`);
    } else {
      lines.splice(random(lines.length + 1), 0, 'Transfer-Encoding: Chunked');
      framed = '';
      for (let at = 0; at < body.length; ) {
        const size = 1 + random(80);
        framed += chunk(body.slice(at, at + size));
        at += size;
      }
      framed += '0\r\n\r\n';
    }
    const interim = random(4) === 0 ? 'HTTP/1.1 103 Early\r\nlink: x\r\n\r\n' : '';
    return `${interim}HTTP/1.1 ${pick([200, 429, 500])} X\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${framed}`;
  };

  it('is the same wherever it is cut in two', () => {
    for (let round = 0; round < 20; round++) {
      const bytes = Buffer.from(randomReply(), 'latin1');
      const together = readPieces([bytes]);
      expect(together.outcome, `seed ${seed}`).to.equal('whole');
      for (let at = 1; at < bytes.length; at++) {
        expect(
          readPieces([bytes.subarray(0, at), bytes.subarray(at)]),
          `seed ${seed}, cut ${at}`,
        ).to.deep.equal(together);
      }
      const single = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
      expect(readPieces(single), `seed ${seed}`).to.deep.equal(together);
    }
  });

  it('is the same whatever heads came before it', () => {
    const reader = new ReplyHeadReader();
    for (let round = 0; round < 3_000; round++) {
      let text = randomReply();
      // Some of them broken, so that nothing of those is kept.
      if (random(5) === 0) text = text.slice(0, random(text.length));
      if (random(5) === 0) text = text.replace(pick(['\r\n', ':', 'x']), pick(['\n', '\0', '\r\r\n', ' :']));
      const bytes = Buffer.from(text, 'latin1');
      const cut = random(bytes.length + 1);
      const pieces = random(2) === 0 ? [bytes] : [bytes.subarray(0, cut), bytes.subarray(cut)];
      expect(readPieces(pieces, reader), `seed ${seed}, round ${round}`).to.deep.equal(readPieces(pieces));
    }
  });

  it('neither throws nor reads on for ever, whatever bytes come', () => {
    const reader = new ReplyHeadReader();
    const parts = [
      'HTTP/1.1 200 OK',
      '\r\n',
      '\r',
      '\n',
      'a',
      ': ',
      '5',
      '0',
      ';',
      '\0',
      chunked,
      '\r\n\r\n',
      'ff',
    ];
    for (let round = 0; round < 3_000; round++) {
      let text = pick(['', 'HTTP/1.1 200 OK\r\n', chunked, ok('content-length: 3')]);
      for (let i = random(12); i > 0; i--) text += pick(parts);
      for (let i = random(3); i > 0; i--) text += String.fromCharCode(random(256));
      const bytes = Buffer.from(text, 'latin1');
      const together = readPieces([bytes], reader);
      const single = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
      const apart = readPieces(single);
      // What is broken is known the sooner, the more of it comes at once.
      if (together.outcome === 'invalid') expect(apart.outcome).to.be.oneOf(['invalid', 'unfinished']);
      else expect(apart, `seed ${seed}, ${JSON.stringify(text)}`).to.deep.equal(together);
    }
  });

  it('takes time in proportion to its length, in the smallest pieces too', function () {
    this.timeout(10_000);
    const bytes = Buffer.from(ok(`x-a: ${'b'.repeat(60_000)}`, 'content-length: 0'), 'latin1');
    const single = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
    const parser = new ReplyParser(new ReplyHeadReader());
    parser.start(false);
    const before = process.cpuUsage();
    for (const piece of single) parser.read(piece, 1);
    const { user, system } = process.cpuUsage(before);
    expect(parser.done).to.equal(true);
    expect(user + system).to.be.below(500_000);
  });
});
