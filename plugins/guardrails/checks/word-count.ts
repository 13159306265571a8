import type { TextCheck } from '../check.js';

interface WordCount {
  readonly minWords: number;
  readonly maxWords: number;
  readonly not: boolean;
}

/** Is the number of words within bounds? */
export const wordCount: TextCheck = {
  id: 'default.wordCount',
  runs: 'text',
  cheap: true,
  run({ text }, parameters) {
    const { minWords, maxWords, not } = parameters as unknown as WordCount;
    const words = countWords(text);
    const isWithin = words >= minWords && words <= maxWords;
    return { verdict: isWithin !== not, data: { wordCount: words, minWords, maxWords, not } };
  },
};

const space = /\s+/g;

function countWords(text: string): number {
  const trimmed = text.trim();
  if (trimmed === '') return 0;
  let words = 1;
  for (const _ of trimmed.matchAll(space)) words++;
  return words;
}
