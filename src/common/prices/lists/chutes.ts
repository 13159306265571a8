import type { PriceList } from './price-list.js';

export const chutes: PriceList = {
  page: 'https://llm.chutes.ai/v1/models',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/chutes',
      on: '2026-07-02',
      rows: [
        ['MiniMaxAI/MiniMax-M2.5-TEE', 0.15, 1.2, 0.075],
        ['Qwen/Qwen3-235B-A22B-Thinking-2507-TEE', 0.2989, 1.1957, 0.14945],
        ['Qwen/Qwen3-32B-TEE', 0.104, 0.416, 0.052],
        ['Qwen/Qwen3.5-397B-A17B-TEE', 0.45, 3, 0.225],
        ['Qwen/Qwen3.6-27B-TEE', 0.3, 2, 0.15],
        ['deepseek-ai/DeepSeek-V3.2-TEE', 1, 1, 0.5],
        ['google/gemma-4-31B-turbo-TEE', 0.12, 0.37, 0.06],
        ['moonshotai/Kimi-K2.5-TEE', 0.44, 2, 0.22],
        ['moonshotai/Kimi-K2.6-TEE', 0.66, 3.5, 0.33],
        ['unsloth/Mistral-Nemo-Instruct-2407-TEE', 0.0245, 0.0978, 0.01225],
        ['zai-org/GLM-5-TEE', 0.95, 2.55, 0.475],
        ['zai-org/GLM-5.1-TEE', 0.98, 3.08, 0.49],
        ['zai-org/GLM-5.2-TEE', 1.4, 4.4, 0.7],
      ],
    },
  ],
};
