import { STATUS_CODES } from 'node:http';
import { type HeaderList, isHeaderName, isHeaderValue } from '../core/headers.js';
import { isOwnedHeader } from './framing.js';
import type { TransportOptions } from './transport.js';

const statusLines: (string | undefined)[] = [];
for (const [code, reason] of Object.entries(STATUS_CODES)) statusLines[Number(code)] = `${code} ${reason}`;
/** As nginx names it; the rest of the unlisted ones have no common name. */
statusLines[499] = '499 Client Closed Request';

export const statusLine = (status: number): string => statusLines[status] ?? `${status} Unlisted`;

const sameNames = new Map<string, string>();
const maxSameNames = 500;

/**
 * One string for each header name, the one that the engine compares by its address: a head's names are compared with
 * others some hundred times on their way.
 */
export function sameName(name: string): string {
  const known = sameNames.get(name);
  if (known !== undefined) return known;
  if (name.length > 64) return name;
  // A property's name is such a string.
  const [same = name] = Object.keys({ [name]: true });
  if (sameNames.size >= maxSameNames) sameNames.clear();
  sameNames.set(same, same);
  return same;
}

/** What is known of header names: the same few dozen come with every answer. */
const names = new Map<string, 'owned' | 'writable' | 'unwritable'>();
const maxNames = 1000;

function kindOfName(name: string): 'owned' | 'writable' | 'unwritable' {
  let kind = names.get(name);
  if (kind === undefined) {
    kind = isOwnedHeader(name) ? 'owned' : isHeaderName(name) ? 'writable' : 'unwritable';
    if (names.size >= maxNames) names.clear();
    names.set(name, kind);
  }
  return kind;
}

/** `name: value` lines without the last line's end; '' for none. A header that may not be written is left out and reported. */
export function joinHeaders(headers: HeaderList, onProblem: TransportOptions['onProblem']): string {
  let block = '';
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    const kind = kindOfName(name);
    if (kind === 'owned') continue;
    // The value stays out of the report: it may be a secret.
    if (kind === 'unwritable' || !isHeaderValue(value)) onProblem(new Error(name), 'invalid answer header');
    else block += block === '' ? `${name}: ${value}` : `\r\n${name}: ${value}`;
  }
  return block;
}
