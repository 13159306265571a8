import type { PriceList } from './price-list.js';

export const inception: PriceList = {
  page: 'https://platform.inceptionlabs.ai/docs',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/inception',
      on: '2026-07-02',
      rows: [
        ['mercury-2', 0.25, 0.75, 0.025],
        ['mercury-edit-2', 0.25, 0.75, 0.025],
      ],
    },
  ],
};
