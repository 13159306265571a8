import type { TextCheck } from '../../check.js';

/** A text without letters is in every case. */
function caseCheck(id: string, name: string, other: RegExp, otherName: string): TextCheck {
  return {
    id,
    runs: 'text',
    nanoseconds: (length) => 4 * length,
    run({ text }, parameters) {
      const not = parameters['not'] as boolean;
      const isSo = !other.test(text);
      const data = () => ({
        not,
        explanation: isSo ? `All letters are ${name}.` : `The text contains ${otherName} letters.`,
      });
      return { verdict: isSo !== not, data };
    },
  };
}

/** Are all letters, of every script that has cases, in upper case? */
export const allUpperCase = caseCheck('default.alluppercase', 'upper case', /\p{Ll}/u, 'lower case');

/** Are all letters in lower case? The check has two ids. */
export const allLowerCase = ['default.alllowercase', 'default.isAllLowerCase'].map((id) =>
  caseCheck(id, 'lower case', /\p{Lu}/u, 'upper case'),
);
