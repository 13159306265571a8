/**
 * JSON with U+FFFD in place of each half of a surrogate pair that is alone: PostgreSQL and DuckDB refuse to read a row with one,
 * and with it every question that looks into that row. `JSON.stringify` writes none but these as `\ud…`.
 */
export function wholeCharactersJson(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes('\\ud') ? text.replace(loneHalf, '$1\\ufffd') : text;
}

/** After an even number of backslashes: those are characters of their own. */
const loneHalf = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;
