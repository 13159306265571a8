import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Awaitable } from '../../core/directory.js';

/** What was exchanged for a credential, and the Unix milliseconds at which it ends. */
export interface Expiring {
  readonly expiresAt: number;
}

const maxKept = 1_000;

/** A token is not used in its last minute: it has to live until the provider has read it. */
const marginMs = 60_000;

/**
 * Tokens (or temporary keys) by what they were got with. One that is kept costs no promise; one that is not is fetched
 * once, however many wait for it, and all of them hear the same failure, which is not kept.
 */
export class TokenCache<Token extends Expiring> {
  readonly #kept = new LRUCache<string, Token>({ max: maxKept });
  readonly #coming = new Map<string, Promise<Token>>();

  constructor(readonly now: () => number = Date.now) {}

  /** `key`: from `tokenKey`, of everything that makes this token another. */
  get(key: string, fetch: () => Promise<Token>): Awaitable<Token> {
    const kept = this.#kept.get(key);
    if (kept !== undefined && kept.expiresAt - marginMs > this.now()) return kept;
    let coming = this.#coming.get(key);
    if (coming === undefined) {
      coming = fetch()
        .then((token) => {
          this.#kept.set(key, token);
          return token;
        })
        .finally(() => this.#coming.delete(key));
      this.#coming.set(key, coming);
    }
    return coming;
  }
}

/** A key that tells credentials apart without holding them. */
export function tokenKey(...parts: readonly (string | null)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64');
}
