import type { SecureContext } from 'node:tls';
import { GatewayError } from '../../../common/core/errors.js';
import { type CheckedAddresses, createEgress, type Egress } from '../address/egress.js';
import { createResolver, type Resolve } from '../address/resolver.js';
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
const customLimits = { pools: 512, poolsPerTenant: 128 };
const maxIdleProviders = 1_024;
/** Where a custom host does not announce how long it keeps a connection, it may close it after 5 s. */
const unsaidKeepMsCustom = 4_000;
/** How long a check of a custom host's addresses is valid. */
const checkedMs = 55_000;
const sweepMs = 500;

/** For requests about the gateway's own identity, which share no connection with a tenant's. */
const ownIdentityAccount = Symbol('own identity');

/** The client over undici, with the same rules as the gateway's own: a pool for each tenant, origin and account. */
export function createUndiciUpstream(options: UndiciOptions): Upstream {
  return new UndiciUpstream(options);
}

class UndiciUpstream implements Upstream {
  readonly #providers = new Pools<KeptPool>(providerLimits);
  readonly #custom = new Pools<KeptPool>(customLimits);
  /** Caller-chosen requests whose addresses are being checked. */
  readonly #checking = new Set<UndiciFlight>();
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
  }

  send(request: UpstreamRequest, handler: UpstreamHandler): UpstreamFlight {
    if (request.ownIdentity === true)
      return this.#sendChecked(request, handler, this.#egress.ownIdentity, ownIdentityAccount, this.#notKept);
    if (request.callerChosen)
      return this.#sendChecked(request, handler, this.#egress, request.account, this.#customPool);
    const { origin, path } = splitUrl(request.url);
    let pool = this.#closed ? undefined : this.#providers.find(request.tenant, origin, request.account);
    if (pool === undefined) {
      const opened = this.#closed ? failure('draining', origin) : this.#openPool(request, origin);
      if (opened instanceof GatewayError) return this.#refuse(request, handler, opened);
      pool = opened;
    }
    const flight = new UndiciFlight(request, handler, this.#deadlines, pool.target.host);
    this.#dispatch(pool, flight, request, path);
    return flight;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweeper);
    for (const flight of [...this.#checking, ...this.#inFlight]) flight.fail(failure('draining', ''));
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

  #openPool({ tenant, account }: UpstreamRequest, origin: string): KeptPool | GatewayError {
    if (!URL.canParse(origin)) return notSendable('it is not an absolute http(s) URL');
    const url = new URL(origin);
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      return notSendable('only http and https are spoken');
    if (url.username !== '' || url.password !== '')
      return notSendable('it must not hold a user name or password');
    let resolve: Resolve;
    try {
      resolve = this.#egress.stored(url);
    } catch (thrown) {
      return GatewayError.from(thrown);
    }
    const connector = this.#connector(resolve, this.#proxy);
    const pool = new KeptPool(targetOf(url), connector, this.#providerPool);
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

  // Caller-chosen: every URL is checked, its name is resolved and checked again every minute, and connections go to
  // the addresses that were checked, never through the proxy.

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
    const flight = new UndiciFlight(request, handler, this.#deadlines, url.host);
    const path = url.pathname + url.search;
    const pool = this.#custom.find(request.tenant, url.origin, account);
    if (pool !== undefined && pool.usableUntil > performance.now()) {
      this.#dispatch(pool, flight, request, path);
      return flight;
    }
    this.#checking.add(flight);
    flight.whenDone(() => this.#checking.delete(flight));
    const until = performance.now() + checkedMs;
    rules.addresses(url).then(
      (addresses) => {
        if (flight.done) return;
        this.#checking.delete(flight);
        this.#dispatch(
          this.#checkedPool(request.tenant, url, account, addresses, until, options),
          flight,
          request,
          path,
        );
      },
      (thrown: unknown) => flight.fail(GatewayError.from(thrown)),
    );
    return flight;
  }

  /** `until`: when these addresses have to be checked again. */
  #checkedPool(
    tenant: string,
    url: URL,
    account: ConnectionScope,
    addresses: readonly string[],
    until: number,
    options: KeptPoolOptions,
  ): KeptPool {
    const found = this.#custom.find(tenant, url.origin, account);
    // Another request may have checked them meanwhile.
    if (found !== undefined && found.usableUntil > performance.now()) return found;
    const connector = this.#connector(() => Promise.resolve(addresses), null);
    if (found !== undefined) {
      found.renew(connector, until);
      return found;
    }
    const pool = new KeptPool(targetOf(url), connector, options, until);
    this.#custom.add(tenant, url.origin, account, pool);
    return pool;
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

function notSendable(why: string): GatewayError {
  return new GatewayError('invalid_request', `The provider's URL cannot be used: ${why}.`);
}
