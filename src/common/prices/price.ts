import { noUsage, type ServiceTier, type Usage, type UsageKinds } from '../core/usage.js';
import { maxPicos } from '../vocabulary/money.js';
import type { DollarPrice, DollarRates } from './lists/price-list.js';

/** What is billed, in the order in which a cost is explained; the unit of each, and how dollars are given for it. */
export const rateUnits = {
  input: 'token',
  cached: 'token',
  cacheWrite: 'token',
  cacheWriteHour: 'token',
  audioInput: 'token',
  audioCached: 'token',
  imageInput: 'token',
  imageCached: 'token',
  output: 'token',
  reasoning: 'token',
  audioOutput: 'token',
  imageOutput: 'token',
  character: 'character',
  second: 'second',
  request: 'request',
} as const;

export type RateName = keyof typeof rateUnits;
export const rateNames = Object.keys(rateUnits) as RateName[];

/** Picodollars for one of each unit, whole numbers. A picodollar a token is a micro-dollar for a million tokens. */
export type Rates = Readonly<Record<RateName, number>>;

export interface Price extends Rates {
  /** Holds for the whole request once its input exceeds `tokens`. */
  readonly above: { readonly tokens: number; readonly price: Price } | null;
  /** Where a tier is not there, the price is that of the usual one. */
  readonly tiers: Readonly<Partial<Record<ServiceTier, Price>>>;
  /** Does text alone cost anything, reasoning what other output does? Then four products are the cost. */
  readonly isPlain: boolean;
}

/** One line of a bill. `cost` is `quantity` × `rate`, in picodollars. */
export interface CostLine {
  readonly rate: RateName;
  readonly quantity: number;
  readonly picos: number;
  readonly cost: number;
}

const perMillion = 1_000_000;
const picosPerDollar = 1_000_000_000_000;

/** What an amount of a rate is in picodollars for one of its unit. Throws an Error for an amount that is no price. */
type Reading = (name: RateName, amount: number) => number;

/** Dollars for a million tokens or characters, and for one second or request. */
const fromDollars: Reading = (name, dollars) => {
  const unit = rateUnits[name];
  const isOne = unit === 'second' || unit === 'request';
  const picos = wholePicos(dollars, isOne ? picosPerDollar : perMillion);
  if (picos !== null) return picos;
  throw new Error(
    isOne
      ? `prices: ${dollars} is no price; give dollars for one ${unit}, with twelve digits after the point at most, for example 0.0001.`
      : `prices: ${dollars} is no price; give dollars for a million ${unit}s, with six digits after the point at most, for example 0.15.`,
  );
};

/**
 * `amount` × `scale`, where that is a whole number by its decimal digits; else null. A division is rounded to the
 * nearest binary number, and so is a decimal text when it is read: both are the same number only where the digits agree.
 */
export function wholePicos(amount: number, scale: number): number | null {
  const picos = Math.round(amount * scale);
  return Number.isSafeInteger(picos) && picos >= 0 && picos / scale === amount ? picos : null;
}

/** A price from dollars, everything that is not given derived. Throws an Error for what is no price. */
export function toPrice(given: DollarPrice): Price {
  const rates = ratesOf(given);
  const above = given.above;
  const long = above === undefined ? null : ratesOf(above);
  const tiers: Partial<Record<ServiceTier, Price>> = {};
  for (const [name, tier] of Object.entries(given.tiers ?? {}) as [ServiceTier, number | DollarRates][]) {
    const ofTier = (usual: Rates): Rates =>
      typeof tier === 'number' ? times(usual, tier) : ratesOf({ ...tier });
    tiers[name] = priceOf(
      ofTier(rates),
      typeof tier === 'number' && long !== null ? { tokens: above!.tokens, rates: ofTier(long) } : null,
      {},
    );
  }
  return priceOf(rates, long === null ? null : { tokens: above!.tokens, rates: long }, tiers);
}

function priceOf(
  rates: Rates,
  above: { readonly tokens: number; readonly rates: Rates } | null,
  tiers: Price['tiers'],
): Price {
  return {
    ...rates,
    above: above && { tokens: above.tokens, price: priceOf(above.rates, null, {}) },
    tiers,
    isPlain: rates.reasoning === rates.output && rates.request === 0,
  };
}

/** A price from picodollars for one of each unit, everything that is not given derived. */
export const priceOfPicos = (given: GivenRates): Price =>
  priceOf(
    ratesOf(given, (_, picos) => picos),
    null,
    {},
  );

/** Amounts of some rates; the others are derived from them. */
export type GivenRates = Pick<Rates, 'input' | 'output'> & Partial<Rates>;

function ratesOf(given: GivenRates, picosOf: Reading = fromDollars): Rates {
  const rate = (name: RateName, otherwise: number): number =>
    given[name] === undefined ? otherwise : picosOf(name, given[name]);
  const input = picosOf('input', given.input);
  const output = picosOf('output', given.output);
  const cached = rate('cached', input);
  const cacheWrite = rate('cacheWrite', input);
  const audioInput = rate('audioInput', input);
  const imageInput = rate('imageInput', input);
  return {
    input,
    cached,
    cacheWrite,
    cacheWriteHour: rate('cacheWriteHour', cacheWrite),
    audioInput,
    audioCached: rate('audioCached', given.audioInput === undefined ? cached : audioInput),
    imageInput,
    imageCached: rate('imageCached', given.imageInput === undefined ? cached : imageInput),
    output,
    reasoning: rate('reasoning', output),
    audioOutput: rate('audioOutput', output),
    imageOutput: rate('imageOutput', output),
    character: rate('character', 0),
    second: rate('second', 0),
    request: rate('request', 0),
  };
}

