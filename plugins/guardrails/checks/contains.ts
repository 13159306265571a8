import type { TextCheck } from '../check.js';

interface Contains {
  readonly words: readonly string[];
  readonly operator: 'any' | 'all' | 'none';
}

/** Does the text have any, all or none of the words? They are compared exactly, and may be parts of longer words. */
export const contains: TextCheck = {
  id: 'default.contains',
  runs: 'text',
  run({ text }, parameters) {
    const { words, operator } = parameters as unknown as Contains;
    const foundWords = words.filter((word) => text.includes(word));
    const missingWords = words.filter((word) => !text.includes(word));
    const verdict =
      operator === 'any'
        ? foundWords.length > 0
        : operator === 'all'
          ? missingWords.length === 0
          : foundWords.length === 0;
    return { verdict, data: { operator, foundWords, missingWords } };
  },
};
