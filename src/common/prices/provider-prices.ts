import type { Usage } from '../core/usage.js';
import { maxPicos } from '../vocabulary/money.js';
import {
  additionalUnits,
  changesPrices,
  factorsOf,
  type Multiplier,
  picosPerCent,
  tokenUnits,
} from './api-units.js';
import {
  costOfCall,
  type GivenRates,
  priceOfPicos,
  type RateName,
  type Rates,
  rateNames,
  withRates,
} from './price.js';
import type { ListedPrice } from './prices.js';
import {
  byModel,
  createPricing,
  type DatedPrice,
  type PriceBook,
  type Quote,
  reserveForBytes,
  withoutDate,
} from './pricing.js';

/** A price of an organisation's own for a model of one provider. */
export type OrganisationPrice = DatedPrice &
  Pick<ListedPrice, 'model'> &
  Partial<Pick<ListedPrice, 'source' | 'readOn'>>;

/** A model of an integration that has a price of its own, or that of another model. */
export interface IntegrationPrice {
  readonly model: string;
  /** The model that it was made from; null: none. */
  readonly base: string | null;
  /** As `pricing_config` has it; null: none of its own. */
  readonly config: unknown;
}

/** Prices that an organisation and an integration set for the calls through a stored provider. JSON as it travels. */
export interface PricesRecord {
  readonly models?: readonly IntegrationPrice[];
  /** On every price that the integration does not set itself. */
  readonly multiplier?: Multiplier;
  readonly organisation?: readonly OrganisationPrice[];
}

/** Of an integration's models: its price, or that of the model it was made from. */
interface Entry {
  readonly base: string | null;
  /** Picodollars; null: it has no price of its own. */
  readonly given: Partial<Rates> | null;
  /** Where it gives input and output, its whole price; null: what it leaves out costs what it does elsewhere. */
  readonly quote: Quote | null;
}

/** Prices that are kept ready, multiplied or the organisation's: of models that calls name. */
const maxKept = 16;
/** Bytes of one, with those of its tiers and of long inputs, and of its name. */
const keptBytes = 2048;

/**
 * The prices of calls through one stored provider: those of its integration first, then those of its organisation, then
 * those of the gateway. What the integration does not price itself is multiplied by its factors.
 */
export class ProviderPrices {
  /** By the name of the model. */
  readonly entries: ReadonlyMap<string, Entry>;
  /** Bytes of heap that it may keep beside its fields. */
  readonly keptBytes: number;
  readonly #multiplier: Multiplier | null;
  readonly #organisation: PriceBook | null;
  #adjusted = new Map<Quote, Quote>();

  /** `provider`: name of the provider row. Throws an Error for prices of the organisation that are none. */
  constructor(
    readonly provider: string,
    readonly record: PricesRecord,
  ) {
    const { models = [], multiplier = null, organisation = [] } = record;
    this.entries = new Map(models.map((one) => [one.model, entryOf(one)]));
    this.#multiplier = changesPrices(multiplier) ? multiplier : null;
    this.#organisation =
      organisation.length === 0
        ? null
        : createPricing({
            prices: { [provider]: Object.fromEntries(byModel(organisation)) },
            only: true,
            setBy: 'organisation',
            remembers: maxKept,
          });
    const kept = (this.#multiplier === null ? 0 : 1) + (this.#organisation === null ? 0 : 1);
    this.keptBytes = kept * maxKept * keptBytes;
  }

  /**
   * The price of a call; null: none is known. `used`: the model that answered; null: not known yet. `asked`: the model
   * that was asked for. `at`: Unix milliseconds, now unless given.
   */
  quoteOf(
    book: Pick<PriceBook, 'quoteOf'>,
    used: string | null,
    asked: string | null,
    at?: number,
  ): Quote | null {
    const model = used ?? asked;
    if (model === null) return null;
    const entry = this.#entry(used, asked);
    if (entry !== null && entry.quote !== null) return entry.quote;
    const listed = (name: string): Quote | null =>
      this.#organisation?.quoteOf(this.provider, name, at) ?? book.quoteOf(this.provider, name, at);
    const base = entry?.base ?? null;
    const found = listed(model) ?? (base === null ? null : listed(base));
    if (entry !== null && entry.given !== null) {
      const { input = found?.price.input, output = found?.price.output } = entry.given;
      if (input !== undefined && output !== undefined)
        return quoteOf(asked ?? model, { ...entry.given, input, output });
    }
    return found === null || this.#multiplier === null ? found : this.#times(found, this.#multiplier);
  }

  /** As the price book's own, with these prices before its. */
  cost(
    book: Pick<PriceBook, 'quoteOf'>,
    used: string | null,
    asked: string | null,
    usage: Usage | null,
    at: number,
  ): number | null {
    const quote = this.quoteOf(book, used, asked, at);
    return quote === null ? null : costOfCall(usage, quote.price);
  }

  reserve(
    book: Pick<PriceBook, 'quoteOf'>,
    model: string,
    requestBytes: number,
    maxTokens: number | null,
  ): number | null {
    const quote = this.quoteOf(book, null, model);
    return quote === null ? null : reserveForBytes(requestBytes, maxTokens, quote.price);
  }

  /** By the name in the answer, with and without its date, then by the name that was asked for. */
  #entry(used: string | null, asked: string | null): Entry | null {
    if (this.entries.size === 0) return null;
    const byName = (name: string | null): Entry | undefined =>
      name === null ? undefined : this.entries.get(name);
    return byName(used) ?? byName(used && withoutDate(this.provider, used)) ?? byName(asked) ?? null;
  }

