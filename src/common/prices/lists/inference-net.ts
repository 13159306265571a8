import type { PriceList } from './price-list.js';

export const inferenceNet: PriceList = {
  page: 'https://inference.net/models',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/inference',
      on: '2026-07-02',
      rows: [
        ['google/gemma-3', 0.15, 0.3],
        ['meta/llama-3.1-8b-instruct', 0.025, 0.025],
        ['meta/llama-3.2-11b-vision-instruct', 0.055, 0.055],
        ['meta/llama-3.2-1b-instruct', 0.01, 0.01],
        ['meta/llama-3.2-3b-instruct', 0.02, 0.02],
        ['mistral/mistral-nemo-12b-instruct', 0.038, 0.1],
        ['osmosis/osmosis-structure-0.6b', 0.1, 0.5],
        ['qwen/qwen-2.5-7b-vision-instruct', 0.2, 0.2],
        ['qwen/qwen3-embedding-4b', 0.01, 0],
      ],
    },
  ],
};
