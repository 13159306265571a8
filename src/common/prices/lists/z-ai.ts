import type { PriceList } from './price-list.js';

export const zAi: PriceList = {
  page: 'https://docs.z.ai/guides/overview/pricing',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/zai',
      on: '2026-07-02',
      rows: [
        ['glm-4.5', 0.6, 2.2, 0.11],
        ['glm-4.5-air', 0.2, 1.1, 0.03],
        ['glm-4.5v', 0.6, 1.8],
        ['glm-4.6', 0.6, 2.2, 0.11],
        ['glm-4.6v', 0.3, 0.9],
        ['glm-4.7', 0.6, 2.2, 0.11],
        ['glm-4.7-flashx', 0.07, 0.4, 0.01],
        ['glm-5', 1, 3.2, 0.2],
        ['glm-5-turbo', 1.2, 4, 0.24],
        ['glm-5.1', 1.4, 4.4, 0.26],
        ['glm-5.2', 1.4, 4.4, 0.26],
        ['glm-5v-turbo', 1.2, 4, 0.24],
      ],
    },
  ],
};
