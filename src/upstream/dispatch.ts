import type { SecureContext } from 'node:tls';
import { GatewayError } from '../core/errors.js';
import { dialer, targetOf, trust } from './connect.js';
import { Deadlines } from './deadlines.js';
import { createEgress, type Egress } from './egress.js';
import { failure } from './failure.js';
import { Flight } from './flight.js';
import { Pool } from './pool.js';
import { requestHead, splitUrl } from './request-head.js';
import { createResolver, type Resolve } from './resolver.js';
import type { Upstream, UpstreamFlight, UpstreamHandler, UpstreamRequest } from './upstream.js';

export interface UpstreamOptions {
  readonly connectionsPerOrigin: number;
  /** How long an unused connection is kept. */
  readonly keepAliveMs: number;
  /** Reserved addresses that caller-chosen connections may reach all the same: `host`, `host:port` or CIDR. */
  readonly egressAllow: readonly string[];
  /** PEM, trusted besides the usual roots. */
  readonly ca?: string;
  /** How names become addresses; the system's hosts file and DNS where absent. */
  readonly resolve?: Resolve;
}

/** Origins kept at once; beyond, the longest known ones without a request in flight are closed. */
const maxOrigins = 1_000;

/** How often idle connections are looked through. */
const sweepMs = 500;

/** The outgoing side over HTTP/1.1: a pool per provider origin, a fresh connection per caller-chosen call. */
export function createUpstream(options: UpstreamOptions): Upstream {
  return new Dispatch(options);
}

class Dispatch implements Upstream {
  readonly #options: UpstreamOptions;
  readonly #resolve: Resolve;
  readonly #pools = new Map<string, Pool>();
  /** Caller-chosen calls in flight; each closes its own connection. */
  readonly #unpooled = new Set<Flight>();
  readonly #deadlines = new Deadlines();
  readonly #egress: Egress;
  readonly #trusted: SecureContext | undefined;
  readonly #sweeper: NodeJS.Timeout;
  #closed = false;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.#resolve = options.resolve ?? createResolver();
    this.#egress = createEgress({ allow: options.egressAllow, resolve: this.#resolve });
    this.#trusted = trust(options.ca);
    this.#sweeper = setInterval(() => this.#sweep(), sweepMs).unref();
  }

  send(request: UpstreamRequest, handler: UpstreamHandler): UpstreamFlight {
    if (request.callerChosen) return this.#sendUnpooled(request, handler);
    const { origin, path } = splitUrl(request.url);
    let pool = this.#pools.get(origin);
    if (pool === undefined || this.#closed) {
      const opened = this.#closed ? failure('draining', origin) : this.#open(origin);
      if (opened instanceof GatewayError) return this.#refuse(request, handler, opened);
      pool = opened;
    }
    const flight = new Flight(request, handler, this.#deadlines, pool.target.host);
    this.#leave(pool, flight, request, path, true);
    return flight;
  }

  /** Cuts what is in flight (its handlers hear `draining`) and closes every connection. Drain before. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#sweeper);
    for (const flight of [...this.#unpooled]) flight.fail(failure('draining', ''));
    for (const pool of this.#pools.values()) pool.close();
    this.#pools.clear();
    this.#deadlines.stop();
  }

  #leave(pool: Pool, flight: Flight, request: UpstreamRequest, path: string, keep: boolean): void {
    const { method, headers, body } = request;
    const length = body === null ? 0 : Buffer.isBuffer(body) ? body.length : -1;
    const head = requestHead({ method, path, host: pool.target.host, length, keep }, headers);
    if (head === null) return flight.fail(failure('invalid_request', ''));
    flight.prepare(head);
    pool.send(flight);
  }

  #open(origin: string): Pool | GatewayError {
    if (!URL.canParse(origin)) return notSendable('it is not an absolute http(s) URL');
    const url = new URL(origin);
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      return notSendable('only http and https are spoken');
    if (url.username !== '' || url.password !== '')
      return notSendable('it must not hold a user name or password');
    if (this.#pools.size >= maxOrigins) this.#closeIdle();
    const target = targetOf(url);
    const dial = dialer(target, { resolve: this.#resolve, trusted: this.#trusted, resumeTls: true });
    const { connectionsPerOrigin: connections, keepAliveMs } = this.#options;
    const pool = new Pool(target, dial, { connections, keepAliveMs });
    this.#pools.set(origin, pool);
    return pool;
  }

  #closeIdle(): void {
    for (const [origin, pool] of this.#pools) {
      if (pool.busy) continue;
      this.#pools.delete(origin);
      pool.close();
      if (this.#pools.size < maxOrigins) return;
    }
  }

  #sweep(): void {
    const now = performance.now();
    for (const pool of this.#pools.values()) pool.sweep(now);
  }

  // Caller-chosen: checked, resolved once, connected to what was checked, closed after.

  #sendUnpooled(request: UpstreamRequest, handler: UpstreamHandler): UpstreamFlight {
    let url: URL;
    try {
      if (this.#closed) throw failure('draining', '');
      url = this.#egress.checkUrl(request.url);
    } catch (thrown) {
      return this.#refuse(request, handler, GatewayError.from(thrown));
    }
    const flight = new Flight(request, handler, this.#deadlines, url.host);
    this.#unpooled.add(flight);
    flight.whenDone(() => this.#unpooled.delete(flight));
    this.#egress.addresses(url).then(
      (addresses) => this.#sendTo(addresses, url, request, flight),
      (thrown: unknown) => flight.fail(GatewayError.from(thrown)),
    );
    return flight;
  }

  #sendTo(addresses: readonly string[], url: URL, request: UpstreamRequest, flight: Flight): void {
    if (flight.done) return;
    const target = targetOf(url);
    const dial = dialer(target, {
      resolve: () => Promise.resolve(addresses),
      trusted: this.#trusted,
      resumeTls: false,
    });
    const pool = new Pool(target, dial, { connections: 1, keepAliveMs: 0 });
    flight.whenDone(() => {
      this.#unpooled.delete(flight);
      pool.close();
    });
    this.#leave(pool, flight, request, url.pathname + url.search, false);
  }

  #refuse(request: UpstreamRequest, handler: UpstreamHandler, error: GatewayError): UpstreamFlight {
    const flight = new Flight(request, handler, this.#deadlines, '');
    flight.fail(error);
    return flight;
  }
}

function notSendable(why: string): GatewayError {
  return new GatewayError('invalid_request', `The provider's URL cannot be used: ${why}.`);
}
