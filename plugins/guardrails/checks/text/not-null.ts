import type { TextCheck } from '../../check.js';

/** Is there any text beside white space? */
export const notNull: TextCheck = {
  id: 'default.notNull',
  runs: 'text',
  nanoseconds: (length) => length,
  run({ texts }, parameters) {
    const not = parameters['not'] as boolean;
    const isNull = texts.every((text) => text.trim() === '');
    const explanation = isNull ? 'There is no text.' : 'There is text.';
    return { verdict: isNull === not, data: { isNull, not, explanation } };
  },
};
