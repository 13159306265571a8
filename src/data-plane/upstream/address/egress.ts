import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { GatewayError } from '../../../common/core/errors.js';
import { canonical, isMetadataHost } from '../../../common/http/addresses.js';
import { EgressAllow, hostName } from '../../../common/http/egress-allow.js';
import { isReserved } from './reserved.js';
import type { Resolve } from './resolver.js';

/**
 * The only way to an address that a caller influences: a custom host, and anything else a tenant names. Everything
 * refused is `invalid_custom_host`, and a name that does not exist gets the same error as an internal one.
 */
export interface CheckedAddresses {
  /** The URL, normalised, if its form, host and port are allowed. */
  checkUrl(url: string): URL;
  /** The addresses to connect to, resolved once and all checked. Connect to these, not to the name. */
  addresses(url: URL): Promise<readonly string[]>;
}

export interface Egress extends CheckedAddresses {
  /**
   * How the host of a stored address is resolved, each time that a connection is opened. Stored addresses may be
   * private, but neither link-local nor a cloud's metadata service, unless the operator allows it: throws, or rejects,
   * with `invalid_custom_host`.
   */
  stored(url: URL): Resolve;
  /** For requests to metadata services about the gateway's own identity: any address. */
  readonly ownIdentity: CheckedAddresses;
}

export interface EgressOptions {
  /** `host`, `host:port`, `address` or CIDR. A matching address may be reserved; a `host:port` may have any port. */
  readonly allow: readonly string[];
  readonly resolve: Resolve;
}

const invalidCode = 'invalid_custom_host';

/** Of the ports below 1024 only those of the web. */
const lowPorts = new Set([80, 443]);

/** Ports above 1024 of services that accept commands as text lines, store data without a password, or run code. */
const dangerousPorts = new Set([
  1433, 1434, 1521, 2049, 2181, 2222, 2375, 2376, 2379, 2380, 3306, 3389, 4369, 4505, 4506, 5432, 5433, 5672,
  5900, 5901, 5902, 5984, 5985, 5986, 6000, 6379, 6380, 6443, 7000, 7001, 7077, 7199, 7474, 8009, 8020, 8086,
  8300, 8301, 8500, 8600, 9000, 9042, 9092, 9160, 9200, 9300, 9418, 10250, 10255, 11211, 15672, 16379, 25672,
  26257, 26379, 27017, 27018, 27019, 28015, 50000, 50070, 61616,
]);

const internalSuffixes = [
  '.local',
  '.internal',
  '.localhost',
  '.localdomain',
  '.intranet',
  '.lan',
  '.home',
  '.corp',
  '.private',
  '.arpa',
  '.onion',
  '.test',
  '.invalid',
  '.example',
  '.cluster.local',
  '.svc',
];

export function createEgress(options: EgressOptions): Egress {
  const allow = new EgressAllow(options.allow);
  const own = new OwnAddresses();

  return {
    checkUrl(text) {
      const url = parse(text);
      const host = bareHost(url);
      const port = portOf(url);
      if (allow.hasPort(host, port)) return url;
      if (!lowPorts.has(port) && (port < 1024 || dangerousPorts.has(port))) {
        throw refused(`port ${port} may not be reached`);
      }
      if (allow.hasHost(host)) return url;
      if (isIP(host) !== 0) {
        checkAddress(host, allow, own);
      } else if (isInternalName(host)) {
        throw refused('it is an internal name');
      }
      return url;
    },

    async addresses(url) {
      const host = bareHost(url);
      const trusted = allow.hasHost(host) || allow.hasPort(host, portOf(url));
      let found: readonly string[];
      try {
        found = isIP(host) !== 0 ? [host] : await options.resolve(host);
      } catch (cause) {
        throw refused('it has no public address', cause);
      }
      if (found.length === 0) throw refused('it has no public address');
      if (!trusted) for (const address of found) checkAddress(address, allow, own);
      return found;
    },

    stored(url) {
      const host = bareHost(url);
      if (allow.hasHost(host) || allow.hasPort(host, portOf(url))) return options.resolve;
      const check = (found: string): void => {
        if (isMetadataHost(found) && !allow.hasAddress(found)) throw refusedStored(url.host);
      };
      check(host);
      return async (name) => {
        const found = await options.resolve(name);
        for (const address of found) check(address);
        return found;
      };
    },

    ownIdentity: {
      checkUrl: (text) => new URL(text),
      addresses: async (url) => options.resolve(bareHost(url)),
    },
  };
}

function parse(text: string): URL {
  // The parser repairs `http:host`, backslashes and control characters; a URL that needs repair is probably an attack.
  if (!/^https?:\/\/[^/?#\\\s]/i.test(text) || !isPlain(text)) {
    throw refused('it must be a plain http:// or https:// URL');
  }
  let url: URL;
  try {
    url = new URL(text);
  } catch (cause) {
    throw refused('it is not a URL', cause);
  }
  if (url.username !== '' || url.password !== '' || authorityOf(text).includes('@')) {
    throw refused('it must not hold a user name or password');
  }
  const host = bareHost(url);
  // With a dot at the end it is the same host for DNS and another one for allow-lists, certificates and Host.
  if (url.hostname.endsWith('.')) url.hostname = host;
  if (isIP(host) === 0 && !hostName.test(host)) throw refused('it has no valid host name');
  url.hash = '';
  return url;
}

function authorityOf(text: string): string {
  return text.slice(text.indexOf('://') + 3).split(/[/?#\\]/, 1)[0] ?? '';
}

function isPlain(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char <= 32 || char === 127 || char === 92) return false;
  }
  return true;
}

/** The host as resolvers and lists use it: no brackets, no trailing dot. The URL parser has lower-cased it. */
function bareHost(url: URL): string {
  const host = url.hostname;
  if (host.startsWith('[')) return host.slice(1, -1);
  return host.endsWith('.') ? host.slice(0, -1) : host;
}

function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

function isInternalName(host: string): boolean {
  // A single label is a machine of the own network: `redis`, `metadata`, `kubernetes`.
  if (!host.includes('.') || isMetadataHost(host)) return true;
  return internalSuffixes.some((suffix) => host.endsWith(suffix));
}

function checkAddress(address: string, allow: EgressAllow, own: OwnAddresses): void {
  if (allow.hasAddress(address)) return;
  if (isReserved(address) || own.has(address)) throw refused('it has no public address');
}

function refusedStored(host: string): GatewayError {
  return new GatewayError(
    'invalid_custom_host',
    `${host} leads to a link-local or metadata address, which the gateway does not connect to: store another address, or have the operator add this one to egress_allow (HEADGATE_EGRESS_ALLOW).`,
  );
}

function refused(why: string, cause?: unknown): GatewayError {
  const message = `This custom host cannot be used: ${why}. Ask the operator to allow it if it should be.`;
  return new GatewayError(invalidCode, message, { cause });
}

/** This machine's own addresses: the admin port may listen on a public one. */
class OwnAddresses {
  #addresses: ReadonlySet<string> = new Set();
  #readAt = Number.NEGATIVE_INFINITY;

  has(address: string): boolean {
    if (performance.now() - this.#readAt > 10_000) {
      this.#readAt = performance.now();
      const found = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
      this.#addresses = new Set(found.map((entry) => canonical(entry.address.replace(/%.*$/, ''))));
    }
    return this.#addresses.has(canonical(address));
  }
}
