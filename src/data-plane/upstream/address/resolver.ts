import { promises as dns, lookup } from 'node:dns';
import { readFile } from 'node:fs/promises';
import { isIP, type LookupFunction } from 'node:net';

/** All addresses of a name, IPv4 first. Rejects if it has none. */
export type Resolve = (host: string) => Promise<readonly string[]>;

const rememberMs = 5_000;
const maxNames = 1_000;
/** Addresses used per name: an answer may have thousands. */
const maxAddresses = 32;
const rereadHostsMs = 5_000;
/** How long to wait for IPv6 after an IPv4 answer: some resolvers drop AAAA questions. */
const otherFamilyMs = 300;
/** Of libuv's four threads; the others stay free for files and crypto, even if the name service is slow. */
const systemLookups = 2;

const unknownName = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

/**
 * Resolves names without the thread pool: the hosts file, then DNS by c-ares. A name that is not in DNS (search
 * domains, mDNS, NIS) is resolved by the system, two at a time. Simultaneous equal queries share one answer.
 */
export function createResolver(): Resolve {
  const asking = new Map<string, Promise<readonly string[]>>();
  const known = new Map<string, { addresses: readonly string[]; until: number }>();
  const hosts = new HostsFile('/etc/hosts');
  const cares = new dns.Resolver({ timeout: 2_000, tries: 2 });
  const system = new SystemLookup();

  async function ask(host: string): Promise<readonly string[]> {
    const listed = (await hosts.entries()).get(host);
    if (listed !== undefined) return listed;
    if (host === 'localhost' || host.endsWith('.localhost')) return ['127.0.0.1', '::1'];
    const four = collect(cares.resolve4(host));
    const six = collect(cares.resolve6(host));
    const first = await four;
    const second = await (first.addresses.length > 0 ? within(six, otherFamilyMs) : six);
    const addresses = [
      ...first.addresses.slice(0, maxAddresses / 2),
      ...second.addresses.slice(0, maxAddresses / 2),
    ];
    if (addresses.length > 0) return addresses;
    const error = first.error ?? second.error;
    if (error !== null && !unknownName.has(error.code ?? '')) throw error;
    return system.ask(host);
  }

  return (host) => {
    if (isIP(host) !== 0) return Promise.resolve([host]);
    const remembered = known.get(host);
    if (remembered !== undefined && remembered.until > performance.now()) {
      return Promise.resolve(remembered.addresses);
    }
    let answer = asking.get(host);
    if (answer === undefined) {
      answer = ask(host).finally(() => asking.delete(host));
      answer.then(
        (addresses) => {
          if (known.size >= maxNames) known.clear();
          known.set(host, { addresses, until: performance.now() + rememberMs });
        },
        () => known.delete(host),
      );
      asking.set(host, answer);
    }
    return answer;
  };
}

/** A Resolve as the `lookup` option of `net.connect`. */
export function asLookup(resolve: Resolve): LookupFunction {
  return (host, options, callback) => {
    resolve(host).then(
      (addresses) => {
        const wanted = options.family === 4 || options.family === 6 ? options.family : 0;
        const found = addresses
          .map((address) => ({ address, family: isIP(address) }))
          .filter((entry) => wanted === 0 || entry.family === wanted);
        // Outside the promise: an error that the callback throws belongs to the socket and is not a rejection.
        process.nextTick(() => {
          const first = found[0];
          if (first === undefined) callback(notFound(host), '', 0);
          else if (options.all === true) callback(null, found);
          else callback(null, first.address, first.family);
        });
      },
      (error: NodeJS.ErrnoException) => process.nextTick(callback, error, '', 0),
    );
  };
}

interface Collected {
  readonly addresses: readonly string[];
  readonly error: NodeJS.ErrnoException | null;
}

function collect(answer: Promise<string[]>): Promise<Collected> {
  return answer.then(
    (addresses) => ({ addresses, error: null }),
    (error: NodeJS.ErrnoException) => ({ addresses: [], error }),
  );
}

function within(answer: Promise<Collected>, ms: number): Promise<Collected> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve({ addresses: [], error: null }), ms);
    void answer.then((collected) => {
      clearTimeout(timer);
      resolve(collected);
    });
  });
}

function notFound(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`no address for ${host}`), { code: 'ENOTFOUND' });
}

class HostsFile {
  readonly #path: string;
  #entries: ReadonlyMap<string, readonly string[]> = new Map();
  #reading: Promise<ReadonlyMap<string, readonly string[]>> | null = null;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(path: string) {
    this.#path = path;
  }

  entries(): Promise<ReadonlyMap<string, readonly string[]>> {
    if (performance.now() - this.#readAt < rereadHostsMs) return Promise.resolve(this.#entries);
    this.#reading ??= readFile(this.#path, 'utf8').then(
      (text) => this.#keep(parseHosts(text)),
      () => this.#keep(new Map()),
    );
    return this.#reading;
  }

  #keep(entries: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, readonly string[]> {
    this.#entries = entries;
    this.#readAt = performance.now();
    this.#reading = null;
    return entries;
  }
}

function parseHosts(text: string): Map<string, string[]> {
  const entries = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (address === undefined || isIP(address) === 0) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      const listed = entries.get(key);
      if (listed === undefined) entries.set(key, [address]);
      else listed.push(address);
    }
  }
  return entries;
}

class SystemLookup {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  async ask(host: string): Promise<readonly string[]> {
    while (this.#running >= systemLookups) await new Promise<void>((go) => this.#waiting.push(go));
    this.#running += 1;
    try {
      return await new Promise((resolve, reject) => {
        lookup(host, { all: true }, (error, found) => {
          if (error) reject(error);
          else resolve(found.map((entry) => entry.address));
        });
      });
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }
}
