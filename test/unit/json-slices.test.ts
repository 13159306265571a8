import { expect } from 'chai';
import fc from 'fast-check';
import { parseJson, stringifyJson } from '../../src/common/json/json.js';
import { writeJsonInSlices } from '../../src/common/json/json-slices.js';

describe('JSON written in slices', () => {
  const written = async (value: unknown, units?: number): Promise<string> =>
    (await writeJsonInSlices(value, units)).toString();

  it('is the same as written at once, wherever it is cut', async () => {
    const values = fc.anything({ withNullPrototype: true, maxDepth: 4 }).filter((value) => {
      const text = JSON.stringify(value);
      return text !== undefined && !text.includes('\\ud');
    });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.jsonValue(), values),
        fc.integer({ min: 0, max: 200 }),
        async (value, units) => {
          expect(await written(value, units)).to.equal(stringifyJson(value));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('keeps pairs of surrogates together, and lone ones as they are', async () => {
    const text = '\u{1f30a}a\ud800b\u{1f30a}\udc00"\\\n\u{1f30a}';
    for (let units = 0; units < 12; units++)
      expect(await written({ text }, units), String(units)).to.equal(JSON.stringify({ text }));
  });

  it('keeps the digits of numbers, leaves out what is undefined, and __proto__ is a key', async () => {
    const text = '{"n":[12345678901234567890.10,1e400],"__proto__":{"a":1},"b":{},"c":[]}';
    for (const units of [0, 5, 1000]) expect(await written(parseJson(text), units)).to.equal(text);
    expect(await written({ a: undefined, b: [undefined], c: 'x' }, 0)).to.equal('{"b":[null],"c":"x"}');
  });

  it('lets others have their turn', async () => {
    let turns = 0;
    const other = setInterval(() => turns++, 0);
    await writeJsonInSlices(Array.from({ length: 40 }, () => 'lorem "ipsum"\n'.repeat(20_000)));
    clearInterval(other);
    expect(turns).to.be.greaterThan(2);
  });
});
