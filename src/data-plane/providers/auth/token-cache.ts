import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { monotonicMs } from '../../../common/bytes/monotonic.js';
import { retainedBytes } from '../../../common/bytes/retained-bytes.js';
import type { Awaitable } from '../../../common/core/directory.js';

/** What was exchanged for a credential, and the Unix milliseconds at which it ends. */
export interface Expiring {
  readonly expiresAt: number;
}

const maxKept = 1_000;
const maxKeptBytes = 8 * 1024 * 1024;

interface Kept<Token> {
  readonly token: Token;
  /** Monotonic milliseconds at which it ends, by its lifetime when it came. */
  readonly endsAt: number;
}

/** A token is not used in its last minute: it has to live until the provider has read it. */
const marginMs = 60_000;

/**
 * Tokens (or temporary keys) by what they were got with. One that is kept costs no promise; one that is not is fetched
 * once, however many wait for it, and all of them get the same failure, which is not cached.
 */
export class TokenCache<Token extends Expiring> {
  readonly #kept = new LRUCache<string, Kept<Token>>({
    max: maxKept,
    maxSize: maxKeptBytes,
    sizeCalculation: ({ token }) => 256 + retainedBytes(token),
  });
  readonly #coming = new Map<string, Promise<Token>>();

  /** `now`: Unix milliseconds; `elapsed`: milliseconds of a clock that is never set. */
  constructor(
    readonly now: () => number = Date.now,
    readonly elapsed: () => number = monotonicMs,
  ) {}

  /** `key`: from `tokenKey`, of everything that makes this token another. */
  get(key: string, fetch: () => Promise<Token>): Awaitable<Token> {
    const kept = this.#kept.get(key);
    if (kept !== undefined && this.#lives(kept)) return kept.token;
    let coming = this.#coming.get(key);
    if (coming === undefined) {
      coming = fetch()
        .then((token) => {
          this.#kept.set(key, { token, endsAt: this.elapsed() + token.expiresAt - this.now() });
          return token;
        })
        .finally(() => this.#coming.delete(key));
      this.#coming.set(key, coming);
    }
    return coming;
  }

  /**
   * By both clocks: its end by the wall clock is wrong where that was ahead when a lifetime was added to it, its lifetime
   * where that was late.
   */
  #lives({ token, endsAt }: Kept<Token>): boolean {
    return token.expiresAt - marginMs > this.now() && endsAt - marginMs > this.elapsed();
  }
}

/** A key that distinguishes credentials without containing them. */
export function tokenKey(...parts: readonly (string | null)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64');
}
