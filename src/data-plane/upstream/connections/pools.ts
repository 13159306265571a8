import type { ConnectionScope } from '../upstream.js';

export interface PoolLimits {
  /** Pools of all tenants together. */
  readonly pools: number;
  /** Pools of one tenant: a tenant with many credentials or hosts loses its own pools first. */
  readonly poolsPerTenant: number;
}

/** Sweeps after which a pool without connections is forgotten, and its TLS session with it. */
const forgottenAfter = 1_200;

/** The part of a pool that Pools needs. */
export interface PoolOfConnections {
  /** Number of the sweep after which it last got a request. Belongs to Pools. */
  usedAt: number;
  readonly usableUntil: number;
  readonly busy: boolean;
  readonly isEmpty: boolean;
  sweep(now: number): void;
  close(): void;
}

interface TenantPools<Pool> {
  readonly origins: Map<string, Map<ConnectionScope, Pool>>;
  size: number;
}

/** A substring keeps the whole text in memory; a copy does not. */
const copied = (text: string): string => Buffer.from(text).toString();

/**
 * Pools by tenant, origin and account, so that different ones never share a connection: an answer that a
 * provider sends unrequested can only reach callers that use that provider with that credential.
 */
export class Pools<Pool extends PoolOfConnections> {
  readonly #limits: PoolLimits;
  readonly #tenants = new Map<string, TenantPools<Pool>>();
  #size = 0;
  #sweeps = 0;

  constructor(limits: PoolLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /** The pool for a request; undefined: there is none yet. */
  find(tenant: string, origin: string, account: ConnectionScope): Pool | undefined {
    const pool = this.#tenants.get(tenant)?.origins.get(origin)?.get(account);
    if (pool !== undefined) pool.usedAt = this.#sweeps;
    return pool;
  }

  /** Above a limit, pools without a request in flight are closed, the one unused for longest first. */
  add(tenant: string, origin: string, account: ConnectionScope, pool: Pool): void {
    let own = this.#tenants.get(tenant);
    if (own !== undefined && own.size >= this.#limits.poolsPerTenant) this.closeOldest(tenant);
    else if (this.#size >= this.#limits.pools) this.closeOldest(null);
    own = this.#tenants.get(tenant);
    if (own === undefined) {
      own = { origins: new Map(), size: 0 };
      this.#tenants.set(tenant, own);
    }
    let accounts = own.origins.get(origin);
    if (accounts === undefined) {
      accounts = new Map();
      own.origins.set(copied(origin), accounts);
    }
    accounts.set(typeof account === 'string' ? copied(account) : account, pool);
    pool.usedAt = this.#sweeps;
    own.size += 1;
    this.#size += 1;
  }

  /** Call it twice a second: closes connections idle for too long, and forgets unused pools. */
  sweep(now: number): void {
    this.#sweeps += 1;
    for (const [tenant, origin, account, pool] of this.#all()) {
      pool.sweep(now);
      const isForgotten = pool.usableUntil <= now || this.#sweeps - pool.usedAt > forgottenAfter;
      if (isForgotten && pool.isEmpty) this.#remove(tenant, origin, account);
    }
  }

  close(): void {
    for (const [, , , pool] of this.#all()) pool.close();
    this.#tenants.clear();
    this.#size = 0;
  }

  /** Closes the one unused for longest, of one tenant's or of all. false: all are in use. */
  closeOldest(of: string | null = null): boolean {
    let oldest: [string, string, ConnectionScope, Pool] | null = null;
    for (const found of this.#all(of)) {
      if (!found[3].busy && (oldest === null || found[3].usedAt < oldest[3].usedAt)) oldest = found;
    }
    if (oldest === null) return false;
    const [tenant, origin, account, pool] = oldest;
    this.#remove(tenant, origin, account);
    pool.close();
    return true;
  }

  #remove(tenant: string, origin: string, account: ConnectionScope): void {
    const own = this.#tenants.get(tenant);
    const accounts = own?.origins.get(origin);
    if (own === undefined || accounts?.delete(account) !== true) return;
    this.#size -= 1;
    own.size -= 1;
    if (accounts.size === 0) own.origins.delete(origin);
    if (own.size === 0) this.#tenants.delete(tenant);
  }

  /** The pool just returned may be removed during the iteration. */
  *#all(of: string | null = null): Generator<[string, string, ConnectionScope, Pool]> {
    for (const [tenant, { origins }] of this.#tenants) {
      if (of !== null && tenant !== of) continue;
      for (const [origin, accounts] of origins) {
        for (const [account, pool] of accounts) yield [tenant, origin, account, pool];
      }
    }
  }
}
