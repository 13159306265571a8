import type { ProviderModel } from '../../../common/ledger/log-filters.js';
import { type Price, priceFor, rateNames } from '../../../common/prices/price.js';
import type { PriceBook, Quote } from '../../../common/prices/pricing.js';
import { ProviderPrices } from '../../../common/prices/provider-prices.js';
import type { PricedGroup } from '../../analytics/question.js';
import type { Store } from '../../store/store.js';

/** What a model is replaced by, by its own name `provider__model`. */
export type Replacements = ReadonlyMap<string, ProviderModel>;

export const nameOf = ({ provider, model }: ProviderModel): string => `${provider}__${model}`;

/** Costs in picodollars. */
export interface WhatIfSums {
  requests: number;
  cost: number;
  whatIfCost: number;
  /** Requests that `whatIfCost` counts as 0, since no price is known. */
  unpriced: number;
}

export interface WhatIfModelSums extends WhatIfSums {
  /** null: no provider answered. */
  readonly model: string | null;
  readonly replacedBy: string | null;
}

type Tier = keyof Price['tiers'];

/** Prices of models in place of others, as calls of an organisation are priced. */
export class ReplacementPrices {
  readonly #prices = new Map<string, ProviderPrices | null>();

  constructor(
    readonly store: Pick<Store, 'integrations' | 'modelPrices'>,
    readonly book: Pick<PriceBook, 'quoteOf'>,
    readonly organisation: string,
  ) {}

  /**
   * Today's price of a model, by the gateway's prices and the organisation's own. `integration`: whose prices go before those; null:
   * none. `isStored`: only calls through stored providers have the organisation's prices.
   */
  async quoteOf(
    { provider, model }: ProviderModel,
    integration: string | null,
    isStored: boolean,
  ): Promise<Quote | null> {
    if (!isStored) return this.book.quoteOf(provider, model);
    const prices = await this.#of(provider, integration);
    return prices === null ? this.book.quoteOf(provider, model) : prices.quoteOf(this.book, null, model);
  }

  async #of(provider: string, integration: string | null): Promise<ProviderPrices | null> {
    const name = `${provider}\n${integration ?? ''}`;
    const known = this.#prices.get(name);
    if (known !== undefined) return known;
    const { integrations, modelPrices } = this.store;
    const record =
      integration === null
        ? { organisation: await modelPrices.of(this.organisation, provider) }
        : await integrations.prices(this.organisation, integration);
    const prices = record === null ? null : new ProviderPrices(provider, record);
    this.#prices.set(name, prices);
    return prices;
  }
}

/** Numbers of input tokens beyond which one of these prices is another, ascending. */
export function longInputsOf(quotes: readonly (Quote | null)[]): number[] {
  const found = quotes.flatMap((quote) =>
    quote === null
      ? []
      : [quote.price, ...Object.values(quote.price.tiers)].flatMap(({ above }) => above?.tokens ?? []),
  );
  return [...new Set(found)].sort((a, b) => a - b);
}

/** What requests that are priced alike would cost. */
function costOf(group: PricedGroup, { price }: Quote, longInputs: readonly number[]): number {
  const { longInput, tier, quantities } = group;
  const input = longInput === 0 ? 0 : longInputs[longInput - 1]! + 1;
  const rates = priceFor(price, input, (tier ?? undefined) as Tier | undefined);
  return rateNames.reduce((sum, name) => sum + (quantities[name] ?? 0) * rates[name], 0);
}

/** What requests would have cost, by model: the most expensive first. `longInputs`: those that the groups were asked for with. */
export async function whatIf(
  groups: readonly PricedGroup[],
  replacements: Replacements,
  prices: ReplacementPrices,
  longInputs: readonly number[],
): Promise<{ readonly total: WhatIfSums; readonly models: readonly WhatIfModelSums[] }> {
  const total: WhatIfSums = { requests: 0, cost: 0, whatIfCost: 0, unpriced: 0 };
  const models = new Map<string, WhatIfModelSums>();
  for (const group of groups) {
    const { provider, model, integration } = group;
    const name = provider === null || model === null ? null : nameOf({ provider, model });
    const to = name === null ? undefined : replacements.get(name);
    const replacedBy = to === undefined ? null : nameOf(to);
    let own = models.get(name ?? '');
    if (own === undefined) {
      own = { model: name, replacedBy, requests: 0, cost: 0, whatIfCost: 0, unpriced: 0 };
      models.set(name ?? '', own);
    }
    let whatIfCost = group.cost;
    // What no provider was paid for is not priced.
    let unpriced = group.isUsed ? group.unpriced : 0;
    if (to !== undefined && group.isUsed) {
      // An integration prices calls to its own provider.
      const quote = await prices.quoteOf(to, to.provider === provider ? integration : null, group.isStored);
      whatIfCost = quote === null ? 0 : costOf(group, quote, longInputs);
      unpriced = quote === null ? group.requests : 0;
    }
    for (const sums of [total, own]) {
      sums.requests += group.requests;
      sums.cost += group.cost;
      sums.whatIfCost += whatIfCost;
      sums.unpriced += unpriced;
    }
  }
  return { total, models: [...models.values()].sort((a, b) => b.cost - a.cost) };
}
