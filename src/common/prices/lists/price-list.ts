import type { ServiceTier } from '../../core/usage.js';

/** Dollars for a million tokens or characters, and for one second or request. */
export interface DollarRates {
  readonly input: number;
  readonly output: number;
  /** Input read from the provider's prompt cache; without it cached input costs what input does. */
  readonly cached?: number;
  /** Input written to the prompt cache, where that is billed apart. */
  readonly cacheWrite?: number;
  /** Written to be kept for an hour; what `cacheWrite` costs where absent. */
  readonly cacheWriteHour?: number;
  /** What output costs where absent. */
  readonly reasoning?: number;
  /** Sound and pictures in tokens; what text costs where absent, and cached what it costs uncached. */
  readonly audioInput?: number;
  readonly audioCached?: number;
  readonly audioOutput?: number;
  readonly imageInput?: number;
  readonly imageCached?: number;
  readonly imageOutput?: number;
  /** For each request, beside its tokens. */
  readonly request?: number;
  /** Of sound. */
  readonly second?: number;
  /** A million characters of text that is spoken. */
  readonly character?: number;
}

export interface DollarPrice extends DollarRates {
  /** What the whole request costs once its input exceeds so many tokens. */
  readonly above?: LongPrice;
  /** What other tiers cost: a factor on everything, or rates of their own. */
  readonly tiers?: Tiers;
}

export type LongPrice = { readonly tokens: number } & DollarRates;
export type Tiers = Readonly<Partial<Record<ServiceTier, number | DollarRates>>>;

/** What few models have, beyond a row's first columns. */
export type MorePrice = Omit<DollarPrice, 'input' | 'output' | 'cached' | 'cacheWrite' | 'above'>;

/** A model's exact name and its price in dollars for a million tokens; `null` where something later follows. */
export type PriceRow = readonly [
  model: string,
  input: number,
  output: number,
  cached?: number | null,
  cacheWrite?: number | null,
  above?: LongPrice | null,
  more?: MorePrice,
];

/** Rows that were read at one place on one day. */
export interface PriceSheet {
  /** Where: the provider's own page, or a public list of such prices. */
  readonly from: string;
  /** The day of that reading, or of the state of the list that was read. */
  readonly on: string;
  /** The day from which on its rows hold (UTC); before it the model's other row does. Absent: they always held. */
  readonly since?: string;
  readonly rows: readonly PriceRow[];
}

/** What one provider charges by the token. */
export interface PriceList {
  /** The provider's own page: what to check a row against. */
  readonly page: string;
  /**
   * Parts of a name that do not change its price, as the provider documents: they are taken off where the whole name
   * has no row. Global. Without it a name is only ever itself.
   */
  readonly leftOff?: RegExp;
  /** Tiers of all its models, but for those whose row has its own. */
  readonly tiers?: Tiers;
  /** What an hour in the cache costs to write, as a factor on input. */
  readonly cacheWriteHour?: number;
  /** A model is in one of them alone, but for those of different days. */
  readonly sheets: readonly PriceSheet[];
}
