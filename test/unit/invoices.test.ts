import { expect } from 'chai';
import fc from 'fast-check';
import { noUsage, type Usage, type UsageKinds } from '../../src/common/core/usage.js';
import { costLines, costOf, rateNames, toPrice } from '../../src/common/prices/price.js';
import { priceOf } from '../../src/common/prices/pricing.js';

type Invoice = readonly [provider: string, model: string, usage: Partial<Usage>, microDollars: string];

/**
 * Added up by hand from the prices that providers publish: tokens × dollars for a million of them, in micro-dollars.
 */
const invoices: readonly Invoice[] = [
  // 1000×2.5 + 500×10
  ['openai', 'gpt-4o', { input: 1000, output: 500 }, '7500'],
  // 1000×5 + 500×15
  ['openai', 'gpt-4o-2024-05-13', { input: 1000, output: 500 }, '12500'],
  // 2105×0.15 + 10240×0.075 + 678×0.6
  ['openai', 'gpt-4o-mini-2024-07-18', { input: 12_345, output: 678, cached: 10_240 }, '1490.55'],
  // 400×4.25 + 600×2.125 + 500×17
  ['openai', 'gpt-4o', { input: 1000, output: 500, cached: 600, kinds: { tier: 'priority' } }, '11475'],
  // 50000×2 + 50000×0.5 + 2000×8
  ['openai', 'gpt-4.1', { input: 100_000, output: 2000, cached: 50_000 }, '141000'],
  // 7×0.1 + 3×0.4
  ['openai', 'gpt-4.1-nano', { input: 7, output: 3 }, '1.9'],
  // 3000×1.25 + 500×10 + 3500×10
  ['openai', 'gpt-5', { input: 3000, output: 4000, reasoning: 3500 }, '43750'],
  // 1976×0.625 + 1024×0.0625 + 4000×5
  ['openai', 'gpt-5', { input: 3000, output: 4000, cached: 1024, kinds: { tier: 'flex' } }, '21299'],
  // 3000×0.125 + 4000×1
  ['openai', 'gpt-5-mini', { input: 3000, output: 4000, kinds: { tier: 'batch' } }, '4375'],
  // 1×0.005 + 1×0.4
  ['openai', 'gpt-5-nano', { input: 1, output: 1, cached: 1 }, '0.405'],
  // 200×15 + 9000×120
  ['openai', 'gpt-5-pro', { input: 200, output: 9000, reasoning: 8000 }, '1083000'],
  // 5000×5 + 10000×0.5 + 5000×6.25 + 100×30
  ['openai', 'gpt-5.6', { input: 20_000, output: 100, cached: 10_000, cacheWrite: 5000 }, '64250'],
  // 150000×10 + 100000×1 + 50000×12.5 + 1000×45
  ['openai', 'gpt-5.6', { input: 300_000, output: 1000, cached: 100_000, cacheWrite: 50_000 }, '2270000'],
  // 272000×5 + 10×30
  ['openai', 'gpt-5.5', { input: 272_000, output: 10 }, '1360300'],
  // 272001×10 + 10×45
  ['openai', 'gpt-5.5', { input: 272_001, output: 10 }, '2720460'],
  // 5000×3.5 + 20000×14
  ['openai', 'o3', { input: 5000, output: 20_000, reasoning: 19_000, kinds: { tier: 'priority' } }, '297500'],
  // 904×0.55 + 4096×0.1375 + 20000×2.2
  ['openai', 'o4-mini', { input: 5000, output: 20_000, cached: 4096, kinds: { tier: 'batch' } }, '45060.4'],
  // 300×2.5 + 1200×32 + 200×10 + 700×64
  [
    'openai',
    'gpt-audio',
    { input: 1500, output: 900, kinds: { audioInput: 1200, audioOutput: 700 } },
    '85950',
  ],
  // 300×0.6 + 1200×10 + 200×2.4 + 700×20
  [
    'openai',
    'gpt-audio-mini',
    { input: 1500, output: 900, kinds: { audioInput: 1200, audioOutput: 700 } },
    '26660',
  ],
  // 300×4 + 500×0.4 + 1500×32 + 2500×0.4 + 200×5 + 200×16 + 800×64
  [
    'openai',
    'gpt-realtime',
    {
      input: 5000,
      output: 1000,
      cached: 3000,
      kinds: { audioInput: 4000, audioCached: 2500, audioOutput: 800, imageInput: 200 },
    },
    '105800',
  ],
  // 100×2.5 + 10×10 + 40×80
  ['openai', 'gpt-4o-audio-preview', { input: 100, output: 50, kinds: { audioOutput: 40 } }, '3550'],
  // 277×5 + 323×10 + 4160×40
  [
    'openai',
    'gpt-image-1',
    { input: 600, output: 4160, kinds: { imageInput: 323, imageOutput: 4160 } },
    '171015',
  ],
  // 60×2 + 1056×8
  ['openai', 'gpt-image-1-mini', { input: 60, output: 1056, kinds: { imageOutput: 1056 } }, '8568'],
  // 8191×0.02
  ['openai', 'text-embedding-3-small', { input: 8191 }, '163.82'],
  // 8191×0.13
  ['openai', 'text-embedding-3-large', { input: 8191 }, '1064.83'],
  // 4000×5 + 20000×0.5 + 6000×6.25 + 800×25
  [
    'anthropic',
    'claude-opus-4-5-20251101',
    { input: 30_000, output: 800, cached: 20_000, cacheWrite: 6000 },
    '87500',
  ],
  // 4000×5 + 20000×0.5 + 4000×6.25 + 2000×10 + 800×25
  [
    'anthropic',
    'claude-opus-4-5',
    { input: 30_000, output: 800, cached: 20_000, cacheWrite: 6000, kinds: { cacheWriteHour: 2000 } },
    '95000',
  ],
  // 199000×3 + 1000×6 + 1×15
  [
    'anthropic',
    'claude-sonnet-4-5',
    { input: 200_000, output: 1, cacheWrite: 1000, kinds: { cacheWriteHour: 1000 } },
    '603015',
  ],
  // 199001×6 + 1000×12 + 1×22.5
  [
    'anthropic',
    'claude-sonnet-4-5',
    { input: 200_001, output: 1, cacheWrite: 1000, kinds: { cacheWriteHour: 1000 } },
    '1206028.5',
  ],
  // 10×0.5 + 10×2.5
  ['anthropic', 'claude-haiku-4-5', { input: 10, output: 10, kinds: { tier: 'batch' } }, '30'],
  // 400×1.5 + 500×0.15 + 100×3 + 300×7.5
  [
    'anthropic',
    'claude-sonnet-4-6',
    { input: 1000, output: 300, cached: 500, cacheWrite: 100, kinds: { cacheWriteHour: 100, tier: 'batch' } },
    '3225',
  ],
  // 999×0.25 + 77×1.25
  ['anthropic', 'claude-3-haiku-20240307', { input: 999, output: 77 }, '346'],
  // 50×15 + 5×75
  ['anthropic', 'claude-opus-4-1', { input: 50, output: 5, reasoning: 3 }, '1125'],
  // 50001×0.5 + 50000×0.05 + 10×2.5
  ['anthropic', 'claude-haiku-5-5', { input: 100_001, output: 10, cached: 50_000 }, '27525.5'],
  // 200000×1.25 + 5000×10
  ['google', 'gemini-2.5-pro', { input: 200_000, output: 5000, reasoning: 4000 }, '300000'],
  // 100001×2.5 + 100000×0.25 + 5000×15
  ['google', 'gemini-2.5-pro', { input: 200_001, output: 5000, cached: 100_000 }, '350002.5'],
  // 500×0.3 + 2500×1 + 200×2.5
  ['google', 'gemini-2.5-flash', { input: 3000, output: 200, kinds: { audioInput: 2500 } }, '3150'],
  // 500×0.1 + 2500×0.3 + 200×0.4
  ['google', 'gemini-2.5-flash-lite', { input: 3000, output: 200, kinds: { audioInput: 2500 } }, '880'],
  // 2048×0.15
  ['google', 'gemini-embedding-001', { input: 2048 }, '307.2'],
  // 1×0.05 + 1×0.08
  ['groq', 'llama-3.1-8b-instant', { input: 1, output: 1 }, '0.13'],
  // 1000×0.06
  ['voyage', 'voyage-3.5', { input: 1000 }, '60'],
];

