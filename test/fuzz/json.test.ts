import { expect } from 'chai';
import fc from 'fast-check';
import { isLosslessNumber, parse, stringify } from 'lossless-json';
import { LosslessNumber, parseJson, stringifyJson } from '../../src/common/json/json.js';
import { editJson, editJsonBytes, type JsonEdit } from '../../src/common/json/json-edit.js';
import { scanJson } from '../../src/common/json/json-scan.js';

const space = fc.constantFrom('', '', ' ', '\n', '\t ', '\r\n');

/** A string as some writer might spell it: escapes where none are needed. */
const stringText = fc
  .tuple(fc.string({ unit: 'binary', maxLength: 12 }), fc.boolean())
  .map(([text, escaped]) => {
    if (!escaped) return JSON.stringify(text);
    return `"${Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')}"`;
  });
const keyText = fc.oneof(
  stringText,
  fc.constantFrom(
    '"model"',
    '"mod\\u0065l"',
    '"a"',
    '"__proto__"',
    '"b"',
    '"constructor"',
    '"a\\\\"',
    '"ö"',
    '"\\u00f6"',
  ),
);
const digits = fc.stringMatching(/^(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][-+]?[0-9]{1,3})?$/);
const numberText = fc.tuple(fc.constantFrom('', '-'), digits).map(([sign, text]) => sign + text);

const { object, value } = fc.letrec<{ value: string; object: string; array: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    numberText,
    stringText,
    fc.constantFrom('true', 'false', 'null'),
    tie('object'),
    tie('array'),
  ),
  object: fc
    .tuple(space, fc.array(fc.tuple(space, keyText, space, space, tie('value'), space), { maxLength: 6 }))
    .map(
      ([inner, members]) =>
        `{${members.length === 0 ? inner : members.map(([a, k, b, c, v, d]) => `${a}${k}${b}:${c}${v}${d}`).join(',')}}`,
    ),
  array: fc
    .tuple(space, fc.array(fc.tuple(space, tie('value'), space), { maxLength: 6 }))
    .map(
      ([inner, items]) => `[${items.length === 0 ? inner : items.map((item) => item.join('')).join(',')}]`,
    ),
}));

/** By value, every digit: what the library of that purpose makes of a text. */
const canonical = (text: string): string =>
  stringify(
    parse(text, undefined, { parseNumber: normalNumber, onDuplicateKey: ({ newValue }) => newValue }),
  ) ?? '';

function normalNumber(text: string): unknown {
  const ours = parseJson(text);
  return ours instanceof LosslessNumber ? parse(text) : ours;
}

describe('json under fuzz', () => {
  it('parses and writes whatever lossless-json does, digit for digit', () => {
    fc.assert(
      fc.property(value, (text) => {
        const { bigNumbers } = scanJson(Buffer.from(text));
        const written = stringifyJson(parseJson(text, bigNumbers));
        expect(written).to.equal(stringifyJson(parseJson(text)));
        // The library sets the prototype of an object that has a member __proto__; ours keeps the member.
        if (!text.includes('__proto__')) expect(written).to.equal(canonical(text));
        expect(JSON.stringify(JSON.parse(written))).to.equal(JSON.stringify(JSON.parse(text)));
      }),
      { numRuns: 1500 },
    );
  });

  it('keeps every number that it does not make a double of', () => {
    fc.assert(
      fc.property(numberText, (text) => {
        const number = parseJson(text);
        if (number instanceof LosslessNumber) {
          expect(number.value).to.equal(text);
          expect(isLosslessNumber(parse(text))).to.equal(true);
        } else {
          expect(Object.is(number, JSON.parse(text))).to.equal(true);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('edits to what parsing, changing and writing gives', () => {
    const edits = fc.array(
      fc.record({
        key: fc.constantFrom('model', 'a', 'b', '__proto__', 'ö', 'new', 'a\\'),
        value: fc.option(value, { nil: null }),
      }),
      { minLength: 1, maxLength: 4 },
    );
    fc.assert(
      fc.property(object, edits, (text, changes: JsonEdit[]) => {
        const edited = editJson(text, changes);
        expect(editJsonBytes(Buffer.from(text), changes).toString()).to.equal(Buffer.from(edited).toString());
        const wanted = new Map(Object.entries(JSON.parse(text) as object));
        for (const { key, value } of changes) {
          if (value === null) wanted.delete(key);
          else wanted.set(key, JSON.parse(value));
        }
        const got = new Map(Object.entries(JSON.parse(edited) as object));
        expect([...got].sort(byKey)).to.deep.equal([...wanted].sort(byKey));
      }),
      { numRuns: 3000 },
    );
  });

  it('changes nothing outside the members it edits', () => {
    fc.assert(
      fc.property(object, value, value, (text, first, second) => {
        const key = 'key-of-the-test';
        const added = editJson(text, [{ key, value: first }]);
        expect(editJson(editJson(added, [{ key, value: second }]), [{ key, value: first }])).to.equal(added);
        expect(editJson(added, [{ key, value: null }])).to.equal(text);
      }),
      { numRuns: 1500 },
    );
  });

  it('scans any bytes without throwing, and refuses what is too deep', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 400 }),
        fc.string({
          unit: fc.constantFrom('"', '\\', '[', ']', '{', '1', 'e', ',', 'x'.repeat(100)),
          maxLength: 60,
        }),
        (bytes, text) => {
          scanJson(bytes);
          scanJson(Buffer.from(text));
        },
      ),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(value, (text) => {
        const depth = depthOf(text);
        const at = (maxDepth: number) =>
          scanJson(Buffer.from(text), { maxDepth, maxTokens: 1e6, maxMembers: 1e6 }).problem === null;
        expect(at(depth)).to.equal(true);
        if (depth > 0) expect(at(depth - 1)).to.equal(false);
      }),
      { numRuns: 1000 },
    );
  });
});

const byKey = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : a > b ? 1 : 0);

function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const char of text.replace(/"(?:[^"\\]|\\.)*"/g, '')) {
    if (char === '[' || char === '{') deepest = Math.max(deepest, ++depth);
    else if (char === ']' || char === '}') depth--;
  }
  return deepest;
}
