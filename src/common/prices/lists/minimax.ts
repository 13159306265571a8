import type { PriceList } from './price-list.js';

export const minimax: PriceList = {
  page: 'https://platform.minimax.io/docs/guides/pricing-paygo',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/minimax',
      on: '2026-07-02',
      rows: [
        ['MiniMax-M2', 0.3, 1.2],
        ['MiniMax-M2.1', 0.3, 1.2, 0.03, 0.375],
        ['MiniMax-M2.5', 0.3, 1.2, 0.03, 0.375],
        ['MiniMax-M2.5-highspeed', 0.6, 2.4, 0.06, 0.375],
        ['MiniMax-M2.7', 0.3, 1.2, 0.06, 0.375],
        ['MiniMax-M2.7-highspeed', 0.6, 2.4, 0.06, 0.375],
        ['MiniMax-M3', 0.3, 1.2, 0.06, null, { tokens: 512_000, input: 0.6, output: 2.4, cached: 0.12 }],
      ],
    },
  ],
};
