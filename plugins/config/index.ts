import { LRUCache } from 'lru-cache';
import type { Awaitable } from '../../src/core/directory.js';
import { GatewayError } from '../../src/core/errors.js';
import type { Exchange } from '../../src/core/exchange.js';
import { isGatewayKey } from '../../src/core/gateway-key.js';
import { definePlugin, type Host } from '../../src/core/plugin.js';
import { Secret } from '../../src/core/secret.js';
import { directCredential, gatewayKeyHeader } from '../../src/core/slots.js';
import type { ResolvedConfig } from '../../src/core/target.js';
import {
  createHeaderReader,
  credentialHeaders,
  type Given,
  holdsSecret,
  targetKey,
} from './gateway-headers.js';
import { fillConfig, headerConfig, readHeaderTarget } from './header-target.js';
import { refuseInline } from './inline.js';
import { mergeMetadata, readMetadata } from './metadata.js';
import { traceOf } from './trace.js';

/**
 * What governs this call: its config, trace and metadata. Precedence (spec/api.md §2.7), the first that speaks:
 *
 * config     the config header, by slug or inline; else the key's default config. A key may forbid the former.
 * provider   the config's target, as a whole: provider, virtual key and api key are never mixed from two places;
 *            else the virtual-key header; else the provider header, `@slug` or a name with the client's own
 *            credential; else a model of the form `@slug/model`.
 * the rest   custom host, timeout, retries, forwarded headers and provider fields: the config's target, else the
 *            header. A custom host out of a header needs a credential out of a header.
 *
 * Without a config the headers alone make one target, under the same rules.
 */
export default definePlugin<Record<string, never>>({
  name: 'config',
  options: { type: 'object', additionalProperties: false },
  setup(_options, host) {
    const read = createHeaderReader(host.headerPrefixes);
    const resolver = new Resolver(host);
    const settle = (x: Exchange): void | Promise<void> => {
      const given = read(x.request.headers);
      if (given.explain === 'true') x.explain = true;
      if (x.principal.blockInline) refuseInline(given, host.headerPrefixes[0]!);
      x.trace = traceOf(given, x.id);
      takeCredential(x, given);
      const base = resolver.named(x, given);
      if (base instanceof Promise) return base.then((config) => resolver.settle(x, given, config));
      resolver.settle(x, given, base);
    };
    return { request: settle, explain: settle };
  },
});

/** Longest combination of header values that is worth remembering. */
const maxKeyLength = 2048;
const maxCombinations = 1000;

type Combinations = LRUCache<string, ResolvedConfig>;

/**
 * Configs with what headers add to them, one for each combination of header values, so that a call like one before
 * builds nothing. No credential is part of a combination: the client's own travels with its exchange.
 */
class Resolver {
  readonly #host: Host;
  readonly #alone: Combinations = new LRUCache({ max: maxCombinations });
  readonly #filled = new WeakMap<ResolvedConfig, Combinations>();
  readonly #bare: ResolvedConfig;

  constructor(host: Host) {
    this.#host = host;
    this.#bare = headerConfig(readHeaderTarget({}, host), '');
  }

  /** The config that the call or its key names; null: neither does. */
  named(x: Exchange, given: Given): Awaitable<ResolvedConfig | null> {
    const { principal } = x;
    const { configId, allowConfigOverride } = principal.defaults;
    const asked = given.config?.trim();
    if (asked !== undefined && !allowConfigOverride && configId !== null && asked !== configId) {
      throw new GatewayError(
        'config_override_blocked',
        'This API key has a default config that must not be overridden: leave the config header out.',
        { param: `${this.#host.headerPrefixes[0]}config` },
      );
    }
    if (asked?.startsWith('{')) return this.#host.compileConfig(asked);
    const slug = asked ?? configId;
    if (slug === null || slug === undefined) return null;
    const { workspaceId } = principal;
    const found =
      workspaceId === null || !isSlug(slug) ? null : this.#host.directory.config(workspaceId, slug);
    if (found instanceof Promise) return found.then((config) => config ?? this.#unknown(slug, asked));
    return found ?? this.#unknown(slug, asked);
  }

  /** Gives the exchange its config and metadata. */
  settle(x: Exchange, given: Given, base: ResolvedConfig | null): void {
    const config = this.#withHeaders(given, base);
    if (base === null) this.#requireProvider(x, given);
    x.config = config;
    const { metadata } = x.principal.defaults;
    x.metadata = mergeMetadata(
      metadata,
      config.metadata,
      readMetadata(given.metadata),
      x.request.json?.['user'],
    );
  }

  #withHeaders(given: Given, base: ResolvedConfig | null): ResolvedConfig {
    const key = targetKey(given);
    if (key === null) return base ?? this.#bare;
    const kept = base === null ? this.#alone : this.#combinationsOf(base);
    let config = kept.get(key);
    if (config === undefined) {
      const header = readHeaderTarget(given, this.#host);
      config = base === null ? headerConfig(header, key) : fillConfig(base, header, key);
      if (key.length <= maxKeyLength && !holdsSecret(given)) kept.set(key, config);
    }
    return config;
  }

  #combinationsOf(base: ResolvedConfig): Combinations {
    let kept = this.#filled.get(base);
    if (kept === undefined) {
      kept = new LRUCache({ max: 100 });
      this.#filled.set(base, kept);
    }
    return kept;
  }

  #requireProvider(x: Exchange, given: Given): void {
    if (given['virtual-key'] !== undefined || given.provider !== undefined) return;
    const prefix = this.#host.headerPrefixes[0];
    if (given['custom-host'] !== undefined) {
      throw new GatewayError(
        'missing_provider',
        `A custom host needs ${prefix}provider beside it: the name of the provider whose API it speaks.`,
        { param: `${prefix}provider` },
      );
    }
    if (/^@[^/]+\/./.test(x.modelAsked ?? '')) return;
    throw new GatewayError(
      'missing_provider',
      `No provider is named: send ${prefix}config, ${prefix}virtual-key, ${prefix}provider (a name with your own key in Authorization, or @slug of a stored one), or a model of the form @slug/model.`,
      { param: `${prefix}provider` },
    );
  }

  #unknown(slug: string, asked: string | undefined): never {
    const name = JSON.stringify(slug.slice(0, 64));
    throw new GatewayError(
      'config_not_found',
      asked === undefined
        ? `The default config of this API key, ${name}, is not there any more: give the key another one.`
        : `There is no config ${name} in this workspace: name one by its slug, or send its JSON.`,
      { param: `${this.#host.headerPrefixes[0]}config` },
    );
  }
}

const isSlug = (text: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(text);

/** Keeps the client's own provider key for an attempt that has no other. A gateway key is never one. */
function takeCredential(x: Exchange, given: Given): void {
  const keyHeader = x.get(gatewayKeyHeader);
  for (const name of credentialHeaders) {
    const value = given[name];
    if (value === undefined || name === keyHeader) continue;
    let credential = value;
    if (name === 'authorization') {
      if (value.slice(0, 7).toLowerCase() !== 'bearer ') continue;
      credential = value.slice(7).trim();
    }
    if (credential === '' || isGatewayKey(credential)) continue;
    x.set(directCredential, new Secret(credential));
    return;
  }
}
