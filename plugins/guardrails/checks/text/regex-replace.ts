import { readWritten } from '../../../../src/common/guardrails/written-expression.js';
import type { CheckParameters, TextCheck } from '../../check.js';
import { Expression } from '../expression/expression.js';

interface Parameters {
  readonly rule: string;
  readonly redactText?: string;
}

const expressions = new WeakMap<CheckParameters, Expression>();

/** Every match is replaced, whether the rule has the flag g or not. */
function expressionOf(parameters: CheckParameters): Expression {
  let expression = expressions.get(parameters);
  if (expression === undefined) {
    const { source, flags } = readWritten(parameters['rule'] as string);
    expression = new Expression(source, flags.includes('g') ? flags : `${flags}g`);
    expressions.set(parameters, expression);
  }
  return expression;
}

/** To write the new text where all of it matches, character by character. */
function writeNs(length: number, replacement: unknown): number {
  if (typeof replacement !== 'string') return length;
  // The text before or after the match, each time.
  if (/\$[`']/.test(replacement)) return Number.POSITIVE_INFINITY;
  return length * replacement.length;
}

/** Replaces what a regular expression matches, `$1` and `$<name>` in the replacement included. Always true. */
export const regexReplace: TextCheck = {
  id: 'default.regexReplace',
  runs: 'text',
  transforms: true,
  nanoseconds: (length, parameters) =>
    expressionOf(parameters).nanoseconds(length) + writeNs(length, parameters['redactText']),
  run({ texts }, parameters) {
    const { redactText = '[REDACTED]' } = parameters as unknown as Parameters;
    const expression = expressionOf(parameters);
    const transformed = texts.map((text) => expression.replaceAll(text, redactText));
    const isChanged = transformed.some((text, index) => text !== texts[index]);
    const data = {
      regexPattern: parameters['rule'],
      explanation: isChanged
        ? 'Matches of the pattern were replaced.'
        : 'The text does not match the pattern.',
    };
    return isChanged ? { verdict: true, data, transformed } : { verdict: true, data };
  },
};
