import type { PriceList } from './price-list.js';

export const morph: PriceList = {
  page: 'https://docs.morphllm.com/api-reference/introduction',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/morph',
      on: '2026-07-02',
      rows: [
        ['auto', 0.85, 1.55],
        ['morph-v3-fast', 0.8, 1.2],
        ['morph-v3-large', 0.9, 1.9],
      ],
    },
  ],
};
