import type { SecureContext } from 'node:tls';
import { GatewayError } from '../../../common/core/errors.js';
import { type CheckedAddresses, createEgress, type Egress } from '../address/egress.js';
import { createResolver, type Resolve } from '../address/resolver.js';
import { storedOrigin } from '../address/stored-origin.js';
import { CheckedPools, ownIdentityAccount, unsaidKeepMsCustom } from '../connections/checked-pools.js';
import { targetOf, trust } from '../connections/connect.js';
import { Pools } from '../connections/pools.js';
import { Deadlines } from '../deadlines.js';
import type { UpstreamOptions } from '../dispatch.js';
import { failure } from '../failure.js';
import { splitUrl } from '../request-head.js';
import type {
  ConnectionScope,
  Upstream,
  UpstreamFlight,
  UpstreamHandler,
  UpstreamRequest,
} from '../upstream.js';
import { type ConnectWait, createConnector } from './connector.js';
import { type ForwardProxy, proxyOf } from './forward-proxy.js';
import { KeptPool, type KeptPoolOptions } from './kept-pool.js';
import { UndiciFlight } from './undici-flight.js';
import { outgoingHeaders } from './undici-headers.js';

export interface UndiciOptions extends UpstreamOptions {
  /** URL of a forward proxy for requests to stored addresses; null: none. */
  readonly proxy?: string | null;
}

const providerLimits = { pools: 2_048, poolsPerTenant: 512 };
const maxIdleProviders = 1_024;
const sweepMs = 500;

/** The client over undici, with the same rules as the gateway's own: a pool for each tenant, origin and account. */
export function createUndiciUpstream(options: UndiciOptions): Upstream {
  return new UndiciUpstream(options);
}

class UndiciUpstream implements Upstream {
  readonly #providers = new Pools<KeptPool>(providerLimits);
  /** Never through the proxy, which would resolve their names itself. */
  readonly #custom: CheckedPools<KeptPool, KeptPoolOptions>;
  readonly #inFlight = new Set<UndiciFlight>();
  readonly #deadlines = new Deadlines();
  readonly #egress: Egress;
  readonly #trusted: SecureContext | undefined;
  readonly #proxy: ForwardProxy | null;
  readonly #sweeper: NodeJS.Timeout;
  readonly #providerPool: KeptPoolOptions;
  readonly #customPool: KeptPoolOptions;
  /** For requests about the gateway's own identity. */
  readonly #notKept: KeptPoolOptions;
  readonly #maxIdle: number;
  readonly #maxOpen: number;
  #open = 0;
  #closed = false;

