/**
 * How far a caller is trusted before the control process has looked at its key: `proven`: the key was accepted a
 * moment ago; `formed`: it has the form of a key, which anyone can make; `keyless`: no key, or none of that form.
 */
export type Trust = 'proven' | 'formed' | 'keyless';

/** On whose account something is taken. */
export interface Account {
  readonly trust: Trust;
  /** Digest of the key; null without one. */
  readonly key: string | null;
  /** IP address; empty where it is not known. */
  readonly address: string;
}

/** How much of one thing (calls, bytes) may be taken at once. */
export interface QuotaLimits {
  readonly all: number;
  /** By callers whose key is not proven, together: the rest is kept for proven keys. */
  readonly unproven: number;
  /** By callers without a key, together. */
  readonly keyless: number;
  /** By one key. */
  readonly perKey: number;
  /** By callers of one address whose key is not proven. A proxy's proven keys share its address without harm. */
  readonly perAddress: number;
  /** By callers of one address without a key. */
  readonly keylessPerAddress: number;
}

/** Whose limit was reached. */
export type Exceeded = 'all' | 'key' | 'address';

/** Counts what is taken, in all and by whom. Its maps hold an entry for what is taken now, and no more. */
export class Quota {
  #all = 0;
  #unproven = 0;
  #keyless = 0;
  readonly #byKey = new Map<string, number>();
  readonly #byAddress = new Map<string, number>();

  constructor(readonly limits: QuotaLimits) {}

  /** Takes it, and answers null; or takes nothing, and answers whose limit that would pass. */
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

  /** Gives back what the same account took. */
  give({ trust, key, address }: Account, amount: number): void {
    this.#add(trust, key, address, -amount);
  }

  /** Keys and addresses on whose account something is taken now. */
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
