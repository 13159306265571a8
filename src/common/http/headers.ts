/**
 * HTTP headers as received: flat `[name, value, name, value, …]`, names in lower case, arrival order and
 * duplicates kept. A flat list is copied once per request and searched linearly: with a dozen entries that is
 * cheaper than building a map.
 */
export type HeaderList = string[];

/** The first value of `name` (lower case), or undefined. */
export function getHeader(headers: HeaderList, name: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] === name) return headers[i + 1];
  }
  return undefined;
}

/** Replaces every `name` (lower case) by one, at the place of the first; appends if there was none. */
export function setHeader(headers: HeaderList, name: string, value: string): void {
  let found = false;
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] !== name) continue;
    if (found) {
      headers.splice(i, 2);
      i -= 2;
    } else {
      headers[i + 1] = value;
      found = true;
    }
  }
  if (!found) headers.push(name, value);
}

export function removeHeader(headers: HeaderList, name: string): void {
  for (let i = headers.length - 2; i >= 0; i -= 2) {
    if (headers[i] === name) headers.splice(i, 2);
  }
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses.
const badValue = /[\u0000-\u0008\u000a-\u001f\u007f]/;

/** RFC 9110 §5.1: a header name that may be written to a socket. */
export function isHeaderName(name: string): boolean {
  return token.test(name);
}

/** RFC 9110 §5.5: no CR, LF, NUL or other control character (tab excepted). */
export function isHeaderValue(value: string): boolean {
  return !badValue.test(value);
}

/**
 * Headers that belong to one connection, or to how a message is framed (RFC 9110 §7.6.1). They are not passed on, and no one
 * may set them. Names in lower case.
 */
export const connectionHeaders: readonly string[] = [
  ...['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive', 'proxy-connection'],
  ...['te', 'trailer', 'upgrade', 'expect'],
];
