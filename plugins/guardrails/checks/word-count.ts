import type { TextCheck } from '../check.js';
import { countNs, countsOf } from './text/counted.js';

interface WordCount {
  readonly minWords: number;
  readonly maxWords: number;
  readonly not: boolean;
}

/** Is the number of words within bounds? */
export const wordCount: TextCheck = {
  id: 'default.wordCount',
  runs: 'text',
  nanoseconds: (length) => countNs * length,
  run(context, parameters) {
    const { minWords, maxWords, not } = parameters as unknown as WordCount;
    const { words } = countsOf(context);
    const isWithin = words >= minWords && words <= maxWords;
    return { verdict: isWithin !== not, data: () => ({ wordCount: words, minWords, maxWords, not }) };
  },
};
