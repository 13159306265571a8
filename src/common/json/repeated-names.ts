import { isJsonObject } from './json.js';
import { scanJson } from './json-scan.js';

/**
 * Does an object of a JSON text have a name twice? `value` is what `parseJson` made of the text: of equal names it has
 * the last one only, while another reader may take the first. Takes a turn of the event loop that grows with the text.
 */
export function hasRepeatedNames(bytes: Uint8Array, value: unknown): boolean {
  return scanJson(bytes).tokens !== tokensOf(value);
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
