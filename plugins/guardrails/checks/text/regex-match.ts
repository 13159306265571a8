import type { TextCheck } from '../../check.js';

interface Parameters {
  readonly rule: string;
  readonly not: boolean;
}

/** Does the text match a regular expression (ECMAScript, without flags)? */
export const regexMatch: TextCheck = {
  id: 'default.regexMatch',
  runs: 'text',
  run({ text }, parameters) {
    const { rule, not } = parameters as unknown as Parameters;
    const match = new RegExp(rule).exec(text);
    const verdict = (match !== null) !== not;
    const data = {
      regexPattern: rule,
      not,
      explanation: match === null ? 'The text does not match the pattern.' : 'The text matches the pattern.',
      // Where, but not what: the pattern may look for secrets.
      matchDetails: match === null ? null : { index: match.index, length: match[0].length },
    };
    return { verdict, data };
  },
};
