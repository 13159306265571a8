import type { SecureContext } from 'node:tls';
import { GatewayError } from '../../common/core/errors.js';
import { type CheckedAddresses, createEgress, type Egress } from './address/egress.js';
import { createResolver, type Resolve } from './address/resolver.js';
import { dialer, targetOf, trust } from './connections/connect.js';
import { OpenConnections } from './connections/open-connections.js';
import { Pool, type PoolOptions } from './connections/pool.js';
import { Pools } from './connections/pools.js';
import { Deadlines } from './deadlines.js';
import { failure } from './failure.js';
import { InFlightRequest } from './flight.js';
import { requestHead, splitUrl } from './request-head.js';
import type {
  ConnectionScope,
  Upstream,
  UpstreamFlight,
  UpstreamHandler,
  UpstreamRequest,
} from './upstream.js';

export interface UpstreamOptions {
  /** Connections of one tenant and account to one origin. */
  readonly connectionsPerOrigin: number;
  /** How long an unused connection is kept. */
  readonly keepAliveMs: number;
  /** Reserved addresses that caller-chosen connections may reach nevertheless: `host`, `host:port` or CIDR. */
  readonly egressAllow: readonly string[];
  /** PEM, trusted in addition to the default root certificates. */
  readonly ca?: string;
  /** Resolves names; default: the system's hosts file and DNS. */
  readonly resolve?: Resolve;
  /** Idle connections to providers, of all tenants together. Default 1,024. */
  readonly maxIdle?: number;
  /** Number of connections above which idle ones are closed. Default: no limit. */
  readonly maxOpen?: number;
}

const providerLimits = { pools: 2_048, poolsPerTenant: 512 };
const maxIdleProviders = 1_024;
/** Hosts that callers choose: where they lead is outside our control, so fewer connections are kept. */
const customLimits = { pools: 512, poolsPerTenant: 128 };
const maxIdleCustom = 256;
/** Idle connections to one custom host that stay open for longer than between two sweeps. */
const maxUnusedCustom = 8;

/**
 * Servers of models often close a connection that was idle for 5 s, and do not announce it: a request that meets the
 * end of its connection fails, since it is unknown whether it was read.
 */
const unsaidKeepMsCustom = 4_000;
/** Connections, to any host, that are still opening although their requests have ended. */
const maxSpare = 64;

/**
 * How long a check of a custom host's addresses is valid. The resolver keeps an answer for 5 s: so no connection
 * is based on an answer of the name service that is more than a minute old.
 */
const checkedMs = 55_000;

/** For requests about the gateway's own identity, which share no connection with a tenant's. */
const ownIdentityAccount = Symbol('own identity');

/** How often idle connections are checked. */
const sweepMs = 500;

/** The HTTP/1.1 client: keep-alive connections, in a pool for each tenant, origin and account. */
export function createUpstream(options: UpstreamOptions): Upstream {
  return new Dispatch(options);
}

class Dispatch implements Upstream {
  readonly #providers = new Pools<Pool>(providerLimits);
  readonly #custom = new Pools<Pool>(customLimits);
  /** Caller-chosen calls whose addresses are being checked. */
  readonly #checking = new Set<InFlightRequest>();
  readonly #deadlines = new Deadlines();
  readonly #egress: Egress;
  readonly #trusted: SecureContext | undefined;
  readonly #sweeper: NodeJS.Timeout;
  readonly #providerPool: PoolOptions;
  readonly #customPool: PoolOptions;
  /** For requests about the gateway's own identity. */
  readonly #notKept: PoolOptions;
  #closed = false;

