import { isJsonObject } from './json.js';

/**
 * Does an object of a JSON text have a name twice? `tokens` is what `scanJson` counted in the text, and `value` what
 * `parseJson` made of it: of equal names it has the last one only, while another reader may take the first.
 */
export function hasRepeatedNames(tokens: number, value: unknown): boolean {
  return tokens !== tokensOf(value);
}

/** What `scanJson` counts for the text of a value: brackets that open, commas and colons. */
function tokensOf(value: unknown): number {
  if (Array.isArray(value)) {
    let tokens = Math.max(1, value.length);
    for (const item of value) tokens += tokensOf(item);
    return tokens;
  }
  if (!isJsonObject(value)) return 0;
  const names = Object.keys(value);
  let tokens = Math.max(1, 2 * names.length);
  for (const name of names) tokens += tokensOf(value[name]);
  return tokens;
}
