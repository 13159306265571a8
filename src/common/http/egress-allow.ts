import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';
import { type Cidr, canonical, matches } from './addresses.js';

/** Letters, digits, hyphen, underscore; no empty label. The URL parser accepts more, which is not a host name. */
export const hostName =
  /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

/** One entry, read: addresses, or a host and perhaps a port of it. */
type AllowEntry = { readonly range: Cidr } | { readonly host: string; readonly port: number | null };

/**
 * Destinations that the operator allows in addition: exact hosts, exact host and port, and address ranges. No
 * wildcards, no suffixes.
 */
export class EgressAllow {
  readonly #hosts = new Set<string>();
  readonly #hostPorts = new Set<string>();
  readonly #ranges: Cidr[] = [];

  /** Entries that `allowProblem` accepts; others allow nothing. */
  constructor(entries: readonly string[]) {
    for (const text of entries) {
      const entry = readEntry(text);
      if (typeof entry === 'string') continue;
      if ('range' in entry) this.#ranges.push(entry.range);
      else if (entry.port === null) this.#hosts.add(entry.host);
      else this.#hostPorts.add(`${entry.host} ${entry.port}`);
    }
  }

  /** `host`: as URLs have it, in lower case, without brackets. */
  hasHost(host: string): boolean {
    return this.#hosts.has(canonical(host));
  }

  hasPort(host: string, port: number): boolean {
    return this.#hostPorts.has(`${canonical(host)} ${port}`);
  }

  /** Is this address in one of the ranges? */
  hasAddress(address: string): boolean {
    if (isIP(address) === 0) return false;
    const parsed = ipaddr.parse(address);
    return this.#ranges.some((range) => matches(parsed, range));
  }
}

/** The problem of an entry, as a sentence without its full stop; null: none. */
export function allowProblem(text: string): string | null {
  const entry = readEntry(text);
  return typeof entry === 'string' ? entry : null;
}

const example = 'as in 10.0.0.0/8, inside.example.org, 127.0.0.1:8000 or [fd00::7]:8000';

function readEntry(text: string): AllowEntry | string {
  const entry = text.trim().toLowerCase();
  if (entry.includes('/')) return readRange(entry);
  if (isIP(entry) !== 0) return isLocal(entry) ? noZone : { host: canonical(entry), port: null };
  const [, inBrackets, plain, portText] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::([^:]*))?$/.exec(entry) ?? [];
  const port = portText === undefined ? null : Number(portText);
  if (port !== null && (!/^\d{1,5}$/.test(portText!) || port < 1 || port > 65_535))
    return `has ${JSON.stringify(portText)} for a port: a port is 1 to 65535`;
  if (inBrackets !== undefined) {
    if (isIP(inBrackets) !== 6) return `must have an IPv6 address in its brackets, ${example}`;
    return isLocal(inBrackets) ? noZone : { host: canonical(inBrackets), port };
  }
  const name = (plain ?? '').replace(/\.$/, '');
  if (isIP(name) !== 0) return { host: canonical(name), port };
  const host = domainToASCII(name);
  if (name.includes('*')) return 'has a wildcard: name each host, or a range of addresses';
  // The URL parser reads 10.1 as 10.0.0.1, which its writer may not have meant.
  if (!hostName.test(host) || isIP(host) !== 0)
    return `must be a host, host:port, address or CIDR, ${example}`;
  return { host, port };
}

const noZone = 'must not name a zone: leave out what follows the %';
const isLocal = (address: string): boolean => address.includes('%');

/** Bits after the prefix may be set, as ipaddr.js has it: 10.0.0.1/8 is 10.0.0.0/8. */
function readRange(entry: string): AllowEntry | string {
  const [address = '', bits = '', more] = entry.split('/');
  const family = isIP(address);
  if (family === 0 || more !== undefined)
    return 'must have an IPv4 or IPv6 address before its /, as in 10.0.0.0/8';
  if (isLocal(address)) return noZone;
  const most = family === 4 ? 32 : 128;
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > most)
    return `has the prefix length ${JSON.stringify(bits)}: of IPv${family} it is 0 to ${most}`;
  return { range: [ipaddr.parse(address), Number(bits)] };
}
