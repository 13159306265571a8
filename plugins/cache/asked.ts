import type { EndpointName } from '../../src/common/core/endpoint.js';
import { GatewayError } from '../../src/common/core/errors.js';
import type { Exchange } from '../../src/common/core/exchange.js';
import type { CacheRule } from '../../src/common/core/target.js';
import { getHeader } from '../../src/common/http/headers.js';

/** What a call and its config ask of the cache. */
export interface Asked {
  readonly rule: CacheRule;
  /** Seconds: no older answer, and none kept for longer. */
  readonly maxAge: number;
  /** Calls that name one share answers, whatever their keys and metadata. */
  readonly namespace: string | null;
  /** Is a new answer wanted in any case? It takes the old one's place. */
  readonly refresh: boolean;
}

/** Answers of these are JSON (or events of it) and mean the same when they are read again. */
const cachable: ReadonlySet<EndpointName> = new Set([
  'chat',
  'completions',
  'embeddings',
  'responses',
  'messages',
  'gemini-generate',
  'gemini-embed',
]);

/** What goes on at the provider from call to call: there, the same words are another question each time. */
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

/** Reads what calls ask of the cache, by config and headers. */
export class AskedReader {
  /** Each name with every prefix, the first prefix first. */
  readonly #headers: Readonly<Record<Name, readonly string[]>>;

  constructor(
    prefixes: readonly string[],
    /** Seconds: no answer is kept for longer. */
    readonly mostAge: number,
  ) {
    const spelt = names.map((name) => [name, prefixes.map((prefix) => prefix + name)] as const);
    this.#headers = Object.fromEntries(spelt) as unknown as Record<Name, readonly string[]>;
  }

  /** null: nothing. Throws `invalid_request` for a header that cannot be read. */
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
