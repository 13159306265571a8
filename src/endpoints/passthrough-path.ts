import { GatewayError } from '../core/errors.js';

/** Bytes of path and query together; longer addresses are refused. */
const maxLength = 8192;

/**
 * What must not reach a provider's URL: characters that are no part of a path, backslashes and empty segments,
 * dots, slashes and control characters in their encoded forms (also encoded twice: an upstream may decode twice),
 * broken escapes, and the segments `.` and `..`, also with a path parameter or an escape behind them.
 */
const unsafe =
  /[^\x21-\x7e]|[\\#?]|\/\/|%(?:25)*(?:2e|2f|5c|7f|[01][0-9a-f])|%(?![0-9a-f]{2})|\/\.{1,2}(?=[/;%]|$)/i;
const unsafeQuery = /[^\x21-\x7e]|#/;

/** The version is part of a provider's base address: `/v1/`, or Gemini's `/v1beta/`. */
const version = /^\/v1(?:beta)?(?=\/)/;

/**
 * The path and query to append to a provider's base address, for a request path that begins with a version. The query
 * goes on unchanged. Throws `invalid_request` for a path that an upstream could read as another one.
 */
export function passthroughPath(path: string, query: string): string {
  checkPassthroughPath(path, query);
  const rest = path.replace(version, '');
  return query === '' ? rest : `${rest}?${query}`;
}

/** The refusals of `passthroughPath`, for a caller who wants them before anything else is done for the request. */
export function checkPassthroughPath(path: string, query = ''): void {
  if (path.length + query.length > maxLength) {
    throw new GatewayError(
      'invalid_request',
      `The address is longer than ${maxLength} bytes: shorten its query.`,
    );
  }
  // `/v1/@host` would put the base address into the user part of a URL that is built by joining texts.
  const start = version.exec(path)?.[0].length ?? -1;
  if (start < 0 || path.charCodeAt(start + 1) === 0x40 || unsafe.test(path)) {
    throw new GatewayError(
      'invalid_request',
      'The path is not one that can be passed on: send it without "..", "//", "\\" or a leading "@", and without encoded dots, slashes or control characters.',
      { param: 'path' },
    );
  }
  if (unsafeQuery.test(query)) {
    throw new GatewayError(
      'invalid_request',
      'The query holds characters that are not allowed in a URL: percent-encode them.',
      {
        param: 'query',
      },
    );
  }
}
