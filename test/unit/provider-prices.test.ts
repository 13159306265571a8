import { expect } from 'chai';
import fc from 'fast-check';
import { noUsage } from '../../src/common/core/usage.js';
import { createPricing } from '../../src/common/prices/pricing.js';
import { type PricesRecord, ProviderPrices, timesDecimal } from '../../src/common/prices/provider-prices.js';
import { maxPicos } from '../../src/common/vocabulary/money.js';

const book = createPricing({
  prices: {
    openai: {
      m: {
        input: 2,
        output: 10,
        cached: 0.5,
        tiers: { batch: 0.5 },
        above: { tokens: 1000, input: 4, output: 20 },
      },
      odd: { input: 0.000001, output: 0.000003 },
    },
  },
});
const pricesOf = (record: PricesRecord): ProviderPrices => new ProviderPrices('openai', record);
const static_ = (pay_as_you_go: object): unknown => ({ type: 'static', pay_as_you_go });
const cents = (price: number) => ({ price });

describe('the prices of a stored provider', () => {
  it("are the integration's own in US cents for a token, whatever the lists have", () => {
    const prices = pricesOf({
      models: [
        {
          model: 'm',
          base: null,
          config: static_({
            request_token: cents(0.00001),
            response_token: cents(0.00003),
            cache_read_input_token: cents(0.000001),
            additional_units: { thinking_token: cents(0.00005), request: cents(0.1) },
          }),
        },
      ],
      multiplier: { default: 3 },
    });
    const quote = prices.quoteOf(book, 'm', 'm');
    expect(quote).to.include({ setBy: 'integration', model: 'm', factors: null });
    expect(quote?.price).to.include({
      input: 100_000,
      output: 300_000,
      cached: 10_000,
      cacheWrite: 100_000,
      reasoning: 500_000,
      request: 1_000_000_000,
    });
    const usage = { ...noUsage(), input: 10, output: 4, reasoning: 1, source: 'provider' as const };
    expect(prices.cost(book, 'm', 'm', usage, 0)).to.equal(1_000_000 + 900_000 + 500_000 + 1_000_000_000);
  });

  it('multiply what the lists have, its tiers and its price of long inputs too', () => {
    const prices = pricesOf({
      multiplier: { default: 0.5, response_token: 2, cache_read_input_token: null },
    });
    const quote = prices.quoteOf(book, 'm', 'm');
    expect(quote?.setBy).to.equal(null);
    expect(quote?.price).to.include({ input: 1_000_000, output: 20_000_000, cached: 250_000 });
    expect(quote?.price.above?.price).to.include({ input: 2_000_000, output: 40_000_000 });
    expect(quote?.price.tiers.batch).to.include({ input: 500_000, output: 10_000_000 });
    expect(quote?.factors).to.include({ input: 0.5, output: 2, reasoning: 2, cached: 0.5 });
    expect(prices.quoteOf(book, 'm', 'm'), 'made once').to.equal(quote);
    expect(prices.quoteOf(book, 'unlisted', 'unlisted')).to.equal(null);
  });

  it('take reasoning for output where the model has no price of its own for it', () => {
    const usual = pricesOf({ multiplier: { response_token: 0.5 } }).quoteOf(book, 'm', 'm');
    expect(usual?.price.reasoning).to.equal(5_000_000);
    const own = pricesOf({ multiplier: { response_token: 0.5, reasoning_token: 1 } }).quoteOf(book, 'm', 'm');
    expect(own?.price.reasoning).to.equal(10_000_000);
  });

  it('round what a factor makes of a price half up to a whole picodollar', () => {
    const times = (factor: number) =>
      pricesOf({ multiplier: { default: factor } }).quoteOf(book, 'odd', null);
    expect(times(0.5)?.price).to.include({ input: 1, output: 2 });
    expect(times(0.4)?.price).to.include({ input: 0, output: 1 });
    expect(timesDecimal(150_000, 0.333333)).to.equal(50_000);
    expect(timesDecimal(3, 1.1)).to.equal(3);
    expect(timesDecimal(5, 1.1)).to.equal(6);
    expect(timesDecimal(7, 1e-7)).to.equal(0);
    expect(timesDecimal(10 ** 12, 1e300)).to.equal(maxPicos);
  });

  it('multiply by the digits that a factor is written with', () => {
    fc.assert(
      fc.property(fc.nat(1e9), fc.nat(1e9), fc.nat(6), (whole, digits, places) => {
        const factor = Number(`${digits}e-${places}`);
        const exact =
          (2n * BigInt(whole) * BigInt(digits) + 10n ** BigInt(places)) / (2n * 10n ** BigInt(places));
        expect(timesDecimal(whole, factor)).to.equal(Math.min(Number(exact), maxPicos));
      }),
    );
  });

  it('of a fine-tuned model are those of the model it was made from, unless it is priced itself', () => {
    const tuned = { model: 'ft:m:acme::1', base: 'm', config: null };
    const factors = { default: 2 };
    const found = pricesOf({ models: [tuned], multiplier: factors }).quoteOf(book, tuned.model, tuned.model);
    expect(found).to.include({ model: 'm', setBy: null });
    expect(found?.price.input).to.equal(4_000_000);
    const priced = { ...tuned, config: static_({ request_token: cents(0.0001) }) };
    const own = pricesOf({ models: [priced], multiplier: factors }).quoteOf(book, tuned.model, tuned.model);
    expect(own?.price, 'what it leaves out costs what it does for its base').to.include({
      input: 1_000_000,
      output: 10_000_000,
    });
    const alone = { model: 'mine', base: null, config: static_({ request_token: cents(0.0001) }) };
    expect(pricesOf({ models: [alone] }).quoteOf(book, 'mine', 'mine'), 'half a price is none').to.equal(
      null,
    );
  });

  it('are found by the name in the answer, without its date, then by the name that was asked for', () => {
    const one = {
      model: 'gpt-4o',
      base: null,
      config: static_({ request_token: cents(1), response_token: cents(1) }),
    };
    const prices = pricesOf({ models: [one] });
    for (const [used, asked] of [
      ['gpt-4o', 'x'],
      ['gpt-4o-2024-08-06', 'x'],
      ['x', 'gpt-4o'],
      [null, 'gpt-4o'],
    ] as const)
      expect(prices.quoteOf(book, used, asked)?.setBy, `${used} ${asked}`).to.equal('integration');
    expect(prices.quoteOf(book, 'm', 'm')?.setBy).to.equal(null);
  });

  it("go before the organisation's, and these before the gateway's, from their day on", () => {
    const organisation = [
      { model: 'm', input: 1, output: 1, since: '2030-01-01', source: 'contract 7' },
      { model: 'other', input: 3, output: 3 },
    ];
    const one = {
      model: 'other',
      base: null,
      config: static_({ request_token: cents(1), response_token: cents(1) }),
    };
    const prices = pricesOf({ organisation, models: [one], multiplier: { default: 2 } });
    const on = (day: string, model: string) => prices.quoteOf(book, model, null, Date.parse(day));
    expect(on('2029-12-31', 'm')).to.include({ setBy: null });
    expect(on('2030-01-01', 'm')).to.include({
      setBy: 'organisation',
      source: 'contract 7',
      since: '2030-01-01',
    });
    expect(on('2030-01-01', 'm')?.price.input).to.equal(2_000_000);
    expect(on('2030-01-01', 'other')?.setBy).to.equal('integration');
  });
});
