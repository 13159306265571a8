import { expect } from 'chai';
import { isQuick, jsonCaps, scanJson } from '../../src/common/json/json-scan.js';
import { quickest } from '../support/quickest.js';
import { expectWithinMs } from '../support/time-limits.js';

const scan = (text: string, maxDepth = 64, maxTokens = 1000) =>
  scanJson(Buffer.from(text), { maxDepth, maxTokens, maxMembers: 10 });

describe('json-scan', () => {
  it('allows 64 levels and refuses the 65th', () => {
    expect(scan('['.repeat(64) + ']'.repeat(64)).problem).to.equal(null);
    expect(scan('['.repeat(65) + ']'.repeat(65)).problem).to.contain('64 levels');
    expect(scan('{"a":'.repeat(65)).problem).to.contain('64 levels');
  });

  it('stops at the depth, however long the text', async () => {
    const text = Buffer.alloc(20_000_000, '[');
    expect(scanJson(text).problem).to.contain('levels');
    expectWithinMs(await quickest(5, () => scanJson(text)), 50);
  });

  it('counts neither brackets nor digits inside strings', () => {
    expect(
      scan(JSON.stringify(['[[[[{{{{'.repeat(100), '12345678901234567890', 'a"[\\'.repeat(50)]), 1).problem,
    ).to.equal(null);
    expect(scan('["12345678901234567890","\\\\",1]').bigNumbers).to.equal(false);
    expect(scan(`["${'x'.repeat(200)}\\"[[[[${'y'.repeat(300)}\\\\",[1]]`, 2)).to.deep.equal({
      problem: null,
      bigNumbers: false,
      tokens: 3,
    });
    expect(scan(`["${'x'.repeat(300)}\\\\\\"[[[[",[[1]]]`, 2).problem).to.contain('levels');
  });

  it('refuses more tokens than the cap', () => {
    expect(scan(`[${'1,'.repeat(998)}1]`).problem).to.equal(null);
    expect(scan(`[${'1,'.repeat(1000)}1]`).problem).to.contain('1000');
  });

  it('counts the members of each object for itself', () => {
    const object = (n: number): string => `{${Array.from({ length: n }, (_, i) => `"${i}":[]`).join()}}`;
    expect(scan(`[${object(10)},{"a":${object(10)},"b":${object(9)}}]`).problem).to.equal(null);
    for (const text of [object(11), `{"a":${object(11)}}`, object(10).replace('[]', object(11))])
      expect(scan(text).problem, text).to.contain('more than 10 members');
  });

  it('refuses a number of more than 1000 characters', () => {
    expect(scan(`[${'1'.repeat(1000)}]`).problem).to.equal(null);
    for (const number of ['1'.repeat(1001), `0.${'1'.repeat(1000)}`, `1e${'0'.repeat(1000)}`])
      expect(scan(`[${number}]`).problem).to.contain('1000 characters');
  });

  it('grants 100,000 tokens a MiB, as many to a small text, and 320,000 at most', () => {
    expect(jsonCaps(10).maxTokens).to.equal(100_000);
    expect(jsonCaps(1 << 20).maxTokens).to.equal(100_000);
    expect(jsonCaps(3 << 20).maxTokens).to.equal(300_000);
    expect(jsonCaps(10 << 20).maxTokens).to.equal(320_000);
  });

  it('sees numbers that a double may not hold', () => {
    for (const text of [
      '[1234567890123456]',
      '{"a":1e5}',
      '[-0.1234567890123456]',
      '9E1',
      '[12345678901234567890',
    ]) {
      expect(scan(text).bigNumbers, text).to.equal(true);
    }
    for (const text of ['[123456789012345]', '{"a":true}', '[false,null]', '"1e5"', '']) {
      expect(scan(text).bigNumbers, text).to.equal(false);
    }
  });

  it('survives text that ends anywhere', () => {
    const text = `{"a\\"b":["${'x'.repeat(300)}",-1.5e10,{"c":"\\\\"}]}`;
    for (let length = 0; length <= text.length; length++)
      expect(scan(text.slice(0, length)).problem).to.equal(null);
  });
});

describe('isQuick', () => {
  it('counts the values after a deep one', () => {
    const values = '{},'.repeat(85_000);
    const deep = '['.repeat(65) + ']'.repeat(65);
    expect(isQuick(Buffer.from(`[${values}0]`))).to.equal(false);
    expect(isQuick(Buffer.from(`[${deep},${values}0]`))).to.equal(false);
    expect(isQuick(Buffer.from(`[${deep},"${'x'.repeat(100_000)}"]`))).to.equal(true);
  });
});
