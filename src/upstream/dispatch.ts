import type { SecureContext } from 'node:tls';
import type { Client } from 'undici';
import { GatewayError } from '../core/errors.js';
import { type ConnectWait, createConnect, trust } from './connect.js';
import { Deadlines } from './deadlines.js';
import { createEgress, type Egress } from './egress.js';
import { failure } from './failure.js';
import { Flight } from './flight.js';
import { Line } from './line.js';
import { maxReplyHeaderBytes } from './reply-head.js';
import { outgoingHeaders, splitUrl } from './request-head.js';
import { createResolver, type Resolve } from './resolver.js';
import { Pool } from './undici.js';
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

/** One origin's connections. */
interface Origin {
  readonly pool: Pool;
  readonly wait: ConnectWait;
  /** As messages name it. */
  readonly host: string;
}

/** The outgoing side over undici: a pool per provider origin, a fresh connection per caller-chosen call. */
export function createUpstream(options: UpstreamOptions): Upstream {
  return new Dispatch(options);
}

class Dispatch implements Upstream {
  readonly #options: UpstreamOptions;
  readonly #origins = new Map<string, Origin>();
  /** Caller-chosen calls in flight; each closes its own connection. */
  readonly #unpooled = new Set<Flight>();
  readonly #deadlines = new Deadlines();
  readonly #egress: Egress;
  readonly #trusted: SecureContext | undefined;
  readonly #connect: ReturnType<typeof createConnect>;
  #closed = false;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    const resolve = options.resolve ?? createResolver();
    this.#egress = createEgress({ allow: options.egressAllow, resolve });
    this.#trusted = trust(options.ca);
    this.#connect = createConnect({ resolve, trusted: this.#trusted, resumeTls: true });
  }

  send(request: UpstreamRequest, handler: UpstreamHandler): UpstreamFlight {
    if (request.callerChosen) return this.#sendUnpooled(request, handler);
    const { origin: key, path } = splitUrl(request.url);
    let origin = this.#origins.get(key);
    if (origin === undefined || this.#closed) {
      const opened = this.#closed ? failure('draining', key) : this.#open(key);
      if (opened instanceof GatewayError) return this.#refuse(request, handler, opened);
      origin = opened;
    }
    origin.wait.connectMs = request.timeouts.connectMs;
    const flight = new Flight(request, handler, this.#deadlines, origin.host);
    this.#dispatch(origin.pool, flight, request, path);
    return flight;
  }

  /** Cuts what is in flight (its handlers hear `draining`) and closes every connection. Drain before. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const flight of this.#unpooled) flight.fail(failure('draining', ''));
    const pools = [...this.#origins.values()].map((origin) => origin.pool);
    this.#origins.clear();
    await Promise.all(pools.map((pool) => pool.destroy()));
    this.#deadlines.stop();
  }

  #dispatch(to: Pool | Client, flight: Flight, request: UpstreamRequest, path: string): void {
    to.dispatch(
      {
        path,
        method: request.method,
        headers: outgoingHeaders(request.headers, flight.upload !== null),
        body: flight.upload ?? (request.body as Buffer | null),
      },
      flight,
    );
  }

  #open(key: string): Origin | GatewayError {
    if (!URL.canParse(key)) return notSendable('it is not an absolute http(s) URL');
    const url = new URL(key);
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      return notSendable('only http and https are spoken');
    if (url.username !== '' || url.password !== '')
      return notSendable('it must not hold a user name or password');
    if (this.#origins.size >= maxOrigins) this.#closeIdle();
    const wait: ConnectWait = { connectMs: 0 };
    const connect = this.#connect(wait);
    const lineOptions: Client.Options = {
      ...clientOptions,
      pipelining: 1,
      keepAliveTimeout: this.#options.keepAliveMs,
      keepAliveMaxTimeout: this.#options.keepAliveMs,
    };
    const origin: Origin = {
      pool: new Pool(url.origin, {
        connections: this.#options.connectionsPerOrigin,
        factory: (to) => new Line(to, lineOptions, connect),
      }),
      wait,
      host: url.host,
    };
    this.#origins.set(key, origin);
    return origin;
  }

  #closeIdle(): void {
    for (const [key, { pool }] of this.#origins) {
      if (pool.stats.size > 0) continue;
      this.#origins.delete(key);
      void pool.destroy();
      if (this.#origins.size < maxOrigins) return;
    }
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
      (addresses) => this.#connectTo(addresses, url, request, flight),
      (thrown: unknown) => flight.fail(GatewayError.from(thrown)),
    );
    return flight;
  }

  #connectTo(addresses: readonly string[], url: URL, request: UpstreamRequest, flight: Flight): void {
    if (flight.done) return;
    const connect = createConnect({
      resolve: () => Promise.resolve(addresses),
      trusted: this.#trusted,
      resumeTls: false,
    });
    // pipelining 0: `connection: close`, and none is kept.
    const options: Client.Options = { ...clientOptions, pipelining: 0 };
    const client = new Line(url.origin, options, connect({ connectMs: request.timeouts.connectMs }));
    flight.whenDone(() => {
      this.#unpooled.delete(flight);
      void client.destroy();
    });
    this.#dispatch(client, flight, request, url.pathname + url.search);
  }

  #refuse(request: UpstreamRequest, handler: UpstreamHandler, error: GatewayError): UpstreamFlight {
    const flight = new Flight(request, handler, this.#deadlines, '');
    flight.fail(error);
    return flight;
  }
}

/** Timeouts are our own: undici's know neither the first token nor a paused reader, and count in whole seconds. */
const clientOptions = {
  headersTimeout: 0,
  bodyTimeout: 0,
  maxHeaderSize: maxReplyHeaderBytes,
} as const;

function notSendable(why: string): GatewayError {
  return new GatewayError('invalid_request', `The provider's URL cannot be used: ${why}.`);
}
