import { expect } from 'chai';
import {
  isJsonInteger,
  isJsonObject,
  LosslessNumber,
  numberOf,
  parseJson,
  stringifyJson,
} from '../../src/common/json/json.js';

describe('json', () => {
  it('gives plain numbers wherever a double holds the value', () => {
    for (const text of [
      '1',
      '-0.5',
      '1.50',
      '1e2',
      '0.30000000000000004',
      '2251799813685248.5',
      '0e99999',
      '1E+2',
    ]) {
      expect(typeof parseJson(text), text).to.equal('number');
    }
  });

  it('keeps the digits of numbers that a double would change', () => {
    for (const text of [
      '9223372036854775807',
      '-12345678901234567890',
      '0.1000000000000000055',
      '1e400',
      '-1E-999',
      '9007199254740993',
    ]) {
      expect(parseJson(text), text).to.be.instanceOf(LosslessNumber);
      expect(stringifyJson(parseJson(text)), text).to.equal(text);
    }
  });

  it('writes them back at any depth, and leaves strings that look alike alone', () => {
    const text =
      '{"seed":9223372036854775807,"a":[{"b":[1e400,"9223372036854775807"]}],"s":"\\"12345678901234567890"}';
    expect(stringifyJson(parseJson(text))).to.equal(text);
  });

  it('takes no object of a client for a number of its own', () => {
    const text = '{"isLosslessNumber":true,"value":"x","n":12345678901234567890}';
    expect(stringifyJson(parseJson(text))).to.equal(text);
  });

  it('gives a plain JSON.stringify a number, never the mark', () => {
    expect(JSON.stringify(parseJson('[12345678901234567890]'))).to.equal('[12345678901234567000]');
  });

  it('refuses what JSON.parse refuses, big numbers or not', () => {
    const texts = [
      '{12345678901234567890:1}',
      '{"a":1,12345678901234567890 :2}',
      `{12345678901234567890${' '.repeat(80)}:1}`,
      '01234567890123456789',
      '12345678901234567890.',
      '--12345678901234567890',
      '+12345678901234567890',
      '12345678901234567890x',
      '[12345678901234567890"a"]',
      '1e',
      '',
      '{"a":12345678901234567890',
      '\ufeff{}',
    ];
    for (const text of texts) expect(() => parseJson(text), text).to.throw(SyntaxError);
  });

  it('keeps __proto__ an ordinary member', () => {
    for (const text of [
      '{"__proto__":{"polluted":1}}',
      '{"__proto__":{"polluted":12345678901234567890}}',
      '{"__proto__":12345678901234567890}',
    ]) {
      const value = parseJson(text) as Record<string, unknown>;
      expect(Object.hasOwn(value, '__proto__')).to.equal(true);
      expect(value['polluted']).to.equal(undefined);
      expect(stringifyJson(value)).to.equal(text);
    }
    expect(({} as Record<string, unknown>)['polluted']).to.equal(undefined);
  });

  it('lets the last of equal keys count', () => {
    expect(parseJson('{"a":1,"a":2}')).to.deep.equal({ a: 2 });
    expect(stringifyJson(parseJson('{"a":1,"a":12345678901234567890}'))).to.equal(
      '{"a":12345678901234567890}',
    );
  });

  it('distinguishes objects, numbers and integers', () => {
    expect(isJsonObject(parseJson('12345678901234567890'))).to.equal(false);
    expect(isJsonObject([])).to.equal(false);
    expect(isJsonObject(null)).to.equal(false);
    expect(isJsonObject({})).to.equal(true);
    expect(numberOf('5')).to.equal(null);
    expect(numberOf(parseJson('9223372036854775807'))).to.equal(2 ** 63);
    expect(isJsonInteger(parseJson('12345678901234567890'))).to.equal(true);
    expect(isJsonInteger(parseJson('1.00000000000000000000000000000001'))).to.equal(false);
    expect(isJsonInteger(1.5)).to.equal(false);
    expect(isJsonInteger(true)).to.equal(false);
  });
});
