import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { isGatewayKey } from '../../../common/access/gateway-key.js';
import {
  bareAuthorization,
  invalidKey,
  missingKey,
  severalKeys,
} from '../../../common/access/key-refusals.js';
import { isSessionToken } from '../../../common/access/session-token.js';
import { isTokenForm } from '../../../common/access/token-form.js';
import { bearerToken } from '../../../common/http/bearer.js';
import type { HeaderList } from '../../../common/http/headers.js';
import { cookieName, cookieValues, ownCookies } from '../../../common/http/own-cookies.js';
import type { Account } from './quota.js';

/**
 * The key in the headers of a call. `text`: one that has the form of a key; else `problem` describes what is
 * wrong.
 */
export type ShownKey =
  | { readonly text: string; readonly problem: null }
  | { readonly text: null; readonly problem: string };

/**
 * Finds the key in the headers by its form alone. `isKeyHeader`: is it one of the gateway's key headers? They win over
 * Authorization.
 */
export function shownKey(headers: HeaderList, isKeyHeader: (name: string) => boolean): ShownKey {
  const own: string[] = [];
  const authorization: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (isKeyHeader(name)) own.push(headers[i + 1]!);
    else if (name === 'authorization') authorization.push(headers[i + 1]!);
  }
  const [value, ...others] = own.length > 0 ? own : authorization;
  if (value === undefined) {
    // Its name depends on the public URL: the control process decides whether it is the right one.
    const session = sessionIn(headers);
    return session === null ? { text: null, problem: missingKey } : { text: session, problem: null };
  }
  if (others.length > 0) return { text: null, problem: severalKeys };
  const text = own.length > 0 ? value : bearerToken(value);
  if (text === null) return { text: null, problem: bareAuthorization };
  return isGatewayKey(text) || isTokenForm(text) || isSessionToken(text)
    ? { text, problem: null }
    : { text: null, problem: invalidKey };
}

/** The token of a session, among the cookies; null: there is none. */
function sessionIn(headers: HeaderList): string | null {
  const cookies = ownCookies(headers);
  const values = [false, true].flatMap((isSecure) => cookieValues(cookies, cookieName('session', isSecure)));
  return values.find(isSessionToken) ?? null;
}

/** Milliseconds that an accepted key counts as proven. */
const provenMs = 10 * 60_000;
const mostProven = 1000;

/** Identifies callers, and remembers the keys that were accepted recently. Keeps digests, never the text of a key. */
export class Visitors {
  readonly #proven = new LRUCache<string, true>({ max: mostProven, ttl: provenMs });

  /** `key` null: the call has none of the right form. */
  accountOf(key: string | null, address: string): Account {
    const digest = key === null ? null : createHash('sha256').update(key).digest('base64url');
    const trust = digest === null ? 'keyless' : this.#proven.has(digest) ? 'proven' : 'formed';
    return { trust, key: digest, address: networkOf(address) };
  }

  accepted({ key }: Account): void {
    if (key !== null) this.#proven.set(key, true);
  }

  refused({ key }: Account): void {
    if (key !== null) this.#proven.delete(key);
  }
}

/** The IPv4 address, or the first 64 bits of an IPv6 address, all of which one host may have. */
function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const groups = address.split('::', 1)[0]!.split(':').slice(0, 4);
  while (groups.length < 4) groups.push('0');
  return groups.map((group) => Number.parseInt(group || '0', 16).toString(16)).join(':');
}
