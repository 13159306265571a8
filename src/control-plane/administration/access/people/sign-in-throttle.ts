import { LRUCache } from 'lru-cache';
import { networkOf } from '../../../../common/access/failed-attempts.js';
import type { FailedSignInStore } from '../../../store/store.js';
import { AdminError } from '../../admin-error.js';
import type { PasswordTurn } from './passwords.js';

const windowMs = 60_000;
const maxEntries = 10_000;

/** Failed sign-ins in a minute: of an account from one address, from one address, and of an account from all addresses. */
const most = { pair: 5, address: 20, account: 30 } as const;

type Kind = keyof typeof most;

/**
 * Counts failed sign-ins in windows of a minute, all nodes together. Attempts that were refused are not counted, and addresses
 * that an account signed in from are not affected by the failures of others.
 */
export class SignInThrottle {
  /** Accounts and the networks that they signed in from. */
  readonly #trusted = new LRUCache<string, true>({ max: maxEntries });

  constructor(
    readonly failures: FailedSignInStore,
    readonly now: () => number = Date.now,
    readonly limits: Readonly<Record<Kind, number>> = most,
  ) {}

  #names(account: string, address: string): Readonly<Record<Kind, string>> {
    const network = networkOf(address);
    return {
      pair: `pair ${network} ${account}`,
      address: `address ${network}`,
      account: `account ${account}`,
    };
  }

  /** Throws AB06 where there were too many. `account`: the e-mail address that was typed, in the form that is compared. */
  async check(account: string, address: string): Promise<void> {
    const names = this.#names(account, address);
    const failed = await this.failures.counts(Object.values(names));
    for (const [kind, name] of Object.entries(names) as [Kind, string][]) {
      if (kind === 'account' && this.#trusted.has(names.pair)) continue;
      const { count, endsAt } = failed.get(name) ?? { count: 0, endsAt: 0 };
      if (count < this.limits[kind]) continue;
      const seconds = Math.max(1, Math.ceil((endsAt - this.now()) / 1000));
      throw AdminError.later(`Too many failed sign-ins: try again in ${seconds} seconds.`, seconds);
    }
  }

  /** For the check of a password: attempts that are sent at once are counted one after the other. */
  turn(account: string, address: string): PasswordTurn {
    return {
      address,
      before: () => this.check(account, address),
      wrong: () => this.failures.add(Object.values(this.#names(account, address)), windowMs),
    };
  }

  /** The account signed in from there before. */
  trust(account: string, address: string): void {
    this.#trusted.set(this.#names(account, address).pair, true);
  }

  async succeeded(account: string, address: string): Promise<void> {
    this.trust(account, address);
    await this.failures.clear(this.#names(account, address).pair);
  }
}
