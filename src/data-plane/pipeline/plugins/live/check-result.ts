import type { PluginCheckResult } from '../../../../common/guardrails/plugin-check.js';

/** Characters of `data`, as JSON: it is part of answers, and of what is kept of them. */
const longestData = 16 * 1024;
/** Characters of all changed texts together. */
const longestTexts = 64 * 1024 * 1024;

/**
 * What a check of a plugin returned, checked and copied: later changes by the plugin have no effect. Throws a TypeError for what
 * is no result. `count`: of the texts that it was given.
 */
export function checkResult(answer: unknown, count: number): PluginCheckResult {
  if (typeof answer === 'boolean') return { verdict: answer };
  const { verdict, data, transformed } = (answer ?? {}) as Partial<PluginCheckResult>;
  if (typeof verdict !== 'boolean')
    throw new TypeError('It returned no result: true, false, or { verdict, data?, transformed? }.');
  return {
    verdict,
    ...(data !== undefined && { data: plainData(data) }),
    ...(transformed !== undefined && { transformed: textsOf(transformed, count) }),
  };
}

/** The verdict counts, whatever its data is. */
function plainData(data: unknown): unknown {
  let text: string | undefined;
  try {
    text = JSON.stringify(data);
  } catch {
    // A circle, a BigInt, or a getter that throws.
  }
  if (text === undefined) return { explanation: 'The data of this check is no JSON.' };
  if (text.length > longestData)
    return { explanation: `The data of this check is longer than ${longestData} characters of JSON.` };
  return JSON.parse(text);
}

function textsOf(given: unknown, count: number): readonly string[] {
  if (!Array.isArray(given) || given.length !== count)
    throw new TypeError(`It returned no transformed texts: a list of ${count}, as context.texts has.`);
  const texts: string[] = [];
  let length = 0;
  for (let i = 0; i < count; i++) {
    const text: unknown = given[i];
    if (typeof text !== 'string') throw new TypeError(`It returned no text as transformed[${i}].`);
    length += text.length;
    if (length > longestTexts)
      throw new TypeError(`It returned texts of more than ${longestTexts} characters.`);
    texts.push(text);
  }
  return texts;
}
