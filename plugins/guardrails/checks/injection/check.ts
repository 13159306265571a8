import type { TextCheck } from '../../check.js';
import { injectionScore } from './score.js';

/** Is the text without signs of an attempt to override the model's instructions? Heuristic: by form, not by intent. */
export const promptInjection: TextCheck = {
  id: 'gateway.promptInjection',
  runs: 'text',
  run({ text }, parameters) {
    const { threshold, not } = parameters as unknown as { readonly threshold: number; readonly not: boolean };
    const { score, signs } = injectionScore(text);
    const isFound = signs.length > 0 && score >= threshold;
    const explanation = isFound
      ? 'The text looks like an attempt to override instructions.'
      : 'The text does not look like an attempt to override instructions.';
    return { verdict: isFound === not, data: { score, threshold, signs, not, explanation } };
  },
};
