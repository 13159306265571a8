import { expect } from 'chai';
import { parseJson, stringifyJson } from '../../src/common/json/json.js';
import { jsonBytes } from '../../src/common/json/json-bytes.js';

/** chai is asked for a difference alone: there are thousands of values. */
const same = (value: unknown): void => {
  const written = jsonBytes(value).toString('utf8');
  const text = stringifyJson(value);
  if (written !== text) expect(written).to.equal(text);
};

describe('json bytes', () => {
  it('are those of the JSON text, for every kind of value', () => {
    const values: unknown[] = [
      null,
      true,
      false,
      0,
      -0,
      1.5e300,
      -7e-9,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      '',
      'text',
      [],
      {},
      [[], {}, [null, [1]]],
      { a: 1, b: { c: [true, 'x', null] }, '': 0, 'ä "key"\n': 'é' },
      JSON.parse('{"__proto__":{"a":1},"10":1,"2":2,"toJSON":3}'),
      Object.assign(Object.create(null), { bare: 1 }),
    ];
    for (const value of values) same(value);
  });

  it('leave out what JSON has no word for, as JSON.stringify does', () => {
    const nothing = (): void => {};
    same({ a: undefined, b: nothing, c: 1, d: Symbol('d'), e: undefined });
    same({ a: undefined });
    same([undefined, nothing, 1]);
    same(undefined);
    same({ at: new Date(0), map: new Map([[1, 2]]), bytes: Buffer.from('x'), boxed: new String('x') });
    same({ before: 1, own: { a: 1, toJSON: () => 'instead' }, gone: { toJSON: nothing }, after: 2 });
  });

  it('keep the digits of numbers that no double holds', () => {
    const text =
      '{"seed":12345678901234567890,"list":[1E400,-0.1000000000000000055],"s":"12345678901234567890"}';
    expect(jsonBytes(parseJson(text)).toString()).to.equal(text);
  });

  it('escape every character that needs it, at any place in a text of any length', () => {
    const escaped = [...Array(0x20).keys()]
      .map((code) => String.fromCharCode(code))
      .concat('"', '\\', '\x7f');
    for (const length of [1, 5, 63, 64, 65, 66, 67, 200]) {
      for (const char of escaped) {
        for (const at of [0, 1, 2, 3, length >> 1, length - 2, length - 1]) {
          if (at < 0 || at >= length) continue;
          same(`${'x'.repeat(at)}${char}${'y'.repeat(length - at - 1)}`);
        }
      }
    }
    same(escaped.join('').repeat(40));
    same('{"a":"b\\n"}\n'.repeat(50));
    // A quote behind the text's end is not the text's.
    for (let length = 60; length < 80; length++) same(['z'.repeat(length), '"', '\\']);
  });

  it('escape a text wherever it begins in the memory that values share', () => {
    // The text had room there, and its escapes had not: what was written went on with memory of other values.
    const lines = 'a line\n'.repeat(700);
    const controls = '\x01'.repeat(1400);
    for (let i = 0; i < 2000; i++) {
      same('x'.repeat(7 + (i % 50)));
      same(lines.slice(0, 4096 + (i % 700)));
      same({ [controls.slice(0, 30)]: [controls.slice(0, 100 + (i % 1200))] });
    }
  });

  it('are UTF-8, with half surrogate pairs escaped', () => {
    for (const text of ['é', '你好', '😀', 'a\ud83d', '\ude00b', '\ud83dx\ude00', '\u2028', '\ufffd']) {
      for (const times of [1, 30, 200]) same(text.repeat(times));
      same(`${'plain '.repeat(20)}${text}\n`);
      same({ [text]: text });
    }
  });

  it('are the same for random values', () => {
    // A linear congruential generator: the same values each time.
    let state = 42;
    const random = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % below;
    };
    const pieces = ['word ', '"', '\\', '\n', '\t', '\x01', 'ü', '漢', '🙂', '\ud800', 'longer than that '];
    const text = (): string => {
      let out = '';
      for (let left = random(24); left > 0; left--) out += pieces[random(pieces.length)];
      return out;
    };
    const value = (depth: number): unknown => {
      const kind = random(depth > 3 ? 4 : 6);
      if (kind === 0) return random(1_000_000) / 7;
      if (kind === 1) return [null, true, false, undefined][random(4)];
      if (kind < 4) return text();
      if (kind === 4) return Array.from({ length: random(5) }, () => value(depth + 1));
      return Object.fromEntries(Array.from({ length: random(6) }, () => [text(), value(depth + 1)]));
    };
    for (let i = 0; i < 500; i++) same({ value: value(0) });
  });

  it('are whole for values larger than the room that is kept for them', () => {
    const long = 'A line of text, 漢字 and "quotes".\n'.repeat(5000);
    same({ long, after: [1, 2, 3] });
    same({ lines: Array.from({ length: 5000 }, (_, i) => ({ i, text: `line ${i}` })) });
    same(['\x00'.repeat(100_000), 'x'.repeat(300_000)]);
  });

  it('stay as they are when others are written', () => {
    const first = jsonBytes({ a: 'x'.repeat(300) });
    const copy = Buffer.from(first);
    for (let i = 0; i < 500; i++) jsonBytes({ b: 'y'.repeat(300), i });
    expect(first.equals(copy)).to.equal(true);
  });

  it('are right again after a value that cannot be written', () => {
    expect(() => jsonBytes({ a: 'written', b: 1n })).to.throw(TypeError);
    same({ c: 1 });
  });
});
