import type { PriceList } from './price-list.js';

export const vultr: PriceList = {
  page: 'https://api.vultrinference.com/',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/vultr',
      on: '2026-07-02',
      rows: [
        ['MiniMaxAI/MiniMax-M2.7', 0.3, 1.2],
        ['moonshotai/Kimi-K2.6', 0.15, 0.6],
        ['nvidia/DeepSeek-V3.2-NVFP4', 0.55, 1.65],
        ['nvidia/Llama-3.1-Nemotron-Safety-Guard-8B-v3', 0.01, 0.01],
        ['nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-BF16', 0.13, 0.38],
        ['nvidia/Nemotron-Cascade-2-30B-A3B', 0.15, 0.6],
        ['zai-org/GLM-5.1-FP8', 0.85, 3.1],
      ],
    },
  ],
};
