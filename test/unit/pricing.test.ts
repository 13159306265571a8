import { expect } from 'chai';
import fc from 'fast-check';
import type { Usage } from '../../src/core/usage.js';
import { builtInPrices } from '../../src/ledger/prices.js';
import { costOf, createPricing, type Price, priceOf, pricing, reserveOf } from '../../src/ledger/pricing.js';

const usage = (change: Partial<Usage>): Usage => ({
  input: 0,
  output: 0,
  cached: 0,
  cacheWrite: 0,
  reasoning: 0,
  source: 'provider',
  ...change,
});

describe('prices', () => {
  it('are whole micro-dollars for a million tokens', () => {
    for (const [provider, rows] of Object.entries(builtInPrices)) {
      for (const row of rows) {
        const price = priceOf(provider, row.model);
        expect(price, row.model).not.to.equal(null);
        for (const each of [price, price?.above?.price]) {
          if (each === null || each === undefined) continue;
          for (const value of [each.input, each.output, each.cached, each.cacheWrite]) {
            expect(Number.isSafeInteger(value), `${row.model}: ${value}`).to.equal(true);
          }
          expect(each.cached).to.be.at.most(each.input);
        }
        expect(price?.input).to.equal(Math.round(row.input * 1e6));
      }
    }
  });

  it('name each model once', () => {
    for (const rows of Object.values(builtInPrices)) {
      expect(new Set(rows.map((row) => row.model)).size).to.equal(rows.length);
    }
  });

  it('hold for the dated names of a model, and for no other that begins alike', () => {
    expect(priceOf('openai', 'gpt-4o-mini-2024-07-18')).to.equal(priceOf('openai', 'gpt-4o-mini'));
    expect(priceOf('anthropic', 'claude-haiku-4-5-20251001')?.output).to.equal(5_000_000);
    expect(priceOf('anthropic', 'claude-opus-4-20250514')?.output).to.equal(75_000_000);
    expect(priceOf('openai', 'gpt-4o-2024-05-13')?.input).to.equal(5_000_000);
    expect(priceOf('openai', 'gpt-5-chat-latest')?.input).to.equal(1_250_000);
    for (const model of [
      'gpt-4o-mini-ultra',
      'gpt-5-2',
      'gpt-4o-realtime',
      'gpt',
      '',
      '__proto__',
      'constructor',
    ]) {
      expect(priceOf('openai', model), model).to.equal(null);
    }
    expect(priceOf('anthropic', 'gpt-4o')).to.equal(null);
    expect(priceOf('__proto__', 'gpt-4o')).to.equal(null);
  });

  it("give way to an operator's own", () => {
    const own = createPricing({
      prices: {
        openai: { 'gpt-4o': { input: 1, output: 2 } },
        local: { llama: { input: 0.000001, output: 0 } },
      },
    });
    expect(own.cost('openai', 'gpt-4o-2024-08-06', usage({ input: 1_000_000, cached: 500_000 }))).to.equal(
      1_000_000,
    );
    expect(own.cost('openai', 'gpt-4o-mini', usage({ output: 1_000_000 }))).to.equal(600_000);
    expect(own.cost('local', 'llama', usage({ input: 1_000_000 }))).to.equal(1);
    expect(() => createPricing({ prices: { x: { y: { input: -1, output: 0 } } } })).to.throw(
      /-1 is no price/,
    );
  });
});

describe('costs', () => {
  it('of known calls', () => {
    expect(pricing.cost('openai', 'gpt-4o-mini', usage({ input: 120, output: 240 }))).to.equal(162);
    expect(pricing.cost('openai', 'gpt-4o', usage({ input: 2000, cached: 1024, output: 10 }))).to.equal(3820);
    expect(
      pricing.cost(
        'anthropic',
        'claude-opus-4-5',
        usage({ input: 10_000, cached: 8000, cacheWrite: 1000, output: 500 }),
      ),
    ).to.equal(27_750);
    expect(pricing.cost('openai', 'no-such-model', usage({ input: 1 }))).to.equal(null);
  });

  it('of a long request are the long price for all of it', () => {
    const cost = (input: number) => pricing.cost('openai', 'gpt-5.5', usage({ input, output: 1000 }));
    expect(cost(272_000)).to.equal(272_000 * 5 + 30_000);
    expect(cost(272_001)).to.equal(272_001 * 10 + 45_000);
  });

  it('are rounded once, half up', () => {
    const price: Price = { input: 500_000, output: 499_999, cached: 0, cacheWrite: 0, above: null };
    expect(costOf(usage({ input: 1 }), price)).to.equal(1);
    expect(costOf(usage({ output: 1 }), price)).to.equal(0);
    expect(costOf(usage({ input: 1, output: 1 }), price)).to.equal(1);
    expect(costOf(usage({ input: 3 }), price)).to.equal(2);
  });

  it('are exact, however large, and so are their sums', () => {
    const tokens = fc.integer({ min: 0, max: 2 ** 31 });
    const rate = fc.integer({ min: 0, max: 600_000_000 });
    const call = fc.record({
      input: tokens,
      output: tokens,
      cachedShare: fc.integer({ min: 0, max: 100 }),
      writeShare: fc.integer({ min: 0, max: 100 }),
    });
    const price = fc.record({
      input: rate,
      output: rate,
      cached: rate,
      cacheWrite: rate,
      above: fc.constant(null),
    });
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 20 }), price, (calls, p) => {
        let sum = 0;
        let exactSum = 0n;
        for (const { input, output, cachedShare, writeShare } of calls) {
          const cached = Math.floor((input * cachedShare) / 200);
          const cacheWrite = Math.floor((input * writeShare) / 200);
          const picos =
            BigInt(input - cached - cacheWrite) * BigInt(p.input) +
            BigInt(cached) * BigInt(p.cached) +
            BigInt(cacheWrite) * BigInt(p.cacheWrite) +
            BigInt(output) * BigInt(p.output);
          const exact = (picos + 500_000n) / 1_000_000n;
          const cost = costOf(usage({ input, output, cached, cacheWrite }), p);
          expect(BigInt(cost)).to.equal(exact);
          sum += cost;
          exactSum += exact;
        }
        expect(BigInt(sum)).to.equal(exactSum);
      }),
      { numRuns: 500 },
    );
  });

  it('reserved are never less than a call of that size costs', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 400_000 }),
        fc.integer({ min: 0, max: 100_000 }),
        fc.constantFrom(...(builtInPrices['openai'] ?? [])),
        (input, maxTokens, { model }) => {
          const price = priceOf('openai', model);
          if (price === null) throw new Error(model);
          const reserved = reserveOf(input, maxTokens, price);
          for (const change of [{}, { cached: input }, { cacheWrite: input }]) {
            expect(reserved).to.be.at.least(costOf(usage({ input, output: maxTokens, ...change }), price));
          }
        },
      ),
    );
    expect(pricing.reserve('openai', 'gpt-4o-mini', 3000, 1000)).to.equal(150 + 600);
    expect(pricing.reserve('openai', 'gpt-4o-mini', 3000, null)).to.be.greaterThan(2000);
    expect(pricing.reserve('openai', 'no-such-model', 3000, 1000)).to.equal(null);
  });
});
