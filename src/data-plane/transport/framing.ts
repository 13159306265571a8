import { GatewayError } from '../../common/core/errors.js';
import type { HeaderList } from '../../common/http/headers.js';

/** Result of `checkHead` for a body whose length is not known beforehand. */
export const chunkedBody = -1;

/**
 * Result of `checkHead` for a method that has a body, and a head without its length: it is empty, if the
 * parser has seen the whole head.
 */
export const unsaidBody = -2;

const maxUrl = 8192;
const maxHeaders = 100;
const contentLength = /^\d{1,10}$/;
/** RFC 9110 §7.2: a registered name or an address, and a port. Nothing that a URL parser would interpret as more. */
const host = /^(?:[A-Za-z0-9._~!$&'()*+,;=%-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;
/** Printable ASCII without `#`: other characters in a request line are an error or an attack. */
const target = /^[\x21\x22\x24-\x7e]*$/;
const method = /^[A-Z][A-Z-]{0,31}$/;

/** A client sends the same Host with every request: its grammar is checked once. */
let lastHost = '';

function bad(message: string): never {
  throw new GatewayError('bad_framing', message);
}

/**
 * Accepts a request's head only if it cannot be read in two ways, and returns the length of its body: bytes,
 * `chunkedBody` or `unsaidBody`. Throws a GatewayError otherwise; the connection must then be closed,
 * because it is unknown where the next request begins. `path` and `query` as received.
 */
export function checkHead(verb: string, path: string, query: string, headers: HeaderList): number {
  if (verb !== 'POST' && verb !== 'GET' && !method.test(verb))
    bad('The request method is not a method name.');
  if (path.length + query.length >= maxUrl) bad(`The URL is longer than ${maxUrl} bytes.`);
  if (path.charCodeAt(0) !== 0x2f || !target.test(path) || !target.test(query)) {
    bad('The request target must be a path of printable ASCII without "#"; percent-encode everything else.');
  }
  if (headers.length > 2 * maxHeaders) bad(`The request has more than ${maxHeaders} headers.`);
  let length: string | null = null;
  let coding: string | null = null;
  let authority: string | null = null;
  let expect: string | null = null;
  let credentials: string[] | null = null;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    if (name.length === 0) bad('A header has no name.');
    // The one control character that the native parser lets through.
    if (value.includes('\x7f')) bad(`The header "${name}" contains a control character.`);
    switch (name.length) {
      case 4:
        if (name !== 'host') break;
        if (authority !== null) bad('The request has more than one Host header.');
        authority = value;
        break;
      case 6:
        if (name !== 'expect') break;
        if (expect !== null) bad('The request has more than one Expect header.');
        expect = value;
        break;
      case 14:
        if (name !== 'content-length') break;
        if (length !== null) bad('The request has more than one Content-Length header.');
        length = value;
        break;
      case 17:
        if (name !== 'transfer-encoding') break;
        if (coding !== null) bad('The request has more than one Transfer-Encoding header.');
        coding = value;
        break;
    }
    // "y" of -api-key, "n" of authorization: avoids further checks of all other names.
    const last = name.charCodeAt(name.length - 1);
    const isKey = last === 0x79 && (name === 'api-key' || name.endsWith('-api-key'));
    if (isKey || (last === 0x6e && name === 'authorization')) {
      // It identifies the caller. With two of them, two parties may each trust a different one.
      if (credentials?.includes(name)) bad(`The request has more than one ${name} header.`);
      if (credentials === null) credentials = [name];
      else credentials.push(name);
    }
  }
  if (authority === null) bad('The request has no Host header.');
  if (authority !== lastHost) {
    if (!host.test(authority)) bad('The Host header is not a host name or address with an optional port.');
    lastHost = authority;
  }
  if (expect !== null && expect.toLowerCase() !== '100-continue') {
    bad('The only expectation that is met is "100-continue".');
  }
  if (verb === 'CONNECT' || verb === 'TRACE') {
    throw new GatewayError('method_not_allowed', `The method ${verb} is not served here.`, {
      headers: ['allow', 'GET, HEAD, POST, PUT, PATCH, DELETE'],
    });
  }
  if (coding !== null) {
    if (length !== null) bad('The request has both Content-Length and Transfer-Encoding.');
    if (coding !== 'chunked') bad('The only Transfer-Encoding that is read is "chunked".');
    return chunkedBody;
  }
  if (length === null) return verb === 'POST' || verb === 'PUT' || verb === 'PATCH' ? unsaidBody : 0;
  if (!contentLength.test(length)) bad('The Content-Length is not a number of one to ten digits.');
  return Number(length);
}

/** Reports answer headers that may not be written. */
export type OnProblem = (error: unknown, what: string) => void;

/** Headers of framing and of the connection: the transport writes its own. */
const owned = new Set([
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'proxy-connection',
  'upgrade',
  'trailer',
  'date',
]);

export function isOwnedHeader(name: string): boolean {
  return owned.has(name);
}

/** Do answers with this status have no body? RFC 9110 §6.4.1. */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304;
}

/** The status, if it is valid for an answer; else 500, with a report. */
export function checkStatus(status: number, onProblem: OnProblem): number {
  if (Number.isInteger(status) && status >= 200 && status <= 599) return status;
  onProblem(new Error(`status ${status}`), 'answer with an impossible status');
  return 500;
}

/**
 * The length in the answer to HEAD. Its body is not sent, so the handler's `content-length` counts,
 * then the length of its body.
 */
export function headLength(headers: HeaderList, body: Buffer | string | null): string | null {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] === 'content-length') {
      const value = headers[i + 1]!;
      return contentLength.test(value) ? value : null;
    }
  }
  return body === null ? null : String(Buffer.byteLength(body));
}
