// lane: not quick
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect } from 'chai';
import fc from 'fast-check';
import { Tiktoken } from 'tiktoken/lite';
import { Vocabulary } from '../../workers/byte-pairs.js';
import { type EncodingName, encoderNamed } from '../../workers/encoders.js';

const require = createRequire(import.meta.url);

/**
 * Letters, marks, digits and symbols that every Unicode version of this decade has: tiktoken and Node may each come with
 * another version, and see no letter in a character that is newer than theirs.
 */
const ranges: readonly (readonly [number, number])[] = [
  [0x00, 0x24f], // control characters, Latin
  [0x250, 0x36f], // phonetic, modifiers, combining marks
  [0x391, 0x3a1],
  [0x400, 0x4ff],
  [0x5d0, 0x5ea],
  [0x620, 0x669],
  [0x904, 0x94d],
  [0xe01, 0xe3a],
  [0x2000, 0x206f],
  [0x20a0, 0x20b9],
  [0x2150, 0x2188],
  [0x2200, 0x22ff],
  [0x3041, 0x3096],
  [0x4e00, 0x9fa5],
  [0xac00, 0xd7a3],
  [0xe000, 0xe0ff], // private use
  [0xfe00, 0xfe0f], // variation selectors
  [0xff01, 0xff5e],
  [0x10330, 0x1034a],
  [0x1d400, 0x1d454],
  [0x1f600, 0x1f64f],
  [0x20000, 0x2a6d6],
];
const character = fc
  .oneof(...ranges.map(([min, max]) => fc.integer({ min, max })))
  .map((code) => String.fromCodePoint(code));

for (const name of ['cl100k_base', 'o200k_base'] satisfies EncodingName[]) {
  describe(`the token counts of ${name}`, () => {
    let reference: Tiktoken;
    const encoder = encoderNamed(name);
    const expectSame = (text: string): void => {
      expect(encoder.count(text), JSON.stringify(text)).to.equal(reference.encode_ordinary(text).length);
    };

    before(() => {
      const data = require(`tiktoken/encoders/${name}`) as {
        bpe_ranks: string;
        special_tokens: Record<string, number>;
        pat_str: string;
      };
      reference = new Tiktoken(data.bpe_ranks, data.special_tokens, data.pat_str);
    });

    after(() => reference.free());

    it('are tiktoken’s for code, prose and documents of this repository', () => {
      for (const file of ['package.json', 'src/main.ts', 'README.md', 'docs/openapi.json', 'docs/cache.md'])
        expectSame(readFileSync(file, 'utf8').slice(0, 100_000));
    });

    it('are tiktoken’s for scripts, white space, contractions and special tokens', () => {
      for (const text of [
        '',
        ' ',
        '   \n\n  x',
        'a\u0085b\ufeffc\u00a0 d\u3000\u2003e',
        "it's IT'S they'RE we'Ve I'll I'm he'd don't ſ'ſ x'ſ",
        '早上好，世界！ これはペンです。 안녕하세요 สวัสดีครับ नमस्ते',
        'مرحبا بالعالم שלום עולם Здравствуй, мир',
        '😀👩‍👩‍👧‍👦🇩🇪 e\u0301 \u0301',
        '<|endoftext|> <|fim_prefix|>',
        '1234567890 3.14159 ½ Ⅷ',
        'camelCaseHTTPServer snake_case //comments\n\t/* x */ "}{]['.repeat(3),
        'lone \ud800 and \udc00.',
        'a'.repeat(3000),
        '早'.repeat(700),
        '\n'.repeat(300),
      ])
        expectSame(text);
    });

    it('are tiktoken’s for any text', () => {
      const piece = fc.oneof(
        fc.string({ unit: character, maxLength: 8 }),
        fc.string({ maxLength: 8 }),
        fc.constantFrom(
          ' ',
          '\n',
          '\r\n',
          '\t',
          "'s",
          "'LL",
          '/',
          'Ǆ',
          'ʰ',
          'word',
          'Word',
          'WORD',
          '12345',
          '…',
        ),
      );
      const text = fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(''));
      fc.assert(fc.property(text, expectSame), { numRuns: 2000 });
    });
  });
}

describe('the file of an encoding', () => {
  const read = (text: string) => new Vocabulary(Buffer.from(text));
  const rank = (vocabulary: Vocabulary, token: string): number =>
    vocabulary.rank(Buffer.from(token), 0, Buffer.byteLength(token));

  it('has its tokens in lines, each with the rank of its first', () => {
    const vocabulary = read(
      '{"pat_str":"x","bpe_ranks":"! 0 IQ== Ig==\\n! 2 IWE= IWFi","special_tokens":{}}',
    );
    expect(['!', '"', '!a', '!ab'].map((token) => rank(vocabulary, token))).to.deep.equal([0, 1, 2, 3]);
    expect(rank(vocabulary, 'a')).to.equal(0x7fffffff);
  });

  it('is refused where it has no tokens, or leaves a rank out', () => {
    expect(() => read('{}')).to.throw('no bpe_ranks');
    expect(() => read('{"bpe_ranks":"! 0 IQ==\\n! 2 Ig=="}')).to.throw('not contiguous');
  });
});
