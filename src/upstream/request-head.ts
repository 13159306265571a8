import type { HeaderList } from '../core/headers.js';

/** Written by the connection itself, from the URL and the body: a caller's word on them could only be wrong. */
const ownHeaders = new Set([
  'host',
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'content-length',
]);

/**
 * The headers that leave: the same list where nothing in it is the connection's own. `content-length` stays with a
 * body that arrives over time (else it goes chunked) and is counted where the bytes are at hand.
 */
export function outgoingHeaders(headers: HeaderList, streamed: boolean): HeaderList {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (ownHeaders.has(name) && !(streamed && name === 'content-length')) return filtered(headers, streamed);
  }
  return headers;
}

function filtered(headers: HeaderList, streamed: boolean): HeaderList {
  const kept: HeaderList = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (ownHeaders.has(name) && !(streamed && name === 'content-length')) continue;
    kept.push(name, headers[i + 1]!);
  }
  return kept;
}

/** An absolute http(s) URL cut in two by its text: parsing one properly costs more than sending 100 bytes. */
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
