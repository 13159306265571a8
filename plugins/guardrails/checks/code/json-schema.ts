import { SchemaValidator } from '../../../../src/common/json/json-schema.js';
import type { CheckParameters, TextCheck } from '../../check.js';
import { jsonParts } from './json-parts.js';

const validators = new WeakMap<CheckParameters, SchemaValidator>();

function validatorOf(parameters: CheckParameters): SchemaValidator {
  const known = validators.get(parameters);
  if (known !== undefined) return known;
  const validator = new SchemaValidator(parameters['schema']);
  validators.set(parameters, validator);
  return validator;
}

/** Does the text hold JSON that matches the schema (draft 7)? Without JSON it is false. */
export const jsonSchema: TextCheck = {
  id: 'default.jsonSchema',
  runs: 'text',
  run({ text }, parameters) {
    const not = parameters['not'] as boolean;
    const parts = jsonParts(text);
    if (parts.length === 0) return { verdict: false, data: { not, explanation: 'The text holds no JSON.' } };
    const validator = validatorOf(parameters);
    const faults = parts.map((part) => validator.check(part));
    const matches = faults.includes(null);
    const [first] = faults;
    const data = {
      not,
      explanation: matches
        ? 'JSON in the text matches the schema.'
        : 'The JSON in the text does not match the schema.',
      validationErrors: matches || first == null ? [] : [first],
    };
    return { verdict: matches !== not, data };
  },
};
