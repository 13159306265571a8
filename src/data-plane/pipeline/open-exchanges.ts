import { isExpired, mayCall, type Principal } from '../../common/access/principal.js';
import type { Awaitable, Sender } from '../../common/core/directory.js';
import { GatewayError } from '../../common/core/errors.js';
import type { Exchange } from '../../common/core/exchange.js';
import { bearerToken } from '../../common/http/bearer.js';
import { getHeader } from '../../common/http/headers.js';
import { concernsKey, type Forget } from '../../common/ipc/messages.js';
import type { Logger } from '../../common/plugin-host/plugin.js';

/** An exchange in flight. It is itself an element of the linked list, so that adding and removing allocates nothing. */
export interface OpenExchange {
  readonly x: Exchange;
  previous: OpenExchange | null;
  next: OpenExchange | null;
  /** Ends it: its key is no longer valid. Does nothing if it has already ended. */
  revoke(error: GatewayError): void;
}

/** The look-up of keys. */
export interface KeySource {
  key(hash: string, sender?: Sender, text?: string): Awaitable<Principal | null>;
  /** The hash under which a key was found; null: it was not found there. */
  hashOf(principal: Principal): string | null;
}

/** Keys that are looked up at a time, so that new requests get their turn when every key was forgotten. */
const maxLookups = 32;
const sweepMs = 500;
/**
 * Milliseconds per turn. The end of an exchange takes some 0.2 ms: thousands of one key must not delay those of others.
 */
const endingMs = 5;

/**
 * The exchanges of this worker that have not ended. When a change affects their keys, these are looked up again:
 * an exchange ends if its key no longer exists, has expired or lost the permission; otherwise it goes on with the
 * key's present state.
 */
