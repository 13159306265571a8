import type { PluginCheckResult } from '../../../../common/guardrails/plugin-check.js';

/** Most characters of `data` as JSON, since it is part of answers and of their logged bodies. */
const longestData = 16 * 1024;
/** Most characters of all changed texts together. */
const longestTexts = 64 * 1024 * 1024;

/**
 * Validates and copies the result of a plugin's check, so that later changes by the plugin have no effect. Throws a TypeError for
 * an invalid result. `count`: number of texts that the check was given.
 */
export function checkResult(answer: unknown, count: number): PluginCheckResult {
  if (typeof answer === 'boolean') return { verdict: answer };
  const { verdict, data, transformed } = (answer ?? {}) as Partial<PluginCheckResult>;
  if (typeof verdict !== 'boolean')
    throw new TypeError('It must return true, false, or { verdict, data?, transformed? }.');
  return {
    verdict,
    ...(data !== undefined && { data: plainData(data) }),
    ...(transformed !== undefined && { transformed: textsOf(transformed, count) }),
  };
}

/** Invalid data does not change the verdict. */
function plainData(data: unknown): unknown {
  let text: string | undefined;
  try {
    text = JSON.stringify(data);
  } catch {
    // A cycle, a BigInt, or a getter that throws.
  }
  if (text === undefined) return { explanation: 'The data of this check is not JSON.' };
  if (text.length > longestData)
    return { explanation: `The data of this check is longer than ${longestData} characters of JSON.` };
  return JSON.parse(text);
}

function textsOf(given: unknown, count: number): readonly string[] {
  if (!Array.isArray(given) || given.length !== count)
    throw new TypeError(
      `It must return transformed as a list of ${count} texts, as many as context.texts has.`,
    );
  const texts: string[] = [];
  let length = 0;
  for (let i = 0; i < count; i++) {
    const text: unknown = given[i];
    if (typeof text !== 'string') throw new TypeError(`transformed[${i}] must be a text.`);
    length += text.length;
    if (length > longestTexts)
      throw new TypeError(`Its transformed texts have more than ${longestTexts} characters.`);
    texts.push(text);
  }
  return texts;
}
