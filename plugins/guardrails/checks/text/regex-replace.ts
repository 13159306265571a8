import { readWritten } from '../../../../src/common/guardrails/written-expression.js';
import type { CheckParameters, CheckResult, FoundValue, TextCheck, ValueRun } from '../../check.js';
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

/** `isChanged`: has it matched? */
export const resultOf = (rule: unknown, isChanged: boolean): CheckResult => ({
  verdict: true,
  data: {
    regexPattern: rule,
    explanation: isChanged ? 'Matches of the pattern were replaced.' : 'The text does not match the pattern.',
  },
});

class ReplaceRun implements ValueRun {
  #isChanged = false;
  /** What is written for each match, where that is always the same: `$$` is one sign. */
  #written = '';

  constructor(
    readonly expression: Expression,
    readonly rule: string,
    readonly redactText: string,
  ) {}

  find(text: string): FoundValue[] {
    const { found, quotes } = this.expression.replacements(text, this.redactText);
    if (!quotes && found.length > 0) this.#written = found[0]!.text;
    return found.map(({ index, end, text: written }) =>
      quotes ? { start: index, end, quoting: written } : { start: index, end },
    );
  }

  take({ quoting }: FoundValue): string {
    this.#isChanged = true;
    return quoting ?? this.#written;
  }

  result(): CheckResult {
    return resultOf(this.rule, this.#isChanged);
  }
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
    const result = resultOf(parameters['rule'], isChanged);
    return isChanged ? { ...result, transformed } : result;
  },
  begin(parameters) {
    const { rule, redactText = '[REDACTED]' } = parameters as unknown as Parameters;
    return new ReplaceRun(expressionOf(parameters), rule, redactText);
  },
};
