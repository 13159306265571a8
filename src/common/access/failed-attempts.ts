import { isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';
import { atMost } from '../bytes/lru.js';

const windowMs = 60_000;
const maxNetworks = 10_000;
/** Of JSON web tokens in a minute: unlike a wrong key, one that has expired is sent by honest clients too. */
export const maxFailedTokens = 300;

/** Counts failed attempts by the network that they came from, in windows of a minute. */
export class FailedAttempts {
  readonly #counts = new LRUCache<string, { count: number }>({ ...atMost(maxNetworks), ttl: windowMs });

  constructor(readonly limit = 60) {}

  /** Counts one; how many there were from that network in its window, this one included. */
  add(network: string): number {
    const seen = this.#counts.get(network);
    if (seen !== undefined) return ++seen.count;
    this.#counts.set(network, { count: 1 });
    return 1;
  }

  /** Milliseconds until that network may try again; 0: it is below its limit. */
  retryAfterMs(network: string): number {
    const seen = this.#counts.get(network);
    return seen === undefined || seen.count < this.limit ? 0 : this.#counts.getRemainingTTL(network);
  }
}

/** An IPv4 address itself; the /64 of an IPv6 address, since a single client has all of that. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped !== null) return mapped[1]!;
  const [head = '', tail] = address.replace(/%.*$/, '').split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const after = tail === '' ? [] : tail.split(':');
    // An IPv4 address at the end takes the place of two groups.
    const width = after.length + (after.at(-1)?.includes('.') === true ? 1 : 0);
    while (groups.length < 8 - width) groups.push('0');
    groups.push(...after);
  }
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
