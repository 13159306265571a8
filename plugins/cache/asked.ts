import type { EndpointName } from '../../src/common/core/endpoint.js';
import { GatewayError } from '../../src/common/core/errors.js';
import type { Exchange } from '../../src/common/core/exchange.js';
import type { CacheRule } from '../../src/common/core/target.js';
import { getHeader } from '../../src/common/http/headers.js';

/** The cache options of a call, from its headers and config. */
export interface Asked {
  readonly rule: CacheRule;
  /** Seconds: an older answer is not used, and none is kept for longer. */
  readonly maxAge: number;
  /** Calls with the same namespace share answers, whatever their keys and metadata. */
  readonly namespace: string | null;
  /** Forced refresh: the upstream is called, and its answer replaces the stored one. */
  readonly refresh: boolean;
}

/** Their answers are JSON (or events of it) and can be repeated. */
const cachable: ReadonlySet<EndpointName> = new Set([
  'chat',
  'completions',
  'embeddings',
  'responses',
  'messages',
  'gemini-generate',
  'gemini-embed',
]);

/**
 * Members of a call that continues a state at the provider, where the same words are a different question each time.
 */
const ongoing: Partial<Record<EndpointName, string>> = { responses: 'conversation', messages: 'container' };

/** A longer body is not worth hashing on a data worker's event loop. */
const maxRequestBytes = 1024 * 1024;
const maxNamespaceLength = 256;

const week = 604_800;
/** What the cache header switches on where the config has no cache. */
const switched: ReadonlyMap<string, CacheRule> = new Map([
  ['simple', { mode: 'simple', maxAge: week, similarity: 1, embedding: null }],
  ['semantic', { mode: 'semantic', maxAge: week, similarity: 0.95, embedding: null }],
]);

const names = ['cache', 'cache-ttl', 'cache-namespace', 'cache-force-refresh', 'debug'] as const;
type Name = (typeof names)[number];

/** Reads the cache options of calls, from config and headers. */
export class AskedReader {
  /** Each name with every prefix, the first prefix first. */
  readonly #headers: Readonly<Record<Name, readonly string[]>>;

  constructor(
    prefixes: readonly string[],
    /** Seconds: upper limit of `maxAge`. */
    readonly mostAge: number,
  ) {
    const spelt = names.map((name) => [name, prefixes.map((prefix) => prefix + name)] as const);
    this.#headers = Object.fromEntries(spelt) as unknown as Record<Name, readonly string[]>;
  }

  /** null: the cache is off. Throws `invalid_request` for a header that cannot be read. */
  read(x: Exchange): Asked | null {
    let rule = x.config.cache;
    if (rule === null) {
      const value = this.#header(x, 'cache');
      if (value === undefined) return null;
      rule = this.#switched(value);
    }
    const { name } = x.endpoint;
    if (x.request.json === null || !cachable.has(name)) return null;
    if (ongoing[name] !== undefined && (x.request.json[ongoing[name]] ?? null) !== null) return null;
    if (x.request.bytes!.length > maxRequestBytes || this.#isSet(x, 'debug', 'false')) return null;
    const ttl = this.#header(x, 'cache-ttl');
    if (ttl !== undefined && !/^[1-9]\d{0,7}$/.test(ttl))
      this.#refuse('cache-ttl', 'must be whole seconds, at least 1');
    const namespace = this.#header(x, 'cache-namespace') ?? null;
    if (namespace !== null && namespace.length > maxNamespaceLength)
      this.#refuse('cache-namespace', `must have at most ${maxNamespaceLength} characters`);
    return {
      rule,
      maxAge: Math.min(ttl === undefined ? rule.maxAge : Number(ttl), this.mostAge),
      namespace,
      refresh: this.#isSet(x, 'cache-force-refresh', 'true'),
    };
  }

  #switched(value: string): CacheRule {
    return switched.get(value.toLowerCase()) ?? this.#refuse('cache', 'must be simple or semantic');
  }

  #isSet(x: Exchange, name: Name, to: string): boolean {
    return this.#header(x, name)?.toLowerCase() === to;
  }

  #header(x: Exchange, name: Name): string | undefined {
    for (const header of this.#headers[name]) {
      const value = getHeader(x.request.headers, header);
      if (value !== undefined && value !== '') return value;
    }
    return undefined;
  }

  #refuse(name: Name, rule: string): never {
    const header = this.#headers[name][0]!;
    throw new GatewayError('invalid_request', `${header} ${rule}.`, { param: header });
  }
}
