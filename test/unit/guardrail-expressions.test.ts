import { expect } from 'chai';
import fc from 'fast-check';
import { RE2JS } from 're2js';
import { Expression } from '../../plugins/guardrails/checks/expression/expression.js';
import { re2Syntax } from '../../plugins/guardrails/checks/expression/re2-syntax.js';
import { readExpression } from '../../plugins/guardrails/checks/expression/tree.js';
import { regexMatch } from '../../plugins/guardrails/checks/text/regex-match.js';
import { regexReplace } from '../../plugins/guardrails/checks/text/regex-replace.js';
import { dataOf } from '../../plugins/guardrails/run/text-check.js';
import { expectWithinMs } from '../support/time-limits.js';

/** Expressions by parts that mean the same in both engines' syntaxes, or are translated. */
const part = fc.constantFrom(
  ...[
    'a',
    'b',
    '.',
    '[ab]',
    '[^a]',
    '\\d',
    '\\W',
    '\\s',
    '[\\s\\S]',
    '(a|b)',
    '(?:ab|ba)',
    '(?<n>b)',
    '^',
    '$',
  ],
  ...[
    '\\b',
    '[a-c]{2}',
    'a?',
    'b*',
    '(?:ab)*?',
    '.{1,3}',
    '[^\\w-]+',
    '(a+)+',
    '\\u0061',
    '\\x62',
    '\\.',
    '[]b]',
  ],
);
const isExpression = (source: string): boolean => source.split('?<n>').length < 3;
const expressions = fc
  .array(part, { minLength: 1, maxLength: 6 })
  .map((parts) => parts.join(''))
  .filter(isExpression);
const texts = fc.string({
  unit: fc.constantFrom('a', 'b', 'c', '1', ' ', '\n', '.', '-', '\u00a0'),
  maxLength: 30,
});