  #times(quote: Quote, multiplier: Multiplier): Quote {
    const known = this.#adjusted.get(quote);
    if (known !== undefined) return known;
    const factors = factorsOf(multiplier, quote.price);
    const price = withRates(quote.price, (one) => {
      const each = factorsOf(multiplier, one);
      const rates = {} as Record<RateName, number>;
      for (const name of rateNames) rates[name] = timesDecimal(one[name], each[name]);
      return rates;
    });
    const adjusted: Quote = { ...quote, price, factors };
    if (this.#adjusted.size >= maxKept) this.#adjusted = new Map();
    this.#adjusted.set(quote, adjusted);
    return adjusted;
  }
}

function entryOf({ model, base, config }: IntegrationPrice): Entry {
  const given = ratesIn(config);
  const { input, output } = given ?? {};
  const isWhole = given !== null && input !== undefined && output !== undefined;
  return { base, given, quote: isWhole ? quoteOf(model, { ...given, input, output }) : null };
}

const quoteOf = (model: string, rates: GivenRates): Quote => ({
  price: priceOfPicos(rates),
  model,
  source: null,
  readOn: null,
  since: null,
  setBy: 'integration',
  factors: null,
});

/** The rates of a `pricing_config`, in picodollars; null: it has none. */
function ratesIn(config: unknown): Partial<Rates> | null {
  const given = at(config, 'pay_as_you_go');
  const rates: Partial<Record<RateName, number>> = {};
  const take = (units: Readonly<Record<string, RateName>>, values: unknown): void => {
    for (const [unit, rate] of Object.entries(units)) {
      const cents = at(at(values, unit), 'price');
      if (typeof cents === 'number' && cents >= 0) rates[rate] = timesDecimal(picosPerCent, cents);
    }
  };
  take(tokenUnits, given);
  take(additionalUnits, at(given, 'additional_units'));
  return Object.keys(rates).length === 0 ? null : rates;
}

const at = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;

/**
 * A whole number times a decimal, by the digits that the decimal is written with, rounded half up to a whole number: of
 * picodollars for a token that is at most half a millionth of a dollar for a million tokens.
 */
export function timesDecimal(whole: number, factor: number): number {
  if (factor === 1 || whole === 0) return whole;
  const [, digits = '', fraction = '', exponent = '0'] = /^(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/.exec(
    String(factor),
  )!;
  const scale = fraction.length - Number(exponent);
  let product = BigInt(whole) * BigInt(digits + fraction);
  if (scale < 0) product *= 10n ** BigInt(-scale);
  const unit = 10n ** BigInt(Math.max(0, scale));
  const rounded = (2n * product + unit) / (2n * unit);
  return rounded > BigInt(maxPicos) ? maxPicos : Number(rounded);
}