  constructor(options: UpstreamOptions) {
    const resolve = options.resolve ?? createResolver();
    this.#egress = createEgress({ allow: options.egressAllow, resolve });
    this.#trusted = trust(options.ca);
    this.#sweeper = setInterval(() => this.#sweep(), sweepMs).unref();
    const { connectionsPerOrigin: connections, keepAliveMs, maxIdle = maxIdleProviders } = options;
    const open = new OpenConnections(options.maxOpen ?? Number.POSITIVE_INFINITY);
    const spare = open.group(maxSpare);
    this.#customPool = {
      connections,
      keepAliveMs,
      unsaidKeepMs: Math.min(keepAliveMs, unsaidKeepMsCustom),
      maxUnused: maxUnusedCustom,
      spare,
      idle: open.group(Math.min(maxIdle, maxIdleCustom)),
    };
    this.#providerPool = {
      connections,
      keepAliveMs,
      unsaidKeepMs: keepAliveMs,
      maxUnused: Number.POSITIVE_INFINITY,
      spare,
      idle: open.group(maxIdle),
    };
    this.#notKept = { ...this.#customPool, keepAliveMs: 0, unsaidKeepMs: 0 };
  }

  send(request: UpstreamRequest, handler: UpstreamHandler): UpstreamFlight {
    if (request.ownIdentity === true)
      return this.#sendChecked(request, handler, this.#egress.ownIdentity, ownIdentityAccount, this.#notKept);
    if (request.callerChosen)
      return this.#sendChecked(request, handler, this.#egress, request.account, this.#customPool);
    const { origin, path } = request.prepared ?? splitUrl(request.url);
    let pool = this.#providers.find(request.tenant, origin, request.account);
    if (pool === undefined) {
      const opened = this.#closed ? failure('draining', origin) : this.#open(request, origin);
      if (opened instanceof GatewayError) return this.#refuse(request, handler, opened);
      pool = opened;
    }
    const flight = new InFlightRequest(request, handler, this.#deadlines, pool.target.host);
    this.#leave(pool, flight, request, path);
    return flight;
  }

  /** Cuts requests in flight (their handlers get `draining`) and closes every connection. Drain before. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweeper);
    for (const flight of [...this.#checking]) flight.fail(failure('draining', ''));
    this.#providers.close();
    this.#custom.close();
    this.#deadlines.stop();
  }

  #leave(pool: Pool, flight: InFlightRequest, request: UpstreamRequest, path: string): void {
    const { method, headers, body, ownIdentity, prepared } = request;
    const { host } = pool.target;
    const length = body === null ? 0 : Buffer.isBuffer(body) ? body.length : -1;
    // The path of a checked URL may be written in another way.
    const head =
      length > 0 && prepared?.path === path
        ? prepared.head(method, host, length, headers)
        : requestHead({ method, path, host, length, ownIdentity }, headers);
    if (head === null) return flight.fail(failure('invalid_request', ''));
    pool.send(flight, head);
  }

  #open({ tenant, account }: UpstreamRequest, origin: string): Pool | GatewayError {
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
    const target = targetOf(url);
    const dial = dialer(target, { resolve, trusted: this.#trusted });
    const pool = new Pool(target, dial, this.#providerPool);
    this.#providers.add(tenant, origin, account, pool);
    return pool;
  }

  #sweep(): void {
    const now = performance.now();
    this.#providers.sweep(now);
    this.#custom.sweep(now);
  }

  // Caller-chosen: every URL is checked, its name is resolved and checked again every minute, and connections go to
  // the addresses that were checked.

  #sendChecked(
    request: UpstreamRequest,
    handler: UpstreamHandler,
    rules: CheckedAddresses,
    account: ConnectionScope,
    options: PoolOptions,
  ): UpstreamFlight {
    let url: URL;
    try {
      if (this.#closed) throw failure('draining', '');
      url = rules.checkUrl(request.url);
    } catch (thrown) {
      return this.#refuse(request, handler, GatewayError.from(thrown));
    }
    const { tenant } = request;
    const flight = new InFlightRequest(request, handler, this.#deadlines, url.host);
    const now = performance.now();
    const pool = this.#custom.find(tenant, url.origin, account);
    if (pool !== undefined && pool.usableUntil > now) {
      this.#leave(pool, flight, request, url.pathname + url.search);
      return flight;
    }
    this.#checking.add(flight);
    flight.whenDone(() => this.#checking.delete(flight));
    rules.addresses(url).then(
      (addresses) => {
        if (flight.done) return;
        this.#checking.delete(flight);
        const checked = this.#checkedPool(tenant, url, account, addresses, now + checkedMs, options);
        this.#leave(checked, flight, request, url.pathname + url.search);
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
    options: PoolOptions,
  ): Pool {
    const found = this.#custom.find(tenant, url.origin, account);
    // Another request may have checked them meanwhile.
    if (found !== undefined && found.usableUntil > performance.now()) return found;
    const target = targetOf(url);
    const dial = dialer(target, { resolve: () => Promise.resolve(addresses), trusted: this.#trusted });
    if (found !== undefined) {
      found.renew(dial, until);
      return found;
    }
    const pool = new Pool(target, dial, options, until);
    this.#custom.add(tenant, url.origin, account, pool);
    return pool;
  }

  #refuse(request: UpstreamRequest, handler: UpstreamHandler, error: GatewayError): UpstreamFlight {
    const flight = new InFlightRequest(request, handler, this.#deadlines, '');
    flight.fail(error);
    return flight;
  }
}

function notSendable(why: string): GatewayError {
  return new GatewayError('invalid_request', `The provider's URL cannot be used: ${why}.`);
}
