import { GatewayError } from '../../../common/core/errors.js';

/** Bytes of path and query together; longer addresses are refused. */
export const longestAddress = 8192;

/**
 * Parts that must not reach a provider's URL: characters that paths cannot have, backslashes and empty segments,
 * backslashes and control characters in their encoded forms, dots and slashes that are encoded twice (an upstream may
 * decode twice), text that is encoded more often than paths are decoded for comparison, overlong UTF-8
 * (which some decoders accept), and broken escapes.
 */
const unsafe =
  /[^\x21-\x7e]|[\\#?]|\/\/|%(?:25)*(?:5c|7f|[01][0-9a-f])|%25(?:25)*2[ef]|%252525|%c[01]%[89ab]|%e0%[89]|%(?![0-9a-f]{2})/i;
/**
 * The segments `.` and `..`, however their dots and the slashes around them are written, also with a parameter or an
 * escape that follows them. Other escaped slashes are part of a name (`org%2Fname`, `s3%3A%2F%2Fbucket`), but not the
 * path's first character: an upstream might read what follows as a host.
 */
const climbing = /(?:\/|%2f)(?:\.|%2e){1,2}(?=[/;%]|$)|^\/v1(?:beta)?\/%2f/i;
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

/** Throws what `passthroughPath` would throw, for callers that check before anything else is done for the request. */
export function checkPassthroughPath(path: string, query = ''): void {
  if (path.length + query.length > longestAddress) {
    throw new GatewayError(
      'invalid_request',
      `The address is longer than ${longestAddress} bytes: shorten its query.`,
    );
  }
  // `/v1/@host` would put the base address into the user part of a URL that is built by joining texts.
  const start = version.exec(path)?.[0].length ?? -1;
  if (start < 0 || path.charCodeAt(start + 1) === 0x40 || unsafe.test(path) || climbing.test(path)) {
    throw new GatewayError(
      'invalid_request',
      'The path is not one that can be passed on: send it without "." and ".." segments, encoded or not, without empty segments, "\\" or a leading "@", and without encoded control characters.',
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
