/** Index after the closing quote of the string that opens at `at`; the text's length where it never closes. */
export function endOfString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return end + 1;
  }
  return text.length;
}

/** Index of the first character at or after `at` that is not JSON whitespace. */
export function skipSpace(text: string, at: number): number {
  let i = at;
  for (;;) {
    const code = text.charCodeAt(i);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return i;
    i++;
  }
}

/**
 * Index after the value that begins at `at`, of a text that is valid. -1: it is a list or an object that does not
 * end before `limit`.
 */
export function endOfValue(text: string, at: number, limit = text.length): number {
  const first = text.charCodeAt(at);
  if (first === 0x22) return endOfString(text, at);
  let i = at;
  if (first !== 0x7b && first !== 0x5b) {
    for (; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code === 0x2c || code === 0x7d || code === 0x5d || code <= 0x20) break;
    }
    return i;
  }
  let depth = 0;
  for (; i < limit; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) i = endOfString(text, i) - 1;
    else if (code === 0x7b || code === 0x5b) depth++;
    else if ((code === 0x7d || code === 0x5d) && --depth === 0) return i + 1;
  }
  return limit < text.length ? -1 : i;
}
