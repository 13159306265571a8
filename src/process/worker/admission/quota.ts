/**
 * The trust in a caller before the control process has checked its key: `proven`: the key was accepted a
 * recently; `formed`: it has the form of a key, which anyone can make; `keyless`: no key, or none of that form.
 */
export type Trust = 'proven' | 'formed' | 'keyless';

/** The account that a quota is counted for. */
export interface Account {
  readonly trust: Trust;
  /** Digest of the key; null without one. */
  readonly key: string | null;
  /** IP address; empty: unknown. */
  readonly address: string;
}

/** Limits of one quantity (calls, bytes). */
export interface QuotaLimits {
  readonly all: number;
  /** All callers without a proven key together: the rest is reserved for proven keys. */
  readonly unproven: number;
  /** All callers without a key together. */
  readonly keyless: number;
  /** One key. */
  readonly perKey: number;
  /** Callers of one address without a proven key. Proven keys that share a proxy's address are not affected. */
  readonly perAddress: number;
  /** Callers of one address without a key. */
  readonly keylessPerAddress: number;
}

/** Whose limit was reached. */
export type Exceeded = 'all' | 'key' | 'address';

/** Counts a quantity in all and by account. Its maps have entries only for accounts in use. */
export class Quota {
  #all = 0;
  #unproven = 0;
  #keyless = 0;
  readonly #byKey = new Map<string, number>();
  readonly #byAddress = new Map<string, number>();

  constructor(readonly limits: QuotaLimits) {}

  /** Takes the amount and returns null; or takes nothing and returns the exceeded limit. */
  take({ trust, key, address }: Account, amount: number): Exceeded | null {
    const { limits } = this;
    if (key !== null && (this.#byKey.get(key) ?? 0) + amount > limits.perKey) return 'key';
    if (trust !== 'proven') {
      const most = trust === 'keyless' ? limits.keylessPerAddress : limits.perAddress;
      if ((this.#byAddress.get(address) ?? 0) + amount > most) return 'address';
      if (this.#unproven + amount > limits.unproven) return 'all';
      if (trust === 'keyless' && this.#keyless + amount > limits.keyless) return 'all';
    }
    if (this.#all + amount > limits.all) return 'all';
    this.#add(trust, key, address, amount);
    return null;
  }

  /** Returns an amount of the same account. */
  give({ trust, key, address }: Account, amount: number): void {
    this.#add(trust, key, address, -amount);
  }

  /** Number of keys and addresses in use. */
  get accounts(): number {
    return this.#byKey.size + this.#byAddress.size;
  }

  #add(trust: Trust, key: string | null, address: string, amount: number): void {
    this.#all += amount;
    if (key !== null) count(this.#byKey, key, amount);
    if (trust === 'proven') return;
    this.#unproven += amount;
    if (trust === 'keyless') this.#keyless += amount;
    count(this.#byAddress, address, amount);
  }
}

function count(counts: Map<string, number>, name: string, amount: number): void {
  if (amount === 0) return;
  const now = (counts.get(name) ?? 0) + amount;
  if (now === 0) counts.delete(name);
  else counts.set(name, now);
}
