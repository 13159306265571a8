import type { PriceList } from './price-list.js';

export const cohere: PriceList = {
  page: 'https://cohere.com/pricing',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/cohere',
      on: '2026-07-02',
      rows: [
        ['command-a-03-2025', 2.5, 10],
        ['command-a-plus-05-2026', 2.5, 10],
        ['command-a-reasoning-08-2025', 2.5, 10],
        ['command-a-translate-08-2025', 2.5, 10],
        ['command-a-vision-07-2025', 2.5, 10],
        ['command-r-08-2024', 0.15, 0.6],
        ['command-r-plus-08-2024', 2.5, 10],
        ['command-r7b-12-2024', 0.0375, 0.15],
        ['command-r7b-arabic-02-2025', 0.0375, 0.15],
      ],
    },
  ],
};
