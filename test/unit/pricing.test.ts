import { expect } from 'chai';
import fc from 'fast-check';
import type { Usage } from '../../src/common/core/usage.js';
import { toPrice } from '../../src/common/prices/price.js';
import { builtInPrices, priceLists } from '../../src/common/prices/prices.js';
import { costOf, createPricing, priceOf, pricing, reserveOf } from '../../src/common/prices/pricing.js';
import { maxPicos } from '../../src/common/vocabulary/money.js';
import { providers } from '../../src/data-plane/providers/rows.js';

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
  it('are whole picodollars for a token', () => {
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

  it('name each model of a provider once for a day', () => {
    for (const [provider, rows] of Object.entries(builtInPrices)) {
      const names = new Set(rows.map(({ model, since }) => `${model} ${since}`));
      expect(names.size, provider).to.equal(rows.length);
    }
  });

  it('hold from their day on, and for requests of before as before', () => {
    const cachedAt = (day: string) =>
      priceOf('anthropic', 'claude-sonnet-5-5', Date.parse(`${day}Z`))?.cached;
    expect(cachedAt('2026-10-06T23:59:59')).to.equal(200_000);
    expect(cachedAt('2026-10-07T00:00:00')).to.equal(100_000);
    const own = createPricing({
      prices: { x: { y: [{ input: 1, output: 1, since: '2030-01-01' }] } },
    });
    expect(own.priceOf('x', 'y', Date.parse('2029-12-31'))).to.equal(null);
    expect(own.priceOf('x', 'y', Date.parse('2030-01-01'))?.input).to.equal(1_000_000);
    const twice = { input: 1, output: 1, since: '2030-01-01' };
    expect(() => createPricing({ prices: { x: { y: [twice, twice] } } })).to.throw('same day');
    expect(() =>
      createPricing({ prices: { x: { y: { input: 1, output: 1, since: '2030-02-30' } } } }),
    ).to.throw('2030-02-30 is no day');
  });

  it('are known for at least 300 models, of providers that can be called', () => {
    const count = Object.values(builtInPrices).reduce((sum, rows) => sum + rows.length, 0);
    expect(count).to.be.at.least(300);
    for (const provider of Object.keys(priceLists)) expect([...providers.keys()]).to.include(provider);
  });

  it('are missing only for providers without prices in dollars for tokens, and some not listed yet', () => {
    const withoutPrices = {
      'another currency': ['lingyi', 'moonshot', 'ovhcloud', 'scaleway', 'siliconflow', 'stepfun', 'zhipu'],
      'a provider chosen for each call': ['huggingface', 'poe'],
      'fees beside tokens': ['perplexity-ai'],
      'a subscription, or free': ['featherless-ai', 'github', 'nvidia'],
      'servers of one’s own, or an address of each customer': [
        ...['lm-studio', 'ollama', 'openai-compatible', 'vllm', 'sagemaker'],
      ],
      'not listed yet': [
        ...['cometapi', 'hyperbolic', 'jina', 'kluster-ai', 'lambda', 'lemonfox-ai', 'monsterapi'],
        ...['nomic', 'oracle'],
      ],
    };
    const unpriced = [...providers.keys()].filter((name) => !Object.hasOwn(priceLists, name));
    expect(unpriced.sort()).to.deep.equal(Object.values(withoutPrices).flat().sort());
  });

  it('each have a page to check them by, the place where they were read, and the day', () => {
    for (const [provider, { page, leftOff, sheets }] of Object.entries(priceLists)) {
      expect(new URL(page).protocol, provider).to.equal('https:');
      expect(leftOff?.global ?? true, provider).to.equal(true);
      expect(sheets).to.not.have.length(0);
      for (const { from, on, rows } of sheets) {
        expect(new URL(from).protocol, provider).to.equal('https:');
        expect(on).to.match(/^20\d\d-[01]\d-[0-3]\d$/);
        expect(new Date(on).toISOString().slice(0, 10)).to.equal(on);
        expect(rows).to.not.have.length(0);
      }
    }
  });

  it('are above zero: what is free or not known has no row', () => {
    for (const [provider, rows] of Object.entries(builtInPrices)) {
      for (const row of rows) {
        for (const price of row.above === undefined ? [row] : [row, row.above]) {
          const at = `${provider} ${row.model}`;
          expect(price.input, at).to.be.above(0);
          // Embeddings have no output to pay for.
          expect(price.output, at).to.be.at.least(0);
          if (price.output === 0) expect(row.model, at).to.match(/embed|voyage|bge|e5|gte|mini-?lm|mpnet/i);
          for (const part of [price.cached, price.cacheWrite])
            if (part !== undefined) expect(part, at).above(0);
        }
        if (row.above !== undefined) expect(row.above.tokens).to.be.at.least(32_000);
      }
    }
  });

  it('of other providers hold for their own names alone, not for names that begin or end alike', () => {
    expect(priceOf('groq', 'llama-3.1-8b-instant')).to.include({ input: 50_000, output: 80_000 });
    expect(priceOf('mistral-ai', 'mistral-large-latest')?.output).to.equal(1_500_000);
    expect(priceOf('google', 'gemini-2.5-pro')?.above?.price.input).to.equal(2_500_000);
    for (const [provider, model] of [
      ['groq', 'llama-3.1-8b-instant-2026-01-01'],
      ['mistral-ai', 'mistral-large'],
      ['google', 'gemini-2.5-pro-latest'],
      ['dashscope', 'qwen-max-2024-09-19'],
      ['openrouter', 'anthropic/claude-sonnet-4.5:free'],
      ['x-ai', 'grok'],
    ] as const)
      expect(priceOf(provider, model), `${provider} ${model}`).to.equal(null);
  });

  it('take a name as another only where the provider documents that they cost the same', () => {
    expect(priceOf('azure-openai', 'gpt-4o-2024-08-06')).to.equal(priceOf('azure-openai', 'gpt-4o'));
    expect(priceOf('azure-openai', 'gpt-4o-2024-05-13')).to.equal(null);
    for (const model of [
      'anthropic.claude-opus-4-5',
      'anthropic/claude-opus-4-5@20251101',
      'claude-opus-4-5@default',
      'claude-opus-4-5-20251101',
    ])
      expect(priceOf('vertex-ai', model)?.output, model).to.equal(25_000_000);
    expect(priceOf('vertex-ai', 'google.gemini-2.5-pro')).to.equal(priceOf('vertex-ai', 'gemini-2.5-pro'));
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
      1e12,
    );
    expect(own.cost('openai', 'gpt-4o-mini', usage({ output: 1_000_000 }))).to.equal(0.6e12);
    expect(own.cost('local', 'llama', usage({ input: 1_000_000 }))).to.equal(1_000_000);
    expect(() => createPricing({ prices: { x: { y: { input: -1, output: 0 } } } })).to.throw(
      /-1 is no price/,
    );
  });
});

