import type { PriceList } from './price-list.js';

export const google: PriceList = {
  page: 'https://ai.google.dev/gemini-api/docs/pricing',
  sheets: [
    {
      // Introductory prices, to the end of 2026.
      from: 'https://github.com/anchpop/tysm/pull/60',
      on: '2026-09-14',
      rows: [
        ['gemini-3.7-flash', 0.75, 3.75, 0.075],
        ['gemini-3.8-flash', 0.75, 3.75, 0.075],
      ],
    },
    {
      // Introductory as well.
      from: 'https://github.com/Instawork/llm-proxy/pull/59',
      on: '2026-09-03',
      rows: [['gemini-3.6-flash', 0.75, 3.75]],
    },
    {
      from: 'https://github.com/pydantic/genai-prices/blob/47df840a5ab10bbcffb8e5ac01b9899032245d1b/prices/providers/google.yml',
      on: '2026-08-21',
      rows: [['gemini-3.5-flash-lite', 0.3, 2.5, 0.03]],
    },
    {
      from: 'https://github.com/Wei-Shaw/model-price-repo/blob/f9ff14734f6203c490573cb1e2ae8fdac7a52a41/model_prices_and_context_window.json',
      on: '2026-07-24',
      rows: [
        ['gemini-2.5-flash', 0.3, 2.5, 0.03, null, null, { audioInput: 1 }],
        ['gemini-2.5-flash-lite', 0.1, 0.4, 0.01, null, null, { audioInput: 0.3 }],
      ],
    },
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/google',
      on: '2026-07-02',
      rows: [
        ['gemini-2.0-flash', 0.1, 0.4, 0.025],
        ['gemini-2.0-flash-lite', 0.075, 0.3],
        ['gemini-2.5-pro', 1.25, 10, 0.125, null, { tokens: 200_000, input: 2.5, output: 15, cached: 0.25 }],
        ['gemini-3-flash-preview', 0.5, 3, 0.05],
        ['gemini-3-pro-preview', 2, 12, 0.2, null, { tokens: 200_000, input: 4, output: 18, cached: 0.4 }],
        ['gemini-3.1-flash-lite', 0.25, 1.5, 0.025],
        ['gemini-3.1-flash-lite-preview', 0.25, 1.5, 0.025],
        ['gemini-3.1-pro-preview', 2, 12, 0.2, null, { tokens: 200_000, input: 4, output: 18, cached: 0.4 }],
        [
          'gemini-3.1-pro-preview-customtools',
          2,
          12,
          0.2,
          null,
          { tokens: 200_000, input: 4, output: 18, cached: 0.4 },
        ],
        ['gemini-3.5-flash', 1.5, 9, 0.15],
        ['gemini-embedding-001', 0.15, 0],
        ['gemini-flash-latest', 0.3, 2.5, 0.075],
        ['gemini-flash-lite-latest', 0.1, 0.4, 0.025],
      ],
    },
  ],
};
