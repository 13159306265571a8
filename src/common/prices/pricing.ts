import type { Usage } from '../core/usage.js';
import { maxPicos } from '../vocabulary/money.js';
import { builtInPrices, type DollarPrice, priceLists } from './prices.js';

/** Picodollars for a token, whole numbers: the same as micro-dollars for a million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly cacheWrite: number;
  /** Holds for the whole request once its input exceeds `tokens`. */
  readonly above: { readonly tokens: number; readonly price: Price } | null;
}

/** An operator's own prices, by provider and model; they go before the built-in ones. */
export type OwnPrices = Readonly<Record<string, Readonly<Record<string, DollarPrice>>>>;

/** What things cost, in picodollars. */
export interface PriceBook {
  priceOf(provider: string, model: string): Price | null;
  /** null where no price is known. */
  cost(provider: string, model: string, usage: Usage): number | null;
  /** What a request may cost, by its size and its `max_tokens`, before anyone has answered it. */
  reserve(provider: string, model: string, requestBytes: number, maxTokens: number | null): number | null;
}

/** Reserved for the answer of a request that sets itself no limit. */
const defaultMaxTokens = 4096;
/**
 * Bytes of a JSON body for a token, on the safe side: English has more than four of text alone, Chinese about three.
 * An estimate for holding money back, never one to bill by.
 */
const bytesPerToken = 3;
const perMillion = 1_000_000;
/** No model answers with more; a larger `max_tokens` would only tie money up. */
const mostTokens = 1_000_000;
const maxRemembered = 4096;
/** Longest name that is remembered. */
const maxModel = 256;

function toPrice(given: DollarPrice): Price {
  return {
    input: picos(given.input),
    output: picos(given.output),
    cached: picos(given.cached ?? given.input),
    cacheWrite: picos(given.cacheWrite ?? given.input),
    above: given.above === undefined ? null : { tokens: given.above.tokens, price: toPrice(given.above) },
  };
}

/** Of a token, by the price of a million. */
function picos(dollars: number): number {
  const value = Math.round(dollars * perMillion);
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new Error(`prices: ${dollars} is no price; give dollars for a million tokens, for example 0.15.`);
  }
  return value;
}

/** Looks prices up among an operator's own, then the built-in ones. */
export function createPricing(options: { readonly prices?: OwnPrices } = {}): PriceBook {
  const known = new Map<string, Map<string, Price>>();
  const add = (provider: string, model: string, price: DollarPrice): void => {
    const models = known.get(provider) ?? new Map<string, Price>();
    known.set(provider, models);
    models.set(model, toPrice(price));
  };
  for (const [provider, rows] of Object.entries(builtInPrices))
    for (const row of rows) add(provider, row.model, row);
  for (const [provider, models] of Object.entries(options.prices ?? {})) {
    for (const [model, price] of Object.entries(models)) add(provider, model, price);
  }

  let remembered = new Map<string, Map<string, Price | null>>();
  let rememberedCount = 0;
  const find = (provider: string, model: string): Price | null => {
    const models = known.get(provider);
    if (models === undefined) return null;
    const exact = models.get(model);
    if (exact !== undefined) return exact;
    // Where the provider documents it: `gpt-4o-2024-08-06` costs what `gpt-4o` does. A guess may be wrong tenfold.
    const leftOff = Object.hasOwn(priceLists, provider) ? priceLists[provider]?.leftOff : undefined;
    return leftOff === undefined ? null : (models.get(model.replace(leftOff, '')) ?? null);
  };
  const priceOf = (provider: string, model: string): Price | null => {
    const models = remembered.get(provider);
    let price = models?.get(model);
    if (price === undefined) {
      price = find(provider, model);
      if (model.length > maxModel) return price;
      // Names come from clients: a flood of invented ones must not grow this.
      if (rememberedCount++ >= maxRemembered) {
        remembered = new Map();
        rememberedCount = 0;
      }
      if (models !== undefined && remembered.has(provider)) models.set(model, price);
      else remembered.set(provider, new Map([[model, price]]));
    }
    return price;
  };
  return {
    priceOf,
    cost(provider, model, usage) {
      const price = priceOf(provider, model);
      return price === null ? null : costOf(usage, price);
    },
    reserve(provider, model, requestBytes, maxTokens) {
      const price = priceOf(provider, model);
      return price === null ? null : reserveOf(Math.ceil(requestBytes / bytesPerToken), maxTokens, price);
    },
  };
}

/** Exactly what `usage` costs, nothing rounded; at most `maxPicos`. */
export function costOf(usage: Usage, price: Price): number {
  const { input, output, cached, cacheWrite } = atInput(usage.input, price);
  const plain = Math.max(0, usage.input - usage.cached - usage.cacheWrite);
  return atMost(
    plain * input + usage.cached * cached + usage.cacheWrite * cacheWrite + usage.output * output,
  );
}

/** What so many tokens would cost, in picodollars: for comparing, not for billing. */
export function estimateOf(price: Price, inputTokens: number, outputTokens: number): number {
  const { input, output } = atInput(inputTokens, price);
  return inputTokens * input + outputTokens * output;
}

/** What a call of so many input tokens costs at most: its answer as long as allowed, its input at the highest rate. */
export function reserveOf(inputTokens: number, maxTokens: number | null, price: Price): number {
  const { input, output, cached, cacheWrite } = atInput(inputTokens, price);
  const highest = Math.max(input, cached, cacheWrite);
  // `maxTokens` is a client's number: it may be anything.
  const asked = maxTokens !== null && maxTokens >= 0 ? Math.trunc(maxTokens) : defaultMaxTokens;
  const answer = Math.min(asked, mostTokens);
  return atMost(inputTokens * highest + answer * output);
}

/** Whole numbers up to it are exact, and so are their sums; a sum beyond it was rounded. */
const atMost = (picos: number): number => Math.min(picos, maxPicos);

const atInput = (tokens: number, price: Price): Price =>
  price.above !== null && tokens > price.above.tokens ? price.above.price : price;

/** The built-in prices alone. */
export const pricing: PriceBook = createPricing();
export const { priceOf } = pricing;
