import type { TextCheck } from '../../check.js';
import { jsonParts } from './json-parts.js';

interface Parameters {
  readonly keys: readonly string[];
  readonly operator: 'any' | 'all' | 'none';
}

/** Has the JSON in the text any, all or none of the keys, at its top? Without JSON it is false. */
export const jsonKeys: TextCheck = {
  id: 'default.jsonKeys',
  runs: 'text',
  run({ text }, parameters) {
    const { keys, operator } = parameters as unknown as Parameters;
    const parts = jsonParts(text);
    if (parts.length === 0)
      return { verdict: false, data: { operator, explanation: 'The text holds no JSON.' } };
    const judged = parts.map((part) => {
      const presentKeys = keys.filter((key) => Object.hasOwn(part, key));
      const fits =
        operator === 'none'
          ? presentKeys.length === 0
          : presentKeys.length >= (operator === 'all' ? keys.length : 1);
      return { presentKeys, fits };
    });
    // `none` must be so for all of them: one object without the keys does not hide another with them.
    const verdict = operator === 'none' ? judged.every(({ fits }) => fits) : judged.some(({ fits }) => fits);
    const best = judged.reduce((most, one) =>
      one.presentKeys.length > most.presentKeys.length ? one : most,
    );
    const data = {
      operator,
      presentKeys: best.presentKeys,
      missingKeys: keys.filter((key) => !best.presentKeys.includes(key)),
      explanation: `The JSON has ${best.presentKeys.length} of the ${keys.length} keys; ${operator} of them must be there.`,
    };
    return { verdict, data };
  },
};
