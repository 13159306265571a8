import type { TextCheck } from '../../check.js';

interface Parameters {
  readonly suffix: string;
  readonly not: boolean;
}

/** Does the text end with the suffix? One point after it is allowed. */
export const endsWith: TextCheck = {
  id: 'default.endsWith',
  runs: 'text',
  nanoseconds: (length) => length,
  run({ text }, parameters) {
    const { suffix, not } = parameters as unknown as Parameters;
    const ends = text.endsWith(suffix) || text.endsWith(`${suffix}.`);
    const data = () => ({
      ...{ suffix, not },
      explanation: `The text ${ends ? 'ends' : 'does not end'} with the suffix.`,
    });
    return { verdict: ends !== not, data };
  },
};