/** A decimal number of micro-dollars in picodollars. */
function picos(microDollars: string): bigint {
  const [whole = '0', part = ''] = microDollars.split('.');
  return BigInt(whole) * 1_000_000n + BigInt(part.padEnd(6, '0'));
}

describe('what a call costs', () => {
  for (const [provider, model, change, microDollars] of invoices) {
    const usage: Usage = { ...noUsage(), source: 'provider', ...change };
    it(`is ${microDollars} micro-dollars for ${model} with ${JSON.stringify(change)}`, () => {
      const price = priceOf(provider, model);
      if (price === null) throw new Error(`${model} has no price`);
      expect(BigInt(costOf(usage, price))).to.equal(picos(microDollars));
      const lines = costLines(usage, price);
      expect(lines.reduce((sum, { cost }) => sum + BigInt(cost), 0n)).to.equal(picos(microDollars));
      for (const { quantity, picos: rate, cost } of lines) expect(cost).to.equal(quantity * rate);
    });
  }

  it('is known for 30 models by hand, with every kind of token', () => {
    const models = new Set(invoices.map(([provider, model]) => `${provider}/${model}`));
    expect(models.size).to.be.at.least(30);
    const billed = new Set(
      invoices.flatMap(([provider, model, change]) =>
        costLines({ ...noUsage(), ...change }, priceOf(provider, model)!).map(({ rate }) => rate),
      ),
    );
    const byToken = rateNames.filter(
      (name) => !['character', 'second', 'request', 'imageCached'].includes(name),
    );
    expect([...billed]).to.have.members(byToken);
  });

  it('counts seconds, characters and requests by their own rates', () => {
    const price = toPrice({ input: 1, output: 2, second: 0.0001, character: 15, request: 0.005 });
    const kinds: UsageKinds = { seconds: 61, characters: 1200 };
    const usage: Usage = { ...noUsage(), input: 10, output: 5, kinds };
    // 10×1 + 5×2 + 61×100 + 1200×15 + 5000 micro-dollars.
    expect(BigInt(costOf(usage, price))).to.equal(picos('29120'));
    expect(costLines(usage, price).map(({ rate, quantity }) => [rate, quantity])).to.deep.equal([
      ['input', 10],
      ['output', 5],
      ['character', 1200],
      ['second', 61],
      ['request', 1],
    ]);
  });

  it('is exact, and never counts a token twice, whatever a provider reports', () => {
    const tokens = fc.integer({ min: 0, max: 1_000_000 });
    const kind = fc.option(tokens, { nil: undefined });
    const price = toPrice({
      input: 1,
      output: 10,
      cached: 0.1,
      cacheWrite: 1.25,
      cacheWriteHour: 2,
      reasoning: 7,
      audioInput: 32,
      audioCached: 0.4,
      audioOutput: 64,
      imageInput: 5,
      imageCached: 0.5,
      imageOutput: 40,
    });
    fc.assert(
      fc.property(
        fc.record({
          input: tokens,
          output: tokens,
          reasoning: tokens,
          share: fc.integer({ min: 0, max: 100 }),
        }),
        fc.record({
          cacheWriteHour: kind,
          audioInput: kind,
          audioCached: kind,
          audioOutput: kind,
          imageInput: kind,
          imageCached: kind,
          imageOutput: kind,
        }),
        ({ input, output, reasoning, share }, kinds) => {
          const cached = Math.floor((input * share) / 200);
          const usage: Usage = {
            ...noUsage(),
            input,
            output,
            reasoning,
            cached,
            cacheWrite: Math.floor(cached / 2),
            kinds: kinds as UsageKinds,
          };
          const lines = costLines(usage, price);
          expect(lines.reduce((sum, { quantity }) => sum + quantity, 0)).to.equal(input + output);
          const exact = lines.reduce((sum, line) => sum + BigInt(line.quantity) * BigInt(line.picos), 0n);
          expect(BigInt(costOf(usage, price))).to.equal(exact);
        },
      ),
    );
  });

  it('refuses a price that is finer than a picodollar a token', () => {
    expect(() => toPrice({ input: 0.1234567, output: 1 })).to.throw('is no price');
    expect(() => toPrice({ input: 0.000001, output: 1, tiers: { batch: 0.5 } })).to.throw('is no price');
  });
});
