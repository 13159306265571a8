import type { TextCheck } from '../../check.js';
import { codeFormats } from './code-language.js';

/** Has the text a fenced block of code in this format? Blocks without a name are recognised by their content. */
export const containsCode: TextCheck = {
  id: 'default.containsCode',
  runs: 'text',
  run({ text }, parameters) {
    const { format, not } = parameters as unknown as { readonly format: string; readonly not: boolean };
    const foundFormats = codeFormats(text);
    const has = foundFormats.includes(format);
    const explanation = has
      ? `The text has a block of ${format}.`
      : foundFormats.length === 0
        ? 'The text has no block of code whose format is known.'
        : `The text has no block of ${format}.`;
    const data = {
      searchedFormat: format,
      foundFormats: foundFormats.slice(0, 20).map((name) => name.slice(0, 40)),
      not,
      explanation,
    };
    return { verdict: has !== not, data };
  },
};
