import type { PriceList } from './price-list.js';

export const friendli: PriceList = {
  page: 'https://friendli.ai/docs/guides/serverless_endpoints/introduction',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/friendli',
      on: '2026-07-02',
      rows: [
        ['MiniMaxAI/MiniMax-M2.5', 0.3, 1.2, 0.06],
        ['Qwen/Qwen3-235B-A22B-Instruct-2507', 0.2, 0.8],
        ['deepseek-ai/DeepSeek-V3.2', 0.5, 1.5, 0.25],
        ['google/gemma-4-31B-it', 0.14, 0.4],
        ['zai-org/GLM-5', 1, 3.2, 0.5],
        ['zai-org/GLM-5.1', 1.4, 4.4, 0.26],
        ['zai-org/GLM-5.2', 1.4, 4.4, 0.26],
      ],
    },
  ],
};
