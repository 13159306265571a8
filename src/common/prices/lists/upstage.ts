import type { PriceList } from './price-list.js';

export const upstage: PriceList = {
  page: 'https://developers.upstage.ai/docs/apis/chat',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/upstage',
      on: '2026-07-02',
      rows: [
        ['solar-mini', 0.15, 0.15],
        ['solar-pro2', 0.25, 0.25],
        ['solar-pro3', 0.25, 0.25],
      ],
    },
  ],
};
