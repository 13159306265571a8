import { type Price, type RateName, rateNames, wholePicos } from './price.js';

/** Names under which the administration API gives prices, in US cents for one unit, and the rate of each. */
export const tokenUnits = {
  request_token: 'input',
  response_token: 'output',
  cache_write_input_token: 'cacheWrite',
  cache_read_input_token: 'cached',
  request_audio_token: 'audioInput',
  response_audio_token: 'audioOutput',
  cache_read_audio_input_token: 'audioCached',
} as const satisfies Readonly<Record<string, RateName>>;

/** The same for what the API names among `additional_units`. */
export const additionalUnits = {
  thinking_token: 'reasoning',
  cache_write_1h_input_token: 'cacheWriteHour',
  input_image: 'imageInput',
  cache_read_image_input_token: 'imageCached',
  response_image_token: 'imageOutput',
  character: 'character',
  second: 'second',
  request: 'request',
} as const satisfies Readonly<Record<string, RateName>>;

export const picosPerCent = 10_000_000_000;

/** Picodollars of an amount in US cents; null: it is no whole number of them. */
export const picosOfCents = (cents: number): number | null => wholePicos(cents, picosPerCent);

/** Factors on prices, as `pricing_adjustments.multiplier` has them; null inherits `default`. */
export type Multiplier = Readonly<Record<string, unknown>>;

/** Names of the factor of each rate, the most exact first; after a dot one of `additional_units`. */
const factorNames: Readonly<Record<RateName, readonly string[]>> = {
  input: ['request_text_token', 'request_token'],
  cached: ['cache_read_text_input_token', 'cache_read_input_token'],
  cacheWrite: ['cache_write_text_input_token', 'cache_write_input_token'],
  cacheWriteHour: ['.cache_write_1h_input_token', 'cache_write_text_input_token', 'cache_write_input_token'],
  audioInput: ['request_audio_token'],
  audioCached: ['cache_read_audio_input_token'],
  imageInput: ['request_image_token', '.input_image'],
  imageCached: ['cache_read_image_input_token', '.cache_read_image_input_token'],
  output: ['response_text_token', 'response_token'],
  reasoning: ['reasoning_token', '.thinking_token'],
  audioOutput: ['response_audio_token'],
  imageOutput: ['response_image_token', '.response_image_token'],
  character: ['.character'],
  second: ['.second'],
  request: ['.request'],
};

/** What a rate costs where a model has no price of its own for it. */
const derivedFrom: Readonly<Partial<Record<RateName, readonly RateName[]>>> = {
  cached: ['input'],
  cacheWrite: ['input'],
  cacheWriteHour: ['cacheWrite'],
  audioInput: ['input'],
  audioCached: ['cached', 'audioInput'],
  imageInput: ['input'],
  imageCached: ['cached', 'imageInput'],
  reasoning: ['output'],
  audioOutput: ['output'],
  imageOutput: ['output'],
};

const numberIn = (values: Multiplier, name: string): number | null => {
  const value = Object.hasOwn(values, name) ? values[name] : null;
  return typeof value === 'number' && value >= 0 && Number.isFinite(value) ? value : null;
};

function named(multiplier: Multiplier, name: string): number | null {
  if (!name.startsWith('.')) return numberIn(multiplier, name);
  const units = multiplier['additional_units'];
  return typeof units === 'object' && units !== null ? numberIn(units as Multiplier, name.slice(1)) : null;
}

/**
 * The factor of each rate of a price. A rate without one takes that of the rate whose price it shares (reasoning that
 * costs what output does is output), else `default`, else 1.
 */
export function factorsOf(multiplier: Multiplier, price: Price): Record<RateName, number> {
  const usual = numberIn(multiplier, 'default') ?? 1;
  const own = (rate: RateName): number | null => {
    for (const name of factorNames[rate]) {
      const factor = named(multiplier, name);
      if (factor !== null) return factor;
    }
    return null;
  };
  const factor = (rate: RateName): number => {
    const given = own(rate);
    if (given !== null) return given;
    const shared = derivedFrom[rate]?.find((other) => price[other] === price[rate]);
    return shared === undefined ? usual : factor(shared);
  };
  return Object.fromEntries(rateNames.map((rate) => [rate, factor(rate)])) as Record<RateName, number>;
}

/** Does it change any price? */
export function changesPrices(multiplier: Multiplier | null): multiplier is Multiplier {
  if (multiplier === null) return false;
  const units = multiplier['additional_units'];
  const more = typeof units === 'object' && units !== null ? Object.values(units) : [];
  return [...Object.values(multiplier), ...more].some((value) => typeof value === 'number' && value !== 1);
}