describe('costs', () => {
  it('of known calls', () => {
    expect(pricing.cost('openai', 'gpt-4o-mini', usage({ input: 120, output: 240 }))).to.equal(162_000_000);
    expect(pricing.cost('openai', 'gpt-4o', usage({ input: 2000, cached: 1024, output: 10 }))).to.equal(
      3_820_000_000,
    );
    expect(
      pricing.cost(
        'anthropic',
        'claude-opus-4-5',
        usage({ input: 10_000, cached: 8000, cacheWrite: 1000, output: 500 }),
      ),
    ).to.equal(27_750_000_000);
    expect(pricing.cost('openai', 'no-such-model', usage({ input: 1 }))).to.equal(null);
  });

  it('of a long request are the long price for all of it', () => {
    const cost = (input: number) => pricing.cost('openai', 'gpt-5.5', usage({ input, output: 1000 }));
    expect(cost(272_000)).to.equal((272_000 * 5 + 30_000) * 1e6);
    expect(cost(272_001)).to.equal((272_001 * 10 + 45_000) * 1e6);
  });

  it('are never rounded: a single token of the cheapest model has its cost', () => {
    const price = toPrice({ input: 0.002, output: 0.083333, cached: 0.000001, cacheWrite: 0 });
    expect(costOf(usage({ input: 1 }), price)).to.equal(2000);
    expect(costOf(usage({ output: 3 }), price)).to.equal(249_999);
    expect(costOf(usage({ input: 1, cached: 1 }), price)).to.equal(1);
  });

  it('of all models are whole picodollars, and far below what a number and a column hold', () => {
    let cheapest = Number.POSITIVE_INFINITY;
    let highest = 0;
    for (const [provider, rows] of Object.entries(builtInPrices)) {
      for (const { model } of rows) {
        const price = priceOf(provider, model);
        for (const value of [price?.input, price?.output, price?.cached, price?.cacheWrite]) {
          if (value !== undefined && value > 0) cheapest = Math.min(cheapest, value);
          highest = Math.max(highest, value ?? 0);
        }
      }
    }
    expect(cheapest).to.be.at.least(1000);
    // Ten million tokens of the most expensive model.
    expect(highest * 10_000_000).to.be.below(maxPicos);
  });

  it('are exact up to the largest amount, and so are their sums', () => {
    const tokens = fc.integer({ min: 0, max: 2 ** 24 });
    const rate = fc.integer({ min: 0, max: 600_000_000 });
    const call = fc.record({
      input: tokens,
      output: tokens,
      cachedShare: fc.integer({ min: 0, max: 100 }),
      writeShare: fc.integer({ min: 0, max: 100 }),
    });
    const dollars = rate.map((picos) => picos / 1e6);
    const price = fc
      .record({ input: dollars, output: dollars, cached: dollars, cacheWrite: dollars })
      .map((given) => toPrice(given));
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: 20 }), price, (calls, p) => {
        for (const { input, output, cachedShare, writeShare } of calls) {
          const cached = Math.floor((input * cachedShare) / 200);
          const cacheWrite = Math.floor((input * writeShare) / 200);
          const picos =
            BigInt(input - cached - cacheWrite) * BigInt(p.input) +
            BigInt(cached) * BigInt(p.cached) +
            BigInt(cacheWrite) * BigInt(p.cacheWrite) +
            BigInt(output) * BigInt(p.output);
          const exact = picos > BigInt(maxPicos) ? BigInt(maxPicos) : picos;
          expect(BigInt(costOf(usage({ input, output, cached, cacheWrite }), p))).to.equal(exact);
        }
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
    expect(pricing.reserve('openai', 'gpt-4o-mini', 3000, 1000)).to.equal((150 + 600) * 1e6);
    expect(pricing.reserve('openai', 'gpt-4o-mini', 3000, null)).to.be.greaterThan(2000e6);
    expect(pricing.reserve('openai', 'no-such-model', 3000, 1000)).to.equal(null);
  });
});
