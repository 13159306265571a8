import { LRUCache } from 'lru-cache';
import { FailedAttempts, maxFailedTokens, networkOf } from '../../common/access/failed-attempts.js';
import type { Principal } from '../../common/access/principal.js';
import { isTokenHash } from '../../common/access/token-form.js';
import { atMost } from '../../common/bytes/lru.js';
import type { Awaitable, Sender } from '../../common/core/directory.js';
import { GatewayError } from '../../common/core/errors.js';
import { concernsKey, type Forget } from '../../common/ipc/messages.js';
import { type Bounds, Remembered } from './remembered.js';

/** Limit of look-ups in flight for one network, of keys that this worker has never accepted. */
const maxAsking = 500;
/**
 * Milliseconds between look-ups for all blocked networks together. With a proxy in front, all
 * clients have one address: their keys are looked up in turn, for 1 % of the control process's time.
 */
const spareEveryMs = 50;

/**
 * The keys of this worker's callers. A key that it has accepted always gets an answer, from memory or by a look-up. Any
 * other needs a look-up, which costs the control process far more than the sender of the key: a network that sent too
 * many unknown keys gets few look-ups for a while.
 */
export class KeyDirectory {
  /** The keys in memory. */
  readonly remembered: Remembered<Principal>;
  /** Hashes of keys that were accepted, or that the control process named, and may have been forgotten since. */
  readonly #accepted: LRUCache<string, true>;
  readonly #hashes = new WeakMap<Principal, string>();
  readonly #failed: FailedAttempts;
  readonly #failedTokens = new FailedAttempts(maxFailedTokens);
  /** Texts of the tokens that are being looked up, by their hash, and how many callers wait for each. */
  readonly #tokens = new Map<string, { readonly text: string; waiting: number }>();
  /** Number of look-ups in flight, by network. */
  readonly #asking = new Map<string, number>();
  /** When the next one may be looked up for a network over its limit; null: there was none yet. */
  #spareAt: number | null = null;

  constructor(
    bounds: Bounds<Principal>,
    ask: (hash: string, token: string | null) => Promise<Principal | null>,
    failed = new FailedAttempts(),
  ) {
    this.#failed = failed;
    this.#accepted = new LRUCache(atMost(bounds.entries));
    this.remembered = new Remembered(bounds, async (hash) => {
      const principal = await ask(hash, this.#tokens.get(hash)?.text ?? null);
      if (principal !== null) {
        this.#hashes.set(principal, hash);
        this.#accepted.set(hash, true);
      }
      return principal;
    });
  }

  /**
   * null: there is no such key. Throws `too_many_unknown_keys`; without a sender there is no limit. `text`: needed for
   * the hash of a token alone.
   */
  get(hash: string, sender?: Sender, text?: string): Awaitable<Principal | null> {
    const known = this.remembered.known(hash);
    if (known !== undefined) return known;
    return isTokenHash(hash) ? this.#token(hash, sender, text ?? '') : this.#find(hash, sender);
  }

  async #token(hash: string, sender: Sender | undefined, text: string): Promise<Principal | null> {
    const token = this.#tokens.get(hash) ?? { text, waiting: 0 };
    token.waiting += 1;
    this.#tokens.set(hash, token);
    try {
      return await this.#find(hash, sender);
    } finally {
      token.waiting -= 1;
      if (token.waiting === 0) this.#tokens.delete(hash);
    }
  }

  #find(hash: string, sender: Sender | undefined): Awaitable<Principal | null> {
    if (sender === undefined || this.#accepted.has(hash) || this.remembered.isAsked(hash))
      return this.remembered.get(hash);
    return this.#lookUp(hash, networkOf(sender.remoteAddress));
  }

  async #lookUp(hash: string, network: string): Promise<Principal | null> {
    const failed = isTokenHash(hash) ? this.#failedTokens : this.#failed;
    const asking = this.#asking.get(network) ?? 0;
    const waitMs = asking >= maxAsking ? 1000 : failed.retryAfterMs(network);
    if (waitMs > 0 && (asking > 0 || !this.#takeSpare())) {
      const seconds = Math.ceil(waitMs / 1000);
      throw new GatewayError(
        'too_many_unknown_keys',
        `Too many unknown API keys from this address: send a valid gateway key, and retry after ${seconds} s.`,
        { retryAfterMs: waitMs },
      );
    }
    this.#asking.set(network, asking + 1);
    try {
      const principal = await this.remembered.get(hash);
      if (principal === null) failed.add(network);
      return principal;
    } catch (error) {
      if (error instanceof GatewayError && error.blame === 'client') failed.add(network);
      throw error;
    } finally {
      const left = (this.#asking.get(network) ?? 1) - 1;
      if (left > 0) this.#asking.set(network, left);
      else this.#asking.delete(network);
    }
  }

  #takeSpare(): boolean {
    const now = performance.now();
    const isSpare = this.#spareAt !== null && now >= this.#spareAt;
    if (isSpare || this.#spareAt === null) this.#spareAt = now + spareEveryMs;
    return isSpare;
  }

  /** The hash under which a key was found; null: it was not found here. */
  hashOf(principal: Principal): string | null {
    return this.#hashes.get(principal) ?? null;
  }

  /** Changes name only keys that exist or existed; so a new key is looked up at once, for every caller. */
  forget(hash: string): void {
    this.#accepted.set(hash, true);
    this.remembered.forget(hash);
  }

  /** Handles a change with the name `*`. */
  forgetAll(what: Forget): void {
    const isEvery = what.workspace === null && what.user === undefined && what.tokensOf === undefined;
    if (isEvery) this.remembered.clear();
    else this.remembered.forgetWhere((principal) => concernsKey(what, principal));
  }
}