  constructor(options: UndiciOptions) {
    const { connectionsPerOrigin: connections, keepAliveMs, proxy = null } = options;
    this.#egress = createEgress({
      allow: options.egressAllow,
      resolve: options.resolve ?? createResolver(),
    });
    this.#trusted = trust(options.ca);
    this.#proxy = proxy === null ? null : proxyOf(proxy);
    this.#maxIdle = options.maxIdle ?? maxIdleProviders;
    this.#maxOpen = options.maxOpen ?? Number.POSITIVE_INFINITY;
    this.#sweeper = setInterval(() => this.#sweep(), sweepMs).unref();
    const counted = (change: 1 | -1): void => {
      this.#open += change;
      if (this.#open > this.#maxOpen) this.#closeUnused();
    };
    this.#providerPool = { connections, keepAliveMs, unsaidKeepMs: keepAliveMs, counted };
    this.#customPool = {
      connections,
      keepAliveMs,
      unsaidKeepMs: Math.min(keepAliveMs, unsaidKeepMsCustom),
      counted,
    };
    this.#notKept = { ...this.#customPool, keepAliveMs: 0 };
    this.#custom = new CheckedPools({
      make: (url, resolve, pool, usableUntil) =>
        new KeptPool(targetOf(url), this.#connector(resolve, null), pool, usableUntil),
      renew: (pool, resolve, usableUntil) => pool.renew(this.#connector(resolve, null), usableUntil),
    });
  }

  send(request: UpstreamRequest, handler: UpstreamHandler): UpstreamFlight {
    if (request.ownIdentity === true)
      return this.#sendChecked(request, handler, this.#egress.ownIdentity, ownIdentityAccount, this.#notKept);
    if (request.callerChosen)
      return this.#sendChecked(request, handler, this.#egress, request.account, this.#customPool);
    const { origin, path } = splitUrl(request.url);
    let pool: KeptPool;
    try {
      if (this.#closed) throw failure('draining', origin);
      pool = this.#providers.find(request.tenant, origin, request.account) ?? this.#openPool(request, origin);
    } catch (thrown) {
      return this.#refuse(request, handler, GatewayError.from(thrown));
    }
    const flight = new UndiciFlight(request, handler, this.#deadlines, pool.target.host);
    this.#dispatch(pool, flight, request, path);
    return flight;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweeper);
    for (const flight of [...this.#inFlight]) flight.fail(failure('draining', ''));
    this.#providers.close();
    this.#custom.close();
    this.#deadlines.stop();
  }

  #dispatch(pool: KeptPool, flight: UndiciFlight, request: UpstreamRequest, path: string): void {
    const { method, headers, ownIdentity } = request;
    const outgoing = outgoingHeaders(headers, flight.upload !== null, ownIdentity === true);
    if (outgoing === null || !isSendable(method, path)) return flight.fail(failure('invalid_request', ''));
    flight.upload?.expect(outgoing.streamed);
    this.#inFlight.add(flight);
    flight.whenDone(() => {
      this.#inFlight.delete(flight);
      if (this.#open - this.#inFlight.size > this.#maxIdle) this.#closeUnused();
    });
    pool.send(flight, method, path, outgoing);
  }

  #openPool({ tenant, account }: UpstreamRequest, origin: string): KeptPool {
    const { url, resolve } = storedOrigin(origin, this.#egress);
    const pool = new KeptPool(targetOf(url), this.#connector(resolve, this.#proxy), this.#providerPool);
    this.#providers.add(tenant, origin, account, pool);
    return pool;
  }

  #connector(resolve: Resolve, proxy: ForwardProxy | null) {
    return (wait: ConnectWait) => createConnector({ resolve, trusted: this.#trusted, proxy }, wait);
  }

  #sweep(): void {
    const now = performance.now();
    this.#providers.sweep(now);
    this.#custom.sweep(now);
  }

  /** Closes the pool unused for longest, those of custom hosts first. */
  #closeUnused(): void {
    if (!this.#custom.closeOldest()) this.#providers.closeOldest();
  }

  /** The URL of each request is checked, and the addresses of its host every minute. */
  #sendChecked(
    request: UpstreamRequest,
    handler: UpstreamHandler,
    rules: CheckedAddresses,
    account: ConnectionScope,
    options: KeptPoolOptions,
  ): UpstreamFlight {
    let url: URL;
    try {
      if (this.#closed) throw failure('draining', '');
      url = rules.checkUrl(request.url);
    } catch (thrown) {
      return this.#refuse(request, handler, GatewayError.from(thrown));
    }
    const { tenant } = request;
    const flight = new UndiciFlight(request, handler, this.#deadlines, url.host);
    const path = url.pathname + url.search;
    const pool = this.#custom.find(tenant, url.origin, account);
    if (pool !== undefined) this.#dispatch(pool, flight, request, path);
    else
      this.#custom.check({ tenant, url, account, rules, options }, flight, (checked) =>
        this.#dispatch(checked, flight, request, path),
      );
    return flight;
  }

  #refuse(request: UpstreamRequest, handler: UpstreamHandler, error: GatewayError): UpstreamFlight {
    const flight = new UndiciFlight(request, handler, this.#deadlines, '');
    flight.fail(error);
    return flight;
  }
}

/** undici would send U+010D in a path as a CR, and treats CONNECT as a tunnel. */
const isSendable = (method: string, path: string): boolean =>
  method !== 'CONNECT' && !/[^\u0021-\u007e\u0080-\u00ff]/.test(path);
