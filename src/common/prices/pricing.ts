import type { ServiceTier, Usage } from '../core/usage.js';
import { atMost, costOfCall, type Price, priceFor, type RateName, toPrice } from './price.js';
import { builtInPrices, type DollarPrice, type ListedPrice, priceLists } from './prices.js';

export { costOf, type Price } from './price.js';

/** A price and the day from which on it holds (UTC); absent: always, until another one's day. */
export type DatedPrice = DollarPrice & { readonly since?: string };

/**
 * An operator's own prices, by provider and model; they go before the built-in ones. Several of one model hold from
 * different days.
 */
export type OwnPrices = Readonly<
  Record<string, Readonly<Record<string, DatedPrice | readonly DatedPrice[]>>>
>;

/** A price, and where it is from. */
export interface Quote {
  readonly price: Price;
  /** The name that it is listed under. */
  readonly model: string;
  /** Where it was read; null: an operator's own. */
  readonly source: string | null;
  readonly readOn: string | null;
  readonly since: string | null;
  /** Whose own price it is; null: that of the gateway, of its settings or built in. */
  readonly setBy: 'organisation' | 'integration' | null;
  /** What its rates were multiplied by, by rate; null: by nothing. */
  readonly factors: Readonly<Partial<Record<RateName, number>>> | null;
}

/** What things cost, in picodollars. `at`: Unix milliseconds, now unless given. */
export interface PriceBook {
  quoteOf(provider: string, model: string, at?: number): Quote | null;
  priceOf(provider: string, model: string, at?: number): Price | null;
  /** Of an answered call; null where no price is known. `usage` null: not known. */
  cost(provider: string, model: string, usage: Usage | null, at?: number): number | null;
  /** What a request may cost, by its size and its `max_tokens`, before anyone has answered it. */
  reserve(provider: string, model: string, requestBytes: number, maxTokens: number | null): number | null;
  /** Goes up when `replace` is called: prices that were found before may be others now. */
  readonly version: number;
  /** Takes other prices of an operator's own from now on. They were checked: `checkRates`. */
  replace(prices: OwnPrices): void;
}

/** Reserved for the answer of a request that sets itself no limit. */
const defaultMaxTokens = 4096;
/**
 * Bytes of a JSON body for a token, on the safe side: English has more than four of text alone, Chinese about three.
 * An estimate for holding money back, never one to bill by.
 */
const bytesPerToken = 3;
/** No model answers with more; a larger `max_tokens` would only tie money up. */
const mostTokens = 1_000_000;
const maxRemembered = 4096;
/** Longest name that is remembered. */
const maxModel = 256;

/** The prices of a model, the latest first. `from`: Unix milliseconds. */
type Schedule = readonly (Quote & { readonly from: number })[];

/** Throws an Error for a day that is none, and for two prices of one day. */
function scheduleOf(
  model: string,
  prices: readonly (DatedPrice & Partial<ListedPrice>)[],
  setBy: Quote['setBy'] = null,
): Schedule {
  const schedule = prices
    .map((price) => ({
      from: dayOf(price.since),
      price: toPrice(price),
      model,
      source: price.source ?? null,
      readOn: price.readOn ?? null,
      since: price.since ?? null,
      setBy,
      factors: null,
    }))
    .sort((a, b) => b.from - a.from);
  if (schedule.some(({ from }, i) => from === schedule[i + 1]?.from))
    throw new Error('prices: two prices of one model hold from the same day.');
  return schedule;
}