export class OpenExchanges {
  #first: OpenExchange | null = null;
  /** Exchanges whose keys have to be looked up, by the hash of the key. */
  readonly #unsure = new Map<string, OpenExchange[]>();
  readonly #lookups = new Set<string>();
  /** Exchanges to be ended, and why. One that has ended meanwhile ignores it. */
  #ending: { readonly exchange: OpenExchange; readonly error: GatewayError }[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(
    readonly keys: KeySource,
    readonly log: Pick<Logger, 'info'>,
  ) {
    this.#timer = setInterval(() => this.sweep(Date.now()), sweepMs);
    this.#timer.unref();
  }

  add(exchange: OpenExchange): void {
    exchange.next = this.#first;
    if (this.#first !== null) this.#first.previous = exchange;
    this.#first = exchange;
  }

  /** An exchange that is not in the list may be removed once more. */
  remove(exchange: OpenExchange): void {
    const { previous, next } = exchange;
    if (previous !== null) previous.next = next;
    else if (this.#first === exchange) this.#first = next;
    if (next !== null) next.previous = previous;
    exchange.previous = null;
    exchange.next = null;
  }

  /** Call this after the directory has forgotten the same. */
  forgotten(what: readonly Forget[]): void {
    const names = new Set<string>();
    const wide: Forget[] = [];
    for (const one of what) {
      if (one.kind !== 'key') continue;
      if (one.name === '*') wide.push(one);
      else names.add(one.name);
    }
    if (names.size === 0 && wide.length === 0) return;
    const found = new Map<string, OpenExchange[]>();
    for (let open = this.#first; open !== null; open = open.next) {
      const { principal } = open.x;
      // An exchange that still waits for its key will get its present state.
      const hash = principal === undefined ? null : this.keys.hashOf(principal);
      if (hash === null) continue;
      if (!names.has(hash) && !wide.some((one) => concernsKey(one, principal))) continue;
      const ofKey = found.get(hash);
      if (ofKey === undefined) found.set(hash, [open]);
      else ofKey.push(open);
    }
    for (const [hash, exchanges] of found) this.#unsure.set(hash, exchanges);
    this.#lookUp();
  }

  /** For an exchange whose key may have changed between its look-up and being added here. */
  recheck(exchange: OpenExchange): void {
    const { principal } = exchange.x;
    const hash = this.keys.hashOf(principal);
    if (hash === null) return;
    const current = this.keys.key(hash, undefined, tokenOf(exchange.x));
    if (current === principal) return;
    if (current instanceof Promise) current.catch(() => {});
    const unsure = this.#unsure.get(hash);
    if (unsure === undefined) this.#unsure.set(hash, [exchange]);
    else unsure.push(exchange);
    this.#lookUp();
  }

  /** Ends exchanges with keys expired at `now` (Unix milliseconds), and repeats failed look-ups. */
  sweep(now: number): void {
    // Those that the previous sweep found are still in the list while they are being ended.
    if (this.#ending.length === 0) {
      for (let open = this.#first; open !== null; open = open.next) {
        const { principal } = open.x;
        if (principal !== undefined && isExpired(principal, now) && !this.#isUnsure(principal))
          this.#ending.push({ exchange: open, error: expired() });
      }
      const ended = this.#ending.length;
      if (ended > 0) this.log.info({ ended }, 'requests ended: their keys have expired');
      this.#end();
    }
    this.#lookUp();
  }

  /** Ends the listed exchanges, for a few milliseconds per turn. */
  #end(): void {
    const from = performance.now();
    let done = 0;
    for (const { exchange, error } of this.#ending) {
      exchange.revoke(error);
      done++;
      if (performance.now() - from >= endingMs) break;
    }
    this.#ending = this.#ending.slice(done);
    if (this.#ending.length > 0) setImmediate(() => this.#end());
  }

  #isUnsure(principal: Principal): boolean {
    return this.#unsure.has(this.keys.hashOf(principal) ?? '');
  }

  #lookUp(): void {
    for (const hash of this.#unsure.keys()) {
      if (this.#lookups.size >= maxLookups) return;
      if (this.#lookups.has(hash)) continue;
      this.#lookups.add(hash);
      void this.#decide(hash);
    }
  }

  async #decide(hash: string): Promise<void> {
    let principal: Principal | null;
    try {
      const first = this.#unsure.get(hash)?.[0];
      principal = await this.keys.key(hash, undefined, first && tokenOf(first.x));
    } catch (error) {
      if (!(error instanceof GatewayError) || error.blame !== 'client' || error.code === '033') {
        // The store cannot be reached: the next sweep tries again.
        this.#lookups.delete(hash);
        return;
      }
      principal = null;
    }
    this.#lookups.delete(hash);
    const exchanges = this.#unsure.get(hash) ?? [];
    const keyId = exchanges[0]?.x.principal.keyId;
    this.#unsure.delete(hash);
    const now = Date.now();
    const isEnding = this.#ending.length > 0;
    let ended = 0;
    for (const exchange of exchanges) {
      const error = faultOf(principal, exchange.x, now);
      if (error === null) {
        exchange.x.principal = principal!;
      } else {
        this.#ending.push({ exchange, error });
        ended++;
      }
    }
    if (ended > 0) this.log.info({ ended, key: keyId }, 'requests ended: their key is no longer valid');
    if (!isEnding) this.#end();
    this.#lookUp();
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

/** The text of the JSON web token that an exchange came with; undefined: it came with a key. */
function tokenOf({ principal, keyHeader, request }: Exchange): string | undefined {
  if (principal.isToken !== true || keyHeader === null) return undefined;
  const value = getHeader(request.headers, keyHeader) ?? '';
  return keyHeader === 'authorization' ? (bearerToken(value) ?? '') : value;
}

const expired = (): GatewayError =>
  new GatewayError(
    'key_revoked',
    'The API key expired while this request ran: rotate it or use another one.',
  );

/** The error that ends a running exchange; null: it may continue. */
function faultOf(principal: Principal | null, { endpoint }: Exchange, now: number): GatewayError | null {
  if (principal === null) {
    return new GatewayError(
      'key_revoked',
      'The API key became invalid while this request ran: it was deleted or rotated, or its user or workspace was removed. Use another key.',
    );
  }
  if (isExpired(principal, now)) return expired();
  if (mayCall(principal, endpoint.name)) return null;
  return new GatewayError(
    'key_revoked',
    'The API key lost the scope completions.write while this request ran: add it to the key or use another key.',
  );
}
