import { expect } from 'chai';
import { asciiJson } from '../../src/common/ledger/line-writer.js';
import { wholeCharactersJson } from '../../src/common/text/whole-characters.js';

describe('JSON of whole characters', () => {
  const cases = [
    ['\ud800', '\ufffd'],
    ['a\udfff\ud83d\ude00\ud800', 'a\ufffd😀\ufffd'],
    ['\ud800\ud800\udc00', '\ufffd\u{10000}'],
    ['\\ud800', '\\ud800'],
    ['\\\\\ud800\\', '\\\\\ufffd\\'],
  ] as const;

  it('has U+FFFD for halves of surrogate pairs, and leaves all else as it is', () => {
    for (const [given, kept] of cases)
      expect(JSON.parse(wholeCharactersJson({ [given]: [given] }))).to.deep.equal({ [kept]: [kept] });
  });

  it('is what the journal gets: such a row would stop PostgreSQL from reading its JSON', () => {
    for (const [given, kept] of cases) expect(JSON.parse(asciiJson(given))).to.equal(kept);
  });
});
