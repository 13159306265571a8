import { isGatewayKey } from '../../src/common/access/gateway-key.js';
import { Secret } from '../../src/common/access/secret.js';
import type { Awaitable } from '../../src/common/core/directory.js';
import { GatewayError } from '../../src/common/core/errors.js';
import type { Exchange } from '../../src/common/core/exchange.js';
import type { ResolvedConfig } from '../../src/common/core/target.js';
import { bearerToken } from '../../src/common/http/bearer.js';
import { getHeader } from '../../src/common/http/headers.js';
import { traceOf } from '../../src/common/http/trace.js';
import { definePlugin, type HostWith, type NeedsOf } from '../../src/common/plugin-host/plugin.js';
import { directCredential } from '../../src/common/plugin-host/slots.js';
import {
  createHeaderReader,
  credentialHeaders,
  type GivenHeaders,
  holdsSecret,
  targetKey,
} from './gateway-headers.js';
import { headerConfig, layeredConfig } from './header-layer.js';
import { readHeaderTarget } from './header-target.js';
import { refuseInline } from './inline.js';
import { mergeMetadata, nothing, readMetadata } from './metadata.js';
import stage from './stage.js';

/**
 * Determines the call's config, trace and metadata. Precedence, the first one set wins:
 *
 * config     the config header, by slug or inline; else the key's default config. A key may forbid the header.
 * provider   the config's target as a whole: provider, virtual key and api key are never mixed from two sources;
 *            else the virtual-key header; else the provider header, `@slug` or a name with the client's own
 *            credential; else a model of the form `@slug/model`.
 * the rest   custom host, timeout, retries, forwarded headers and provider fields: the config's target, else the
 *            header. A custom host from a header needs a credential from a header.
 *
 * Without a config the headers alone make one target, under the same rules.
 */
export default definePlugin<Record<string, never>, NeedsOf<typeof stage>>({
  ...stage,
  setup(_options, host) {
    const read = createHeaderReader(host.headerPrefixes);
    const resolver = new Resolver(host);
    const settle = (x: Exchange): void | Promise<void> => {
      const given = read(x.request.headers);
      if (given.explain === 'true') x.explain = true;
      if (x.principal.blockInline) refuseInline(given, host.headerPrefixes[0]!);
      x.trace = traceOf(given, x.id);
      takeCredential(x, given);
      const { configId } = x.principal.defaults;
      const base = given.config === undefined && configId === null ? null : resolver.named(x, given);
      if (base instanceof Promise) return base.then((config) => resolver.settle(x, given, config));
      resolver.settle(x, given, base);
    };
    return { request: settle, explain: settle };
  },
});

/** Characters of the longest combination of header values that is kept. */
const maxKeyLength = 2048;

/**
 * Configs with the additions of headers, one for each combination of header values, so that a recurring combination
 * builds nothing. They are kept with the inline configs, within the same limit. No credential is part of a
 * combination: the client's own is kept with its exchange.
 */
class Resolver {
  readonly #host: HostWith<'configs'>;
  readonly #bare: ResolvedConfig;

  constructor(host: HostWith<'configs'>) {
    this.#host = host;
    this.#bare = headerConfig(readHeaderTarget({}, host), '');
  }

  /** The config that the call or its key names; null: neither does. */
  named(x: Exchange, given: GivenHeaders): Awaitable<ResolvedConfig | null> {
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
    if (asked?.startsWith('{')) return this.#host.configs.compile(asked);
    const slug = asked ?? configId;
    if (slug === null || slug === undefined) return null;
    const { workspaceId } = principal;
    const found =
      workspaceId === null || !isSlug(slug) ? null : this.#host.directory.config(workspaceId, slug);
    if (found instanceof Promise) return found.then((config) => config ?? this.#unknown(slug, asked));
    return found ?? this.#unknown(slug, asked);
  }

  /** Sets the exchange's config and metadata. */
  settle(x: Exchange, given: GivenHeaders, base: ResolvedConfig | null): void {
    const key = targetKey(given);
    const name = base === null || key === null ? key : `${base.fingerprint}\n${key}`;
    const config =
      key === null || name === null
        ? (base ?? this.#bare)
        : (this.#host.configs.get(name) ?? this.#withHeaders(given, base, key, name));
    if (base === null && given['virtual-key'] === undefined && given.provider === undefined)
      this.#requireProvider(x, given);
    x.config = config;
    const { metadata, user } = x.principal.defaults;
    const { pairs, dropped } = given.metadata === undefined ? nothing : readMetadata(given.metadata);
    x.metadata = mergeMetadata(metadata, config.metadata, pairs, x.request.json?.['user'], user);
    if (x.addedMetadata !== null) x.metadata = { ...x.metadata, ...x.addedMetadata };
    if (dropped.length > 0) x.droppedMetadata = dropped;
  }

  /** `key`: the values of the headers; `name`: what the result is kept under. */
  #withHeaders(given: GivenHeaders, base: ResolvedConfig | null, key: string, name: string): ResolvedConfig {
    const header = readHeaderTarget(given, this.#host);
    const config = base === null ? headerConfig(header, key) : layeredConfig(base, header, key);
    if (key.length <= maxKeyLength && !holdsSecret(given)) this.#host.configs.set(name, config);
    return config;
  }

  /** For a call whose config and headers name none: its model may. */
  #requireProvider(x: Exchange, given: GivenHeaders): void {
    const prefix = this.#host.headerPrefixes[0];
    if (given['custom-host'] !== undefined) {
      throw new GatewayError(
        'missing_provider',
        `A custom host needs ${prefix}provider beside it: the name of the provider whose API it speaks.`,
        { param: `${prefix}provider` },
      );
    }
    // Then the models that the key may use are listed.
    if (x.endpoint.name === 'models') return;
    if (/^@[^/]+\/./.test(x.modelAsked ?? '')) return;
    const headers = `${prefix}config, ${prefix}virtual-key, ${prefix}provider (a name with your own key in Authorization, or @slug of a stored one)`;
    throw new GatewayError(
      'missing_provider',
      x.endpoint.name === 'passthrough'
        ? `No provider is named: send one of the headers ${headers}. This path is passed through, so a model in the body names none.`
        : `No provider is named: send ${headers}, or a model of the form @slug/model.`,
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

/** Is it the JSON web token of this call, in a second header? */
function isOwnToken({ principal, keyHeader, request }: Exchange, text: string): boolean {
  if (principal.isToken !== true) return false;
  const value = getHeader(request.headers, keyHeader ?? '') ?? '';
  return value === text || bearerToken(value) === text;
}

/** Keeps the client's own provider key for attempts without another one. A gateway key is never used. */
function takeCredential(x: Exchange, given: GivenHeaders): void {
  const keyHeader = x.keyHeader;
  for (const name of credentialHeaders) {
    const value = given[name];
    if (value === undefined || name === keyHeader) continue;
    let credential = value;
    if (name === 'authorization') {
      const token = bearerToken(value);
      if (token === null) continue;
      credential = token.trim();
    }
    if (credential === '' || isGatewayKey(credential) || isOwnToken(x, credential)) continue;
    x.set(directCredential, new Secret(credential));
    return;
  }
}
