import { GatewayError } from '../../../common/core/errors.js';
import type { CheckedAddresses } from '../address/egress.js';
import type { Resolve } from '../address/resolver.js';
import { failure } from '../failure.js';
import type { ConnectionScope } from '../upstream.js';
import { type PoolOfConnections, Pools } from './pools.js';

/** Where these lead is outside our control, so fewer connections are kept than to stored providers. */
const limits = { pools: 512, poolsPerTenant: 128 };

/**
 * How long a check of addresses is valid. The resolver keeps an answer for 5 s: so no connection is based on an answer
 * of the name service that is more than a minute old.
 */
const checkedMs = 55_000;

/** For requests about the gateway's own identity, which share no connection with a tenant's. */
export const ownIdentityAccount = Symbol('own identity');

/**
 * Servers of models often close a connection that was idle for 5 s, and do not announce it: a request that meets the
 * end of its connection fails, since it is unknown whether it was read. Milliseconds.
 */
export const unsaidKeepMsCustom = 4_000;

/** A host that a caller chose, and the rules for its addresses. */
export interface ChosenHost<Options> {
  readonly tenant: string;
  readonly url: URL;
  readonly account: ConnectionScope;
  readonly rules: CheckedAddresses;
  readonly options: Options;
}

/** A request that waits until the addresses of its host have been checked. */
export interface WaitingFlight {
  readonly done: boolean;
  whenDone(listener: () => void): void;
  fail(error: GatewayError): void;
}

/** How a client makes its pools. `resolve` gives the checked addresses, whatever the name. */
export interface PoolMaker<Pool, Options> {
  make(url: URL, resolve: Resolve, options: Options, usableUntil: number): Pool;
  renew(pool: Pool, resolve: Resolve, usableUntil: number): void;
}

/**
 * Connections to hosts that callers choose: a name is resolved and its addresses are checked, again every minute, and
 * connections go to the addresses that were checked.
 */
export class CheckedPools<Pool extends PoolOfConnections, Options> {
  readonly #pools = new Pools<Pool>(limits);
  readonly #waiting = new Set<WaitingFlight>();

  constructor(readonly maker: PoolMaker<Pool, Options>) {}

  /** The pool whose addresses are still valid; undefined: `check` is needed. */
  find(tenant: string, origin: string, account: ConnectionScope): Pool | undefined {
    const pool = this.#pools.find(tenant, origin, account);
    return pool !== undefined && pool.usableUntil > performance.now() ? pool : undefined;
  }

  /** Calls `send` when the addresses are checked; the flight fails where one of them is refused. */
  check(host: ChosenHost<Options>, flight: WaitingFlight, send: (pool: Pool) => void): void {
    const until = performance.now() + checkedMs;
    this.#waiting.add(flight);
    flight.whenDone(() => this.#waiting.delete(flight));
    host.rules.addresses(host.url).then(
      (addresses) => {
        if (flight.done) return;
        this.#waiting.delete(flight);
        send(this.#checked(host, addresses, until));
      },
      (thrown: unknown) => flight.fail(GatewayError.from(thrown)),
    );
  }

  #checked(
    { tenant, url, account, options }: ChosenHost<Options>,
    addresses: readonly string[],
    until: number,
  ): Pool {
    const found = this.#pools.find(tenant, url.origin, account);
    // Another request may have checked them in between.
    if (found !== undefined && found.usableUntil > performance.now()) return found;
    const resolve: Resolve = () => Promise.resolve(addresses);
    if (found !== undefined) {
      this.maker.renew(found, resolve, until);
      return found;
    }
    const pool = this.maker.make(url, resolve, options, until);
    this.#pools.add(tenant, url.origin, account, pool);
    return pool;
  }

  /** Call it twice a second. */
  sweep(now: number): void {
    this.#pools.sweep(now);
  }

  /** Closes the one unused for longest. false: all are in use. */
  closeOldest(): boolean {
    return this.#pools.closeOldest();
  }

  close(): void {
    for (const flight of [...this.#waiting]) flight.fail(failure('draining', ''));
    this.#pools.close();
  }
}
