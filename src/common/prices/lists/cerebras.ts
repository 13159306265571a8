import type { PriceList } from './price-list.js';

export const cerebras: PriceList = {
  page: 'https://www.cerebras.ai/pricing',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/cerebras',
      on: '2026-07-02',
      rows: [
        ['gpt-oss-120b', 0.35, 0.75],
        ['zai-glm-4.7', 2.25, 2.75],
      ],
    },
  ],
};