describe('a regular expression of a check', () => {
  it('matches in the engine with linear time where JavaScript matches', () => {
    fc.assert(
      fc.property(expressions, texts, (source, text) => {
        const tree = readExpression(source, '');
        if (tree === null) return;
        const matcher = RE2JS.compile(re2Syntax(tree, '')!).matcher(text);
        const found = matcher.find() ? [matcher.start(), matcher.group()] : null;
        const match = new RegExp(source).exec(text);
        expect(found, source).to.deep.equal(match === null ? null : [match.index, match[0]]);
      }),
      { numRuns: 500 },
    );
  });

  it('ignores cases as JavaScript does', () => {
    const cases = ['[^a-c]+', 'straße', '[à-ö]+', '\\W', 'k', 's'];
    for (const source of cases) {
      const engine = RE2JS.compile(re2Syntax(readExpression(source, 'i')!, 'i')!);
      for (const text of ['ABC', 'STRASSE', 'STRAßE', 'ÀÖ', '\u212a', '\u017f', 'S', 'x'])
        expect(engine.matcher(text).find(), `${source} ${text}`).to.equal(new RegExp(source, 'i').test(text));
    }
  });

  it('takes time linear in the text where a simple engine would never end', () => {
    const hostile = [
      '^(a+)+$',
      '(x+x+)+y',
      '\\s+$',
      '(a|a)*b',
      '(?:a|ab)*(?:a|ba)*c',
      '(.*)*x',
      '^(\\w+\\s?)*$',
    ];
    for (const rule of hostile) {
      for (const text of ['a', 'x', ' ', 'ab', 'a '].map((some) => `${some.repeat(50_000 / some.length)}!`)) {
        const expression = new Expression(rule);
        const from = performance.now();
        expression.find(text);
        expectWithinMs(performance.now() - from, 500, { what: rule });
      }
    }
    const [found] = ['^(a+)+$'].map((rule) => new Expression(rule).find(`${'a'.repeat(50_000)}`));
    expect(found).to.deep.equal({ index: 0, length: 50_000 });
    expect(new Expression('(x+x+)+y').find('x'.repeat(50_000))).to.equal(null);
  });

  it('is not expected to be quick where its time has no bound', () => {
    const times = (rule: string, length = 4096) => new Expression(rule).nanoseconds(length);
    for (const rule of [
      '\\b\\d{3}-\\d{2}-\\d{4}\\b',
      '^[^@]+@',
      '(?:one|two|three) words',
      '[A-Z]{2}-\\d{6}',
    ])
      expect(times(rule), rule).to.be.below(400_000);
    for (const rule of [
      '^(a+)+$',
      '\\s+$',
      '(?=a)b',
      '(a)\\1',
      '(?:a?){30}a{30}',
      '(?:a|a){30}b',
      'a{1,5000}',
    ])
      expect(times(rule), rule).to.satisfy((ns: number) => ns > 1_000_000);
  });

  it('is never taken for quick where it takes long', () => {
    fc.assert(
      fc.property(expressions, (source) => {
        const expression = new Expression(source);
        const text = 'ab'.repeat(200);
        const expected = expression.nanoseconds(text.length);
        if (expected > 1_000_000) return;
        const regex = new RegExp(source);
        const best = Math.min(
          ...Array.from({ length: 5 }, () => {
            const from = performance.now();
            regex.test(text);
            return performance.now() - from;
          }),
        );
        // One that is run for the first times is interpreted, which takes longer.
        expectWithinMs(best, (expected * 20 + 200_000) / 1e6, { what: source });
      }),
    );
  });

  it('has groups in its replacement, in either engine', () => {
    const replaced = (rule: string, redactText: string, text: string) =>
      regexReplace.run({ phase: 'before', texts: [text], text }, { rule, redactText }).transformed?.[0];
    const long = 'x@y '.repeat(20_000);
    for (const filler of ['', long]) {
      expect(replaced('(\\w+)@(\\w+)', '$2 at $1', `a@b ${filler}`)?.slice(0, 6)).to.equal('b at a');
      expect(replaced('/(?<who>A)@/i', '[$<who>]', `a@b ${filler}`)?.slice(0, 4)).to.equal('[a]b');
    }
  });

  it('replaces as JavaScript does, whatever the replacement is', () => {
    const pieces = ['x', '$', '$$', '$&', '$`', "$'", '$1', '$2', '$10', '$01', '$00', '$<n>', '$<m>', '$<'];
    const replacements = fc
      .array(fc.constantFrom(...pieces), { maxLength: 4 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(expressions, texts, replacements, (source, text, replacement) => {
        const expected = text.replace(new RegExp(source, 'g'), replacement);
        expect(new Expression(source, 'g').replaceAll(text, replacement)).to.equal(expected);
      }),
      { numRuns: 1000 },
    );
    expect(new Expression('a', 'g').replaceAll('a', '$<$&$<n>')).to.equal('$<a$<n>');
    expect(new Expression('', 'gu').replaceAll('a\u{1f600}b', '-')).to.equal('-a-\u{1f600}-b-');
  });

  it('does not make a text far longer: the engine would take all memory of the process', () => {
    const grow = (rule: string, replacement: string) => () =>
      new Expression(rule, 'g').replaceAll('a'.repeat(200_000), replacement);
    for (const replacement of ["$'", '$`', '$&'.repeat(100), 'x'.repeat(2000)]) {
      expect(grow('a', replacement), replacement.slice(0, 10)).to.throw('too long');
      expect(grow('(?:a+)?a', `${replacement}`.repeat(20)), replacement.slice(0, 10)).to.satisfy(
        (replace: () => string) => {
          try {
            return replace().length < 2_000_000;
          } catch (thrown) {
            return (thrown as Error).name === 'CheckNotRun';
          }
        },
      );
    }
  });

  it('is not run on the event loop where its replacement may make the text much longer', () => {
    const cost = (redactText: string) => regexReplace.nanoseconds!(4000, { rule: 'a', redactText });
    expect(cost('[name]')).to.be.below(200_000);
    for (const redactText of ["$'", '$`', '$&'.repeat(1000), 'x'.repeat(60_000)])
      expect(cost(redactText)).to.be.above(1_000_000);
  });

  it('shows where it matches, and not what', () => {
    const data = dataOf(
      regexMatch.run({ phase: 'before', texts: ['key 42'], text: 'key 42' }, { rule: '\\d+', not: false }),
    );
    expect(data).to.deep.include({ matchDetails: { index: 4, length: 2 } });
    expect(JSON.stringify(data)).not.to.contain('42');
  });
});
