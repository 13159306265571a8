import type { CheckParameters, TextCheck } from '../../check.js';
import { Expression } from '../expression/expression.js';

interface Parameters {
  readonly rule: string;
  readonly not: boolean;
}

const expressions = new WeakMap<CheckParameters, Expression>();

function expressionOf(parameters: CheckParameters): Expression {
  let expression = expressions.get(parameters);
  if (expression === undefined) {
    expression = new Expression(parameters['rule'] as string);
    expressions.set(parameters, expression);
  }
  return expression;
}

/** Does the text match a regular expression (ECMAScript, without flags)? */
export const regexMatch: TextCheck = {
  id: 'default.regexMatch',
  runs: 'text',
  nanoseconds: (length, parameters) => expressionOf(parameters).nanoseconds(length),
  run({ text }, parameters) {
    const { rule, not } = parameters as unknown as Parameters;
    const match = expressionOf(parameters).find(text);
    const data = () => ({
      regexPattern: rule,
      not,
      explanation: match === null ? 'The text does not match the pattern.' : 'The text matches the pattern.',
      // Where, but not what: the pattern may look for secrets.
      matchDetails: match,
    });
    return { verdict: (match !== null) !== not, data };
  },
};
