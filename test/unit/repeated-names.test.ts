import { expect } from 'chai';
import { parseJson } from '../../src/common/json/json.js';
import { scanJson } from '../../src/common/json/json-scan.js';
import { hasRepeatedNames } from '../../src/common/json/repeated-names.js';

const repeats = (text: string): boolean =>
  hasRepeatedNames(scanJson(Buffer.from(text)).tokens, parseJson(text));

describe('repeated names of a JSON text', () => {
  it('are found at every depth, however they are written', () => {
    for (const text of [
      '{"a":1,"a":1}',
      '{"a":1,"\\u0061":[]}',
      '{"a":[{"b":{"c":1,"d":2,"c":3}}]}',
      '[[],{"":1,"":{}}]',
      '{"__proto__":1,"__proto__":{"a":2}}',
      '{"a":{"b":1,"c":[1,2]},"a":2}',
    ]) {
      expect(repeats(text), text).to.equal(true);
    }
  });

  it('are not in texts whose objects have each name once', () => {
    for (const text of [
      '{}',
      '[]',
      'null',
      '"{,:"',
      ' { "a" : [ ] , "b" : { } } ',
      '[{"a":1},{"a":1}]',
      '{"a":{"a":{"a":[1,"x,y",{}]}},"A":null}',
      '{"__proto__":1,"n":123456789012345678901234567890,"m":[1e400]}',
    ]) {
      expect(repeats(text), text).to.equal(false);
    }
  });
});