/** A discount or surcharge on everything. What is no whole number then is refused, not rounded. */
function times(rates: Rates, factor: number): Rates {
  const of = {} as Record<RateName, number>;
  for (const name of rateNames) {
    const picos = Math.round(rates[name] * factor);
    if (!Number.isSafeInteger(picos) || picos < 0 || (rates[name] > 0 && picos / rates[name] !== factor))
      throw new Error(
        `prices: ${factor} times ${rates[name]} picodollars is no price, since it is no whole number of them; give the rates of the tier.`,
      );
    of[name] = picos;
  }
  return of;
}

/** A price whose rates are others, those of long inputs and of tiers too. */
export function withRates(price: Price, change: (price: Price) => Rates): Price {
  const changed = (one: Price): Price => {
    const { tokens, price: long } = one.above ?? { tokens: 0, price: null };
    return priceOf(change(one), long === null ? null : { tokens, rates: change(long) }, {});
  };
  const tiers = Object.entries(price.tiers).map(([name, tier]) => [name, changed(tier)]);
  return { ...changed(price), tiers: Object.fromEntries(tiers) };
}

/** The price by the tier that answered and by the length of the input. */
export function priceFor(price: Price, input: number, tier: ServiceTier | undefined): Price {
  const ofTier = tier === undefined ? price : (price.tiers[tier] ?? price);
  return ofTier.above !== null && input > ofTier.above.tokens ? ofTier.above.price : ofTier;
}

/** Exactly what `usage` costs, nothing rounded; at most `maxPicos`. */
export function costOf(usage: Usage, price: Price): number {
  const { kinds } = usage;
  const rates = priceFor(price, usage.input, kinds?.tier);
  if (kinds === undefined && rates.isPlain) {
    const plain = Math.max(0, usage.input - usage.cached - usage.cacheWrite);
    return atMost(
      plain * rates.input +
        usage.cached * rates.cached +
        usage.cacheWrite * rates.cacheWrite +
        usage.output * rates.output,
    );
  }
  let sum = 0;
  const quantities = quantitiesOf(usage, kinds ?? {});
  for (const name of rateNames) sum += quantities[name] * rates[name];
  return atMost(sum);
}

/** What an answered call costs. `usage` null: not known. null: the price is for something of which it is not known how much was used. */
export const costOfCall = (usage: Usage | null, price: Price): number | null =>
  hasCost(usage, price) ? costOf(usage ?? noUsage(), price) : null;

function hasCost(usage: Usage | null, price: Price): boolean {
  const isOfSearches = usage?.kinds?.searches !== undefined && usage.input + usage.output === 0;
  if (usage !== null && !(isOfSearches && price.request === 0)) return true;
  // Each call costs the same, or nothing.
  const isByRequest = rateNames.every((name) => name === 'request' || price[name] === 0);
  return isByRequest && price.above === null && Object.keys(price.tiers).length === 0;
}

/** The same, line by line: what was used. Their sum is the cost. */
export function costLines(given: Usage | null, price: Price): CostLine[] {
  if (!hasCost(given, price)) return [];
  const usage = given ?? noUsage();
  const rates = priceFor(price, usage.input, usage.kinds?.tier);
  const quantities = quantitiesOf(usage, usage.kinds ?? {});
  return rateNames
    .filter((name) => quantities[name] > 0 && (rateUnits[name] !== 'request' || rates.request > 0))
    .map((name) => ({
      rate: name,
      quantity: quantities[name],
      picos: rates[name],
      cost: atMost(quantities[name] * rates[name]),
    }));
}

/** Each unit in one of them: a part that exceeds what it is part of counts up to that. */
function quantitiesOf(usage: Usage, kinds: UsageKinds): Readonly<Record<RateName, number>> {
  const audioCached = Math.min(usage.cached, kinds.audioCached ?? 0);
  const imageCached = Math.min(usage.cached - audioCached, kinds.imageCached ?? 0);
  const cacheWriteHour = Math.min(usage.cacheWrite, kinds.cacheWriteHour ?? 0);
  let input = Math.max(0, usage.input - usage.cached - usage.cacheWrite);
  const audioInput = Math.min(input, Math.max(0, (kinds.audioInput ?? 0) - audioCached));
  input -= audioInput;
  const imageInput = Math.min(input, Math.max(0, (kinds.imageInput ?? 0) - imageCached));
  input -= imageInput;
  let { output } = usage;
  const audioOutput = Math.min(output, kinds.audioOutput ?? 0);
  output -= audioOutput;
  const imageOutput = Math.min(output, kinds.imageOutput ?? 0);
  output -= imageOutput;
  const reasoning = Math.min(output, usage.reasoning);
  return {
    input,
    cached: usage.cached - audioCached - imageCached,
    cacheWrite: usage.cacheWrite - cacheWriteHour,
    cacheWriteHour,
    audioInput,
    audioCached,
    imageInput,
    imageCached,
    output: output - reasoning,
    reasoning,
    audioOutput,
    imageOutput,
    character: kinds.characters ?? 0,
    second: kinds.seconds ?? 0,
    request: kinds.searches ?? 1,
  };
}

/** Whole numbers up to it are exact, and so are their sums; a sum beyond it was rounded. */
export const atMost = (picos: number): number => Math.min(picos, maxPicos);
