import type { TextCheck } from '../../check.js';
import { lookFor, type Operator } from '../operator.js';
import { jsonParts } from './json-parts.js';

interface Parameters {
  readonly keys: readonly string[];
  readonly operator: Operator;
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
    const judged = parts.map((part) => lookFor(keys, operator, (key) => Object.hasOwn(part, key)));
    // `none` must be so for all of them: one object without the keys does not hide another with them.
    const verdict = operator === 'none' ? judged.every(({ fits }) => fits) : judged.some(({ fits }) => fits);
    const { found, missing } = judged.reduce((most, one) =>
      one.found.length > most.found.length ? one : most,
    );
    const explanation = `The JSON has ${found.length} of the ${keys.length} keys; ${operator} of them must be there.`;
    const data = { operator, presentKeys: found, missingKeys: missing, explanation };
    return { verdict, data };
  },
};
