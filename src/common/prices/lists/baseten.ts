import type { PriceList } from './price-list.js';

export const baseten: PriceList = {
  page: 'https://docs.baseten.co/inference/model-apis/overview',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/baseten',
      on: '2026-07-02',
      rows: [
        ['MiniMaxAI/MiniMax-M2.5', 0.3, 1.2],
        ['deepseek-ai/DeepSeek-V3.1', 0.5, 1.5],
        ['deepseek-ai/DeepSeek-V4-Pro', 1.74, 3.48, 0.145],
        ['moonshotai/Kimi-K2.5', 0.6, 3, 0.12],
        ['moonshotai/Kimi-K2.6', 0.95, 4, 0.16],
        ['moonshotai/Kimi-K2.7-Code', 0.95, 4, 0.16],
        ['nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B', 0.6, 2.4, 0.12],
        ['nvidia/Nemotron-120B-A12B', 0.3, 0.75, 0.06],
        ['openai/gpt-oss-120b', 0.1, 0.5],
        ['zai-org/GLM-4.7', 0.6, 2.2, 0.12],
        ['zai-org/GLM-5', 0.95, 3.15, 0.2],
        ['zai-org/GLM-5.1', 1.3, 4.3, 0.26],
        ['zai-org/GLM-5.2', 1.4, 4.4, 0.3],
      ],
    },
  ],
};
