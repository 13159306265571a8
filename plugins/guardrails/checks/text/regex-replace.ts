import type { TextCheck } from '../../check.js';

interface Parameters {
  readonly rule: string;
  readonly redactText?: string;
}

/** `/pattern/flags`, or a pattern alone. */
const written = /^\/(.+)\/([dgimsuy]*)$/s;

/** Every match is replaced, whether the rule has the flag g or not. */
export function patternOf(rule: string): RegExp {
  const [, source = rule, flags = ''] = written.exec(rule) ?? [];
  return new RegExp(source, flags.includes('g') ? flags : `${flags}g`);
}

/** Replaces what a regular expression matches, `$1` and `$<name>` in the replacement included. Always true. */
export const regexReplace: TextCheck = {
  id: 'default.regexReplace',
  runs: 'text',
  transforms: true,
  run({ texts }, parameters) {
    const { rule, redactText = '[REDACTED]' } = parameters as unknown as Parameters;
    const pattern = patternOf(rule);
    const transformed = texts.map((text) => text.replace(pattern, redactText));
    const isChanged = transformed.some((text, index) => text !== texts[index]);
    const data = {
      regexPattern: rule,
      explanation: isChanged
        ? 'Matches of the pattern were replaced.'
        : 'The text does not match the pattern.',
    };
    return isChanged ? { verdict: true, data, transformed } : { verdict: true, data };
  },
};
