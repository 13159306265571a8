import type { PriceList } from './price-list.js';

export const voyage: PriceList = {
  page: 'https://docs.voyageai.com/docs/pricing',
  sheets: [
    {
      from: 'https://github.com/pydantic/genai-prices/blob/47df840a5ab10bbcffb8e5ac01b9899032245d1b/prices/providers/voyageai.yml',
      on: '2026-08-21',
      rows: [
        ['voyage-01', 0.1, 0],
        ['voyage-02', 0.1, 0],
        ['voyage-2', 0.1, 0],
        ['voyage-3', 0.06, 0],
        ['voyage-3-large', 0.18, 0],
        ['voyage-3-lite', 0.02, 0],
        ['voyage-3.5', 0.06, 0],
        ['voyage-3.5-lite', 0.02, 0],
        ['voyage-4', 0.06, 0],
        ['voyage-4-large', 0.12, 0],
        ['voyage-4-lite', 0.02, 0],
        ['voyage-code-2', 0.12, 0],
        ['voyage-code-3', 0.18, 0],
        ['voyage-context-3', 0.18, 0],
        ['voyage-finance-2', 0.12, 0],
        ['voyage-large-2', 0.12, 0],
        ['voyage-large-2-instruct', 0.12, 0],
        ['voyage-law-2', 0.12, 0],
        ['voyage-lite-01', 0.1, 0],
        ['voyage-lite-01-instruct', 0.1, 0],
        ['voyage-lite-02-instruct', 0.1, 0],
        ['voyage-multilingual-2', 0.12, 0],
      ],
    },
  ],
};
