import { expect } from 'chai';
import type { CheckParameters, TextCheck } from '../../plugins/guardrails/check.js';
import { checks } from '../../plugins/guardrails/checks/index.js';
import { guardrailChecks } from '../../src/common/guardrails/guardrail-checks.js';

const verdictOf = (id: string, text: string, parameters: CheckParameters): boolean =>
  (checks.get(id) as TextCheck).run({ phase: 'before', texts: [text], text }, parameters).verdict;

describe('the checks of guardrails', () => {
  it('are all in the table of parameters', () => {
    expect([...checks.keys()].filter((id) => !guardrailChecks.has(id))).to.deep.equal([]);
  });

  it('count words', () => {
    const bounds = { minWords: 2, maxWords: 3, not: false };
    for (const [text, verdict] of [
      ['', false],
      ['one', false],
      [' one\n two ', true],
      ['one two  three', true],
      ['one two three four', false],
    ] as const) {
      expect(verdictOf('default.wordCount', text, bounds), text).to.equal(verdict);
      expect(verdictOf('default.wordCount', text, { ...bounds, not: true }), text).to.equal(!verdict);
    }
  });

  it('find words of which any, all or none have to be there', () => {
    const words = ['red', 'green'];
    const verdicts = (text: string): boolean[] =>
      ['any', 'all', 'none'].map((operator) => verdictOf('default.contains', text, { words, operator }));
    expect(verdicts('a red and a green one')).to.deep.equal([true, true, false]);
    expect(verdicts('a red one')).to.deep.equal([true, false, false]);
    expect(verdicts('a blue one')).to.deep.equal([false, false, true]);
  });
});
