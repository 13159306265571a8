import type { PriceList } from './price-list.js';

export const ai21: PriceList = {
  page: 'https://www.ai21.com/pricing',
  sheets: [
    {
      from: 'https://github.com/juspay/neurolink/blob/f5e9fdf7b95572f14ae30553e82e3083234a10f1/docs/getting-started/providers/ai21.md',
      on: '2026-09-29',
      rows: [
        ['jamba-large', 2, 8],
        ['jamba-mini', 0.2, 0.4],
      ],
    },
  ],
};
