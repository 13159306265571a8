import { expect } from 'chai';
import { noUsage, type Usage } from '../../src/common/core/usage.js';
import type { LedgerRow } from '../../src/common/ledger/record.js';
import { explainCost } from '../../src/common/prices/explain-cost.js';
import { createPricing } from '../../src/common/prices/pricing.js';
import { decimalDollars } from '../../src/common/vocabulary/money.js';
import { settlementOf } from '../fault/journal-records.js';

const pricing = createPricing({
  prices: {
    openai: {
      m: [
        { input: 1, output: 10, since: '2026-01-01', tiers: { batch: 0.5 } },
        { input: 2, output: 20, since: '2026-06-01', above: { tokens: 1000, input: 4, output: 40 } },
      ],
    },
  },
});
const at = (day: string): number => Date.parse(`${day}T12:00:00Z`);

function rowOf(
  change: Partial<LedgerRow>,
  usages: readonly (Usage | null)[],
  costs: readonly (number | null)[],
): LedgerRow {
  const settled = settlementOf('one');
  const attempts = usages.map((usage, i) => ({
    ...settled.attempts[0]!,
    target: `config.targets[${i}]`,
    provider: 'openai',
    model: 'm',
    usage,
    cost: costs[i] ?? null,
  }));
  const known = costs.filter((cost) => cost !== null);
  return {
    ...settled,
    state: 'settled',
    node: null,
    at: at('2026-07-01'),
    provider: 'openai',
    modelUsed: 'm',
    target: `config.targets[${usages.length - 1}]`,
    cache: 'DISABLED',
    attempts,
    usage: usages.at(-1) ?? noUsage(),
    cost: known.length === 0 ? null : known.reduce((sum, cost) => sum + cost, 0),
    ...change,
  };
}
const used = (change: Partial<Usage>): Usage => ({ ...noUsage(), source: 'provider', ...change });

describe('the explanation of a cost', () => {
  it('adds up what each attempt used, by the price of the day of the request', () => {
    const usages = [used({ input: 100 }), used({ input: 10, output: 5 })];
    const row = rowOf({}, usages, [200e6, 120e6]);
    const explained = explainCost(row, pricing);
    expect(explained).to.include({ cost: 320e6, matches: true, note: null });
    expect(explained.attempts.map(({ cost }) => cost)).to.deep.equal([200e6, 120e6]);
    expect(explained.attempts[1]?.quote).to.include({ since: '2026-06-01', source: null });
    const before = rowOf({ at: at('2026-05-31') }, usages, [100e6, 60e6]);
    expect(explainCost(before, pricing)).to.include({ cost: 160e6, matches: true });
  });

  it('has the tier and the length of the input', () => {
    const long = explainCost(rowOf({}, [used({ input: 1001 })], [4004e6]), pricing);
    expect([long.matches, long.attempts[0]?.longInput]).to.deep.equal([true, true]);
    const batch = used({ input: 10, kinds: { tier: 'batch' } });
    const explained = explainCost(rowOf({ at: at('2026-02-01') }, [batch], [5e6]), pricing);
    expect([explained.matches, explained.attempts[0]?.longInput]).to.deep.equal([true, false]);
  });

  it('counts no more for a request than the ledger does', () => {
    const most = 9_007_199_254_740_991;
    const explained = explainCost(rowOf({}, [used({ input: 900, output: 1e12 })], [most]), pricing);
    expect(explained).to.include({ cost: most, matches: true });
    expect(explained.attempts[0]?.lines.map(({ cost }) => decimalDollars(cost))).to.deep.equal([
      '0.0018',
      '9007.199254740991',
    ]);
  });

  it('of a model with a price for each request alone needs no usage', () => {
    const perRequest = (rates: object) =>
      createPricing({ prices: { openai: { m: { input: 0, output: 0, request: 0.002, ...rates } } } });
    const known = explainCost(rowOf({}, [null], [2e9]), perRequest({}));
    expect(known).to.include({ cost: 2e9, matches: true, note: null });
    expect(known.attempts[0]?.lines).to.deep.equal([{ rate: 'request', quantity: 1, picos: 2e9, cost: 2e9 }]);
    const free = explainCost(rowOf({}, [null], [0]), perRequest({ request: 0 }));
    expect(free).to.include({ cost: 0, matches: true });
    for (const rates of [
      { input: 1 },
      { output: 1 },
      { second: 1 },
      { above: { tokens: 9, input: 1, output: 1 } },
    ])
      expect(explainCost(rowOf({}, [null], [null]), perRequest(rates)), JSON.stringify(rates)).to.include({
        cost: null,
        matches: true,
      });
    const failed = rowOf({}, [null], [null]);
    const attempts = [{ ...failed.attempts[0]!, status: 500 }];
    expect(explainCost({ ...failed, attempts }, perRequest({}))).to.include({ cost: null, matches: true });
  });

  it('of a ranking has a request for each search that was billed, and is not known without a price for them', () => {
    const prices = { m: { input: 0, output: 0, request: 0.002 }, tokens: { input: 1, output: 1 } };
    const book = createPricing({ prices: { openai: prices } });
    const searched = [used({ kinds: { searches: 3 } })];
    expect(explainCost(rowOf({}, searched, [6e9]), book)).to.include({ cost: 6e9, matches: true });
    const unknown = explainCost(rowOf({ modelUsed: 'tokens' }, searched, [null]), book);
    expect(unknown).to.include({ cost: null, matches: true });
    expect(unknown.note).to.include('no price for a request');
  });

  it('shows where the ledger has another sum, and why there is none', () => {
    const changed = explainCost(rowOf({}, [used({ input: 100 })], [100e6]), pricing);
    expect(changed.matches).to.equal(false);
    expect(changed.note).to.include('other prices');
    const unnamed = explainCost(rowOf({ modelUsed: 'new' }, [used({ input: 1 })], [null]), pricing);
    expect(unnamed).to.include({ cost: null, matches: true });
    expect(unnamed.note).to.include('No price is known for openai/new');
    const hit = explainCost(rowOf({ cache: 'HIT', cost: 0 }, [], []), pricing);
    expect(hit).to.include({ cost: 0, matches: true });
    expect(hit.note).to.include('cache');
    const lost = explainCost(rowOf({ state: 'unknown', cost: 7 }, [null], [null]), pricing);
    expect(lost.matches).to.equal(false);
    expect(lost.note).to.include('reserved');
  });

  it('has every digit of an amount', () => {
    for (const [picos, text] of [
      [0, '0'],
      [1, '0.000000000001'],
      [162_000_000, '0.000162'],
      [1_000_000_000_000, '1'],
      [9_007_199_254_740_991, '9007.199254740991'],
      [-2_500_000_000_000, '-2.5'],
    ] as const)
      expect(decimalDollars(picos)).to.equal(text);
  });
});