function dayOf(since: string | undefined): number {
  if (since === undefined) return Number.NEGATIVE_INFINITY;
  const at = /^\d{4}-\d{2}-\d{2}$/.test(since) ? Date.parse(`${since}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== since)
    throw new Error(`prices: ${since} is no day; write it as in 2026-10-07.`);
  return at;
}

const at = (schedule: Schedule, when: number): Quote | null =>
  schedule.find(({ from }) => when >= from) ?? null;

const listOf = (prices: DatedPrice | readonly DatedPrice[]): readonly DatedPrice[] =>
  Array.isArray(prices) ? prices : [prices as DatedPrice];

/** Throws an Error that names what is no price: its provider, its model, and why. */
export function checkRates(prices: OwnPrices): void {
  for (const [provider, models] of Object.entries(prices)) {
    for (const [model, listed] of Object.entries(models)) {
      try {
        scheduleOf(model, listOf(listed));
      } catch (error) {
        throw new Error(`${provider} ${model}: ${(error as Error).message}`);
      }
    }
  }
}

/** By provider, then by model; made when first needed, since most models are never asked for. */
const builtInRows = new Map<string, ReadonlyMap<string, readonly ListedPrice[]>>();

function builtIn(provider: string, model: string): readonly ListedPrice[] | undefined {
  let models = builtInRows.get(provider);
  if (models === undefined) {
    const rows = Object.hasOwn(builtInPrices, provider) ? builtInPrices[provider] : undefined;
    if (rows === undefined) return undefined;
    models = byModel(rows);
    builtInRows.set(provider, models);
  }
  return models.get(model);
}

/**
 * Looks prices up among an operator's own, then the built-in ones, unless `only` leaves these out. Throws an Error for what
 * is no price.
 */
export function createPricing(
  options: {
    readonly prices?: OwnPrices;
    readonly only?: boolean;
    readonly setBy?: Quote['setBy'];
    /** Names of models that are remembered; 4,096 unless given. */
    readonly remembers?: number;
  } = {},
): PriceBook {
  const { prices = {}, only = false, setBy = null, remembers = maxRemembered } = options;
  checkRates(prices);
  let own = prices;
  let version = 0;
  let remembered = new Map<string, Map<string, Schedule | null>>();
  let rememberedCount = 0;
  const listed = (provider: string, model: string): Schedule | null => {
    const models = Object.hasOwn(own, provider) ? own[provider] : undefined;
    const rows =
      models !== undefined && Object.hasOwn(models, model)
        ? listOf(models[model]!)
        : only
          ? undefined
          : builtIn(provider, model);
    return rows === undefined ? null : scheduleOf(model, rows, setBy);
  };
  const find = (provider: string, model: string): Schedule | null => {
    const exact = listed(provider, model);
    if (exact !== null) return exact;
    const shorter = withoutDate(provider, model);
    return shorter === model ? null : scheduled(provider, shorter);
  };
  const scheduled = (provider: string, model: string): Schedule | null => {
    const models = remembered.get(provider);
    let schedule = models?.get(model);
    if (schedule === undefined) {
      schedule = find(provider, model);
      if (model.length > maxModel) return schedule;
      // Names come from clients: a flood of invented ones must not grow this.
      if (rememberedCount++ >= remembers) {
        remembered = new Map();
        rememberedCount = 0;
      }
      if (models !== undefined && remembered.has(provider)) models.set(model, schedule);
      else remembered.set(provider, new Map([[model, schedule]]));
    }
    return schedule;
  };
  const quoteOf = (provider: string, model: string, when?: number): Quote | null => {
    const schedule = scheduled(provider, model);
    if (schedule === null) return null;
    // Most models have one price, which always holds.
    const only = schedule.length === 1 ? schedule[0]! : null;
    if (only !== null && only.from === Number.NEGATIVE_INFINITY) return only;
    return at(schedule, when ?? Date.now());
  };
  const priceOf = (provider: string, model: string, when?: number): Price | null =>
    quoteOf(provider, model, when)?.price ?? null;
  return {
    get version() {
      return version;
    },
    replace(others) {
      own = others;
      remembered = new Map();
      rememberedCount = 0;
      version++;
    },
    quoteOf,
    priceOf,
    cost(provider, model, usage, when) {
      const price = priceOf(provider, model, when);
      return price === null ? null : costOfCall(usage, price);
    },
    reserve(provider, model, requestBytes, maxTokens) {
      const price = priceOf(provider, model);
      return price === null ? null : reserveOf(Math.ceil(requestBytes / bytesPerToken), maxTokens, price);
    },
  };
}

/** Without the parts that the provider documents to cost the same: `gpt-4o-2024-08-06` costs what `gpt-4o` does. */
export function withoutDate(provider: string, model: string): string {
  // A guess may be wrong tenfold, so other names are only ever themselves.
  const leftOff = Object.hasOwn(priceLists, provider) ? priceLists[provider]?.leftOff : undefined;
  return leftOff === undefined ? model : model.replace(leftOff, '');
}

/** What a request of so many bytes may cost, by its `max_tokens`. */
export const reserveForBytes = (requestBytes: number, maxTokens: number | null, price: Price): number =>
  reserveOf(Math.ceil(requestBytes / bytesPerToken), maxTokens, price);

/** Rows by their model, in order. */
export function byModel<Row extends { readonly model: string }>(rows: readonly Row[]): Map<string, Row[]> {
  const models = new Map<string, Row[]>();
  for (const row of rows) {
    const others = models.get(row.model);
    if (others === undefined) models.set(row.model, [row]);
    else others.push(row);
  }
  return models;
}

/** What so many tokens would cost, in picodollars: for comparing, not for billing. */
export function estimateOf(price: Price, inputTokens: number, outputTokens: number): number {
  const { input, output } = priceFor(price, inputTokens, undefined);
  return inputTokens * input + outputTokens * output;
}

/**
 * What a call of so many input tokens costs at most: its answer as long as allowed, its input at the highest rate. Where a tier is
 * asked for, the provider may still answer by the usual one.
 */
export function reserveOf(
  inputTokens: number,
  maxTokens: number | null,
  price: Price,
  tier: ServiceTier | null = null,
): number {
  const ofTier = tier === null ? undefined : price.tiers[tier];
  const byTier = ofTier === undefined ? 0 : reserveOf(inputTokens, maxTokens, ofTier);
  const rates = price.above === null ? price : priceFor(price, inputTokens, undefined);
  const { input: text, cached, cacheWrite, cacheWriteHour, audioInput, imageInput } = rates;
  const input = Math.max(text, cached, cacheWrite, cacheWriteHour, audioInput, imageInput);
  const output = Math.max(rates.output, rates.reasoning, rates.audioOutput, rates.imageOutput);
  // `maxTokens` is a client's number: it may be anything.
  const asked = maxTokens !== null && maxTokens >= 0 ? Math.trunc(maxTokens) : defaultMaxTokens;
  const answer = Math.min(asked, mostTokens);
  return Math.max(byTier, atMost(inputTokens * input + answer * output + rates.request));
}

/** The built-in prices alone. */
export const pricing: PriceBook = createPricing();
export const { priceOf } = pricing;
