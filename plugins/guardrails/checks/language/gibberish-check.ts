import type { TextCheck } from '../../check.js';
import { isGibberish, measureGibberish } from './gibberish.js';

/** Is the text made of words? Only Latin letters are judged. */
export const gibberish: TextCheck = {
  id: 'gateway.gibberish',
  runs: 'text',
  run({ text }, parameters) {
    const not = parameters['not'] as boolean;
    const measured = measureGibberish(text);
    const isClean = !isGibberish(text);
    const explanation =
      measured === null
        ? 'The text is too short to judge.'
        : `The text is ${isClean ? '' : 'not '}made of words.`;
    return { verdict: isClean !== not, data: { not, explanation } };
  },
};
