import type { CheckParameters, TextCheck } from '../check.js';
import { lookFor, type Operator } from './operator.js';

interface Contains {
  readonly words: readonly string[];
  readonly operator: Operator;
}

/** Characters of all words. */
const lengths = new WeakMap<CheckParameters, number>();

function lengthOf(parameters: CheckParameters): number {
  let length = lengths.get(parameters);
  if (length === undefined) {
    length = (parameters['words'] as readonly string[]).reduce((sum, word) => sum + 2 + word.length, 0);
    lengths.set(parameters, length);
  }
  return length;
}

/** Does the text have any, all or none of the words? They are compared exactly, and may be parts of longer words. */
export const contains: TextCheck = {
  id: 'default.contains',
  runs: 'text',
  // A search compares a character of the text with several of the word where the two are alike.
  nanoseconds: (length, parameters) => (length * lengthOf(parameters)) / 2,
  run({ text }, parameters) {
    const { words, operator } = parameters as unknown as Contains;
    const { found, missing, fits } = lookFor(words, operator, (word) => text.includes(word));
    return { verdict: fits, data: () => ({ operator, foundWords: found, missingWords: missing }) };
  },
};
