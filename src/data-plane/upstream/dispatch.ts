import type { SecureContext } from 'node:tls';
import { GatewayError } from '../../common/core/errors.js';
import { type CheckedAddresses, createEgress, type Egress } from './address/egress.js';
import { createResolver, type Resolve } from './address/resolver.js';
import { storedOrigin } from './address/stored-origin.js';
import { CheckedPools, ownIdentityAccount, unsaidKeepMsCustom } from './connections/checked-pools.js';
import { type Destination, dialer, targetOf, trust } from './connections/connect.js';
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
const maxIdleCustom = 256;
/** Idle connections to one custom host that stay open for longer than between two sweeps. */
const maxUnusedCustom = 8;
/** Connections, to any host, that are still opening although their requests have ended. */
const maxSpare = 64;

/** How often idle connections are checked. */
const sweepMs = 500;

/** The HTTP/1.1 client: keep-alive connections, in a pool for each tenant, origin and account. */
export function createUpstream(options: UpstreamOptions): Upstream {
  return new Dispatch(options);
}

class Dispatch implements Upstream {
  readonly #providers = new Pools<Pool>(providerLimits);
  readonly #custom: CheckedPools<Pool, PoolOptions>;
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
    const dial = (target: Destination, resolved: Resolve) =>
      dialer(target, { resolve: resolved, trusted: this.#trusted });
    this.#custom = new CheckedPools({
      make(url, resolved, pool, usableUntil) {
        const target = targetOf(url);
        return new Pool(target, dial(target, resolved), pool, usableUntil);
      },
      renew: (pool, resolved, usableUntil) => pool.renew(dial(pool.target, resolved), usableUntil),
    });
  }

  send(request: UpstreamRequest, handler: UpstreamHandler): UpstreamFlight {
    if (request.ownIdentity === true)
      return this.#sendChecked(request, handler, this.#egress.ownIdentity, ownIdentityAccount, this.#notKept);
    if (request.callerChosen)
      return this.#sendChecked(request, handler, this.#egress, request.account, this.#customPool);
    const { origin, path } = request.prepared ?? splitUrl(request.url);
    let pool = this.#providers.find(request.tenant, origin, request.account);
    if (pool === undefined) {
      try {
        pool = this.#open(request, origin);
      } catch (thrown) {
        return this.#refuse(request, handler, GatewayError.from(thrown));
      }
    }
    const flight = new InFlightRequest(request, handler, this.#deadlines, pool.target.host);
    this.#leave(pool, flight, request, path);
    return flight;
  }

  /** Cuts requests in flight (their handlers get `draining`) and closes every connection. Drain before. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweeper);
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

  #open({ tenant, account }: UpstreamRequest, origin: string): Pool {
    if (this.#closed) throw failure('draining', origin);
    const { url, resolve } = storedOrigin(origin, this.#egress);
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

  /** The URL of each request is checked, and the addresses of its host every minute. */
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
    const path = url.pathname + url.search;
    const pool = this.#custom.find(tenant, url.origin, account);
    if (pool !== undefined) this.#leave(pool, flight, request, path);
    else
      this.#custom.check({ tenant, url, account, rules, options }, flight, (checked) =>
        this.#leave(checked, flight, request, path),
      );
    return flight;
  }

  #refuse(request: UpstreamRequest, handler: UpstreamHandler, error: GatewayError): UpstreamFlight {
    const flight = new InFlightRequest(request, handler, this.#deadlines, '');
    flight.fail(error);
    return flight;
  }
}
