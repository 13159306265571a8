import { STATUS_CODES } from 'node:http';
import { getHeader, type HeaderList, isHeaderName, isHeaderValue } from '../../common/http/headers.js';
import { isOwnedHeader } from './framing.js';
import type { TransportOptions } from './transport.js';

const statusLines: (string | undefined)[] = [];
for (const [code, reason] of Object.entries(STATUS_CODES)) statusLines[Number(code)] = `${code} ${reason}`;
/** nginx's name; the other unlisted statuses have no common name. */
statusLines[499] = '499 Client Closed Request';

export const statusLine = (status: number): string => statusLines[status] ?? `${status} Unlisted`;

const sameNames = new Map<string, string>();
const maxSameNames = 500;

/**
 * One string for each header name, which the engine compares by address: the names of a head are compared with
 * others some hundred times.
 */
export function sameName(name: string): string {
  const known = sameNames.get(name);
  if (known !== undefined) return known;
  if (name.length > maxName) return name;
  // Names of properties are such strings.
  const [same = name] = Object.keys({ [name]: true });
  if (sameNames.size >= maxSameNames) sameNames.clear();
  sameNames.set(same, same);
  return same;
}

/**
 * The beginnings of header lines, by name: the same few dozen occur in every answer. '': the transport writes this one
 * itself; null: not a valid name.
 */
const beginnings = new Map<string, string | null>();
const maxBeginnings = 1000;
/** Longer names are rare: they are not kept. */
const maxName = 64;

function beginningOf(name: string): string | null {
  let beginning = beginnings.get(name);
  if (beginning === undefined) {
    beginning = isOwnedHeader(name) ? '' : isHeaderName(name) ? `\r\n${name}: ` : null;
    if (name.length > maxName) return beginning;
    if (beginnings.size >= maxBeginnings) beginnings.clear();
    beginnings.set(name, beginning);
  }
  return beginning;
}

/** Lines of headers, each after a line end. A header that may not be written is left out and reported. */
export function headerLines(headers: HeaderList, onProblem: TransportOptions['onProblem']): string {
  let lines = '';
  let good = '';
  for (let i = 0; i < headers.length; i += 2) {
    const beginning = beginningOf(headers[i]!);
    if (beginning === '') continue;
    const value = headers[i + 1]!;
    // An answer has its id under several names, one after the other.
    if (beginning === null || (value !== good && !isHeaderValue(value))) {
      onProblem(badHeader(headers[i]!, headers), 'invalid answer header');
    } else {
      good = value;
      lines += beginning + value;
    }
  }
  return lines;
}

/** Names a header that was left out, and its request. The value stays out of it: it may be a secret. */
export function badHeader(name: string, headers: HeaderList): Error {
  const id = getHeader(headers, 'x-request-id');
  return new Error(`${name}${id === undefined ? '' : `, in the answer to the request ${id}`}`);
}
