import type { PriceList } from './price-list.js';

/** `cacheWrite` is the five-minute cache. */
export const anthropic: PriceList = {
  page: 'https://platform.claude.com/docs/en/about-claude/pricing',
  // Dated snapshots cost what the model does.
  leftOff: /[-@](?:20\d{6}|latest)$/g,
  tiers: { batch: 0.5 },
  cacheWriteHour: 2,
  sheets: [
    {
      from: 'https://platform.claude.com/docs/en/about-claude/pricing',
      on: '2026-11-21',
      rows: [
        ['claude-fable-5-1', 10, 50, 0.25, 12.5],
        ['claude-mythos-5-1', 10, 50, 0.25, 12.5],
        ['claude-fable-5', 10, 50, 1, 12.5],
        ['claude-mythos-5', 10, 50, 1, 12.5],
        ['claude-opus-5-5', 4, 20, 0.2, 5],
        ['claude-opus-5', 5, 25, 0.5, 6.25],
        ['claude-opus-4-8', 5, 25, 0.5, 6.25],
        ['claude-opus-4-7', 5, 25, 0.5, 6.25],
        ['claude-opus-4-6', 5, 25, 0.5, 6.25],
        ['claude-opus-4-5', 5, 25, 0.5, 6.25],
        ['claude-opus-4-1', 15, 75, 1.5, 18.75],
        ['claude-opus-4', 15, 75, 1.5, 18.75],
        ['claude-sonnet-5', 2, 10, 0.2, 2.5],
        ['claude-sonnet-4-6', 3, 15, 0.3, 3.75],
        ['claude-3-7-sonnet', 3, 15, 0.3, 3.75],
        ['claude-3-5-sonnet', 3, 15, 0.3, 3.75],
        ['claude-haiku-4-5', 1, 5, 0.1, 1.25],
        ['claude-3-5-haiku', 0.8, 4, 0.08, 1],
        ['claude-3-opus', 15, 75, 1.5, 18.75],
        ['claude-3-haiku', 0.25, 1.25, 0.03, 0.3],
      ],
    },
    {
      // From a public list: cache reads were halved on that day.
      from: 'https://platform.claude.com/docs/en/about-claude/pricing',
      on: '2026-10-24',
      since: '2026-10-07',
      rows: [['claude-sonnet-5-5', 2, 10, 0.1, 2.5]],
    },
    {
      from: 'https://platform.claude.com/docs/en/about-claude/pricing',
      on: '2026-10-24',
      rows: [
        ['claude-sonnet-5-5', 2, 10, 0.2, 2.5],
        [
          'claude-haiku-5-5',
          0.1,
          0.5,
          0.01,
          0.125,
          { tokens: 100_000, input: 0.5, output: 2.5, cached: 0.05, cacheWrite: 0.625 },
        ],
      ],
    },
    {
      from: 'https://github.com/Wei-Shaw/model-price-repo/blob/f9ff14734f6203c490573cb1e2ae8fdac7a52a41/model_prices_and_context_window.json',
      on: '2026-07-24',
      rows: [
        [
          'claude-sonnet-4-5',
          3,
          15,
          0.3,
          3.75,
          { tokens: 200_000, input: 6, output: 22.5, cached: 0.6, cacheWrite: 7.5 },
        ],
        [
          'claude-sonnet-4',
          3,
          15,
          0.3,
          3.75,
          { tokens: 200_000, input: 6, output: 22.5, cached: 0.6, cacheWrite: 7.5 },
        ],
      ],
    },
  ],
};
