import type { PriceList } from './price-list.js';

export const iointelligence: PriceList = {
  page: 'https://io.net/docs/guides/intelligence/io-intelligence',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/io-net',
      on: '2026-07-02',
      rows: [
        ['Intel/Qwen3-Coder-480B-A35B-Instruct-int4-mixed-ar', 0.22, 0.95, 0.11, 0.44],
        ['Qwen/Qwen2.5-VL-32B-Instruct', 0.05, 0.22, 0.025, 0.1],
        ['Qwen/Qwen3-235B-A22B-Thinking-2507', 0.11, 0.6, 0.055, 0.22],
        ['Qwen/Qwen3-Next-80B-A3B-Instruct', 0.1, 0.8, 0.05, 0.2],
        ['deepseek-ai/DeepSeek-R1-0528', 2, 8.75, 1, 4],
        ['meta-llama/Llama-3.2-90B-Vision-Instruct', 0.35, 0.4, 0.175, 0.7],
        ['meta-llama/Llama-3.3-70B-Instruct', 0.13, 0.38, 0.065, 0.26],
        ['meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8', 0.15, 0.6, 0.075, 0.3],
        ['mistralai/Devstral-Small-2505', 0.05, 0.22, 0.025, 0.1],
        ['mistralai/Magistral-Small-2506', 0.5, 1.5, 0.25, 1],
        ['mistralai/Mistral-Large-Instruct-2411', 2, 6, 1, 4],
        ['mistralai/Mistral-Nemo-Instruct-2407', 0.02, 0.04, 0.01, 0.04],
        ['moonshotai/Kimi-K2-Instruct-0905', 0.39, 1.9, 0.195, 0.78],
        ['moonshotai/Kimi-K2-Thinking', 0.55, 2.25, 0.275, 1.1],
        ['openai/gpt-oss-120b', 0.04, 0.4, 0.02, 0.08],
        ['openai/gpt-oss-20b', 0.03, 0.14, 0.015, 0.06],
        ['zai-org/GLM-4.6', 0.4, 1.75, 0.2, 0.8],
      ],
    },
  ],
};
