import { LRUCache } from 'lru-cache';
import { networkOf } from '../../../../common/access/failed-attempts.js';
import { AdminError } from '../../admin-error.js';
import type { PasswordTurn } from './passwords.js';

const windowMs = 60_000;
const maxEntries = 10_000;

/** Failed sign-ins in a minute: of an account from one address, from one address, and of an account from all addresses. */
const most = { pair: 5, address: 20, account: 30 } as const;

type Kind = keyof typeof most;

/**
 * Counts failed sign-ins on this node, in windows of a minute. Attempts that were refused are not counted, and addresses
 * that an account signed in from are not affected by the failures of others.
 */
export class SignInThrottle {
  readonly #failed = new LRUCache<string, { count: number }>({ max: maxEntries, ttl: windowMs });
  /** Accounts and the networks that they signed in from. */
  readonly #trusted = new LRUCache<string, true>({ max: maxEntries });

  constructor(readonly limits: Readonly<Record<Kind, number>> = most) {}

  #keys(account: string, address: string): [Kind, string][] {
    const network = networkOf(address);
    return [
      ['pair', `pair ${network} ${account}`],
      ['address', `address ${network}`],
      ['account', `account ${account}`],
    ];
  }

  /** Throws AB06 where there were too many. `account`: the e-mail address that was typed, in the form that is compared. */
  check(account: string, address: string): void {
    const [[, pair]] = this.#keys(account, address) as [[Kind, string]];
    for (const [kind, key] of this.#keys(account, address)) {
      if (kind === 'account' && this.#trusted.has(pair)) continue;
      if ((this.#failed.get(key)?.count ?? 0) < this.limits[kind]) continue;
      const seconds = Math.max(1, Math.ceil(this.#failed.getRemainingTTL(key) / 1000));
      throw AdminError.later(`Too many failed sign-ins: try again in ${seconds} seconds.`, seconds);
    }
  }

  /** For the check of a password: attempts that are sent at once are counted one after the other. */
  turn(account: string, address: string): PasswordTurn {
    return {
      before: () => this.check(account, address),
      wrong: () => this.failed(account, address),
    };
  }

  failed(account: string, address: string): void {
    for (const [, key] of this.#keys(account, address)) {
      const seen = this.#failed.get(key);
      if (seen === undefined) this.#failed.set(key, { count: 1 });
      else seen.count += 1;
    }
  }

  /** The account signed in from there before. */
  trust(account: string, address: string): void {
    this.#trusted.set(`pair ${networkOf(address)} ${account}`, true);
  }

  succeeded(account: string, address: string): void {
    this.trust(account, address);
    this.#failed.delete(`pair ${networkOf(address)} ${account}`);
  }
}
