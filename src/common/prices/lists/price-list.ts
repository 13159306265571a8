/** Dollars for a million tokens. */
export interface DollarPrice {
  readonly input: number;
  readonly output: number;
  /** Input read from the provider's prompt cache; without it cached input costs what input does. */
  readonly cached?: number;
  /** Input written to the prompt cache, where that is billed apart. */
  readonly cacheWrite?: number;
  /** What the whole request costs once its input exceeds so many tokens. */
  readonly above?: LongPrice;
}

export type LongPrice = { readonly tokens: number } & Omit<DollarPrice, 'above'>;

/** A model's exact name and its price in dollars for a million tokens; `null` where something later follows. */
export type PriceRow = readonly [
  model: string,
  input: number,
  output: number,
  cached?: number | null,
  cacheWrite?: number | null,
  above?: LongPrice,
];

/** Rows that were read at one place on one day. */
export interface PriceSheet {
  /** Where: the provider's own page, or a public list of such prices. */
  readonly from: string;
  /** The day of that reading, or of the state of the list that was read. */
  readonly on: string;
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
  /** A model is in one of them alone. */
  readonly sheets: readonly PriceSheet[];
}
