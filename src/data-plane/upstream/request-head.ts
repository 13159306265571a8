import { connectionHeaders, isHeaderName } from '../../common/http/headers.js';

/** Written by the connection itself, from the URL and the body: values of a caller could only be wrong. */
const ownHeaders = new Set([...connectionHeaders, 'proxy-authorization']);

/**
 * By these, metadata services of clouds distinguish a program on the machine from a forwarded request. No
 * request of a caller has them, wherever they were set.
 */
const metadataHeaders = new Set(['metadata', 'metadata-flavor', 'x-google-metadata-request']);
const metadataPrefixes = ['x-aws-ec2-metadata-token', 'x-aliyun-ecs-metadata-token'];

export function isMetadataHeader(name: string): boolean {
  return metadataHeaders.has(name) || metadataPrefixes.some((prefix) => name.startsWith(prefix));
}

/** Methods whose requests have a body: without one, they announce length 0. */
export const methodsWithBody = new Set(['POST', 'PUT', 'PATCH', 'QUERY', 'PROPFIND', 'PROPPATCH']);

/**
 * The beginning of a header's line, by name; '': not sent, since it belongs to the connection or to metadata services.
 */
const beginnings = new Map<string, string>();
const maxBeginnings = 1_000;

/**
 * Narrower than `isHeaderValue`: heads are sent in Latin-1, which cuts other characters to a byte, and U+010D to a CR.
 */
const badPath = /[^\u0021-\u007e\u0080-\u00ff]/;
const badValue = /[^\t\u0020-\u007e\u0080-\u00ff]/;

export interface RequestHead {
  /** In Latin-1, including the empty line. */
  readonly text: string;
  /** Length of a body that arrives over time; -1: it is sent chunked. */
  readonly streamed: number;
  /** May the connection be used again? Not after a request whose end some servers are known to misread. */
  readonly keep: boolean;
}

export interface RequestLine {
  readonly method: string;
  /** Begins with `/`; with the query. */
  readonly path: string;
  /** Of the URL, with its port. */
  readonly host: string;
  /** Bytes of the body; 0: none; -1: it arrives over time. */
  readonly length: number;
  /** Is it a request about the gateway's own identity? Then headers of metadata services are sent. */
  readonly ownIdentity?: boolean | undefined;
}

/** The head of a request; null: HTTP does not allow it. */
export function requestHead(line: RequestLine, headers: readonly string[]): RequestHead | null {
  const { method, path, host, length } = line;
  if (method !== 'POST' && (!isHeaderName(method) || method === 'CONNECT')) return null;
  if (badPath.test(path)) return null;
  const hasBody = methodsWithBody.has(method);
  const keep = method !== 'HEAD' && (hasBody || length === 0);
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: ${keep ? 'keep-alive' : 'close'}\r\n`;
  let streamed = -1;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    let beginning = beginnings.get(name) ?? beginningOf(name);
    if (beginning === null) return null;
    if (beginning === '' && line.ownIdentity === true && isMetadataHeader(name.toLowerCase()))
      beginning = `${name}: `;
    if (beginning === '') {
      if (length !== -1 || name !== 'content-length') continue;
      const claimed = /^\d{1,15}$/.test(value) ? Number(value) : -1;
      if (claimed === -1 || (streamed !== -1 && streamed !== claimed)) return null;
      streamed = claimed;
      continue;
    }
    if (badValue.test(value)) return null;
    text += beginning + value;
    text += '\r\n';
  }
  if (length > 0 || (length === 0 && hasBody)) text += `content-length: ${length}\r\n\r\n`;
  else if (length === 0) text += '\r\n';
  else text += streamed === -1 ? 'transfer-encoding: chunked\r\n\r\n' : `content-length: ${streamed}\r\n\r\n`;
  return { text, streamed, keep };
}

/** The beginning of a header's line; '': a header of the connection or of metadata services; null: not a valid name. */
export const lineBeginning = (name: string): string | null => beginnings.get(name) ?? beginningOf(name);

/** May a value be sent unchanged? */
export const canSend = (value: string): boolean => !badValue.test(value);

function beginningOf(name: string): string | null {
  if (!isHeaderName(name)) return null;
  const lower = name.toLowerCase();
  const beginning = ownHeaders.has(lower) || isMetadataHeader(lower) ? '' : `${name}: `;
  if (beginnings.size >= maxBeginnings) beginnings.clear();
  if (name.length <= 64) beginnings.set(name, beginning);
  return beginning;
}

/** Splits the text of an absolute http(s) URL in two: parsing it fully takes longer than sending 100 bytes. */
export function splitUrl(url: string): { origin: string; path: string } {
  const from = url.startsWith('https://') ? 8 : 7;
  let cut = from;
  while (cut < url.length) {
    const char = url.charCodeAt(cut);
    // `/`, `?`, `#` and the backslash, which URL parsers read as `/`.
    if (char === 47 || char === 63 || char === 35 || char === 92) break;
    cut += 1;
  }
  const origin = url.slice(0, cut);
  const hash = url.indexOf('#', cut);
  const rest = hash === -1 ? url.slice(cut) : url.slice(cut, hash);
  return { origin, path: rest.charCodeAt(0) === 47 ? rest : `/${rest}` };
}
