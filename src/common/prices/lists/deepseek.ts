import type { PriceList } from './price-list.js';

export const deepseek: PriceList = {
  page: 'https://api-docs.deepseek.com/quick_start/pricing',
  sheets: [
    {
      // Peak prices, twice those of the hours off peak, which are most: an estimate is never too low.
      // deepseek-v4-pro is billed as another model since 2026-09-14, and has no row.
      from: 'https://github.com/kannandreams/agent-top/pull/38',
      on: '2026-09-13',
      rows: [
        ['deepseek-flash', 0.3, 1.2, 0.006],
        ['deepseek-v4-flash', 0.3, 1.2, 0.006],
      ],
    },
  ],
};
