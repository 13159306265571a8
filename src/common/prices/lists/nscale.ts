import type { PriceList } from './price-list.js';

export const nscale: PriceList = {
  page: 'https://www.nscale.com/serverless',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/e7b15ac48ec66ff1bb01bb6161fd37ac94735ef9/providers/nscale',
      on: '2026-07-13',
      rows: [
        ['Qwen/Qwen2.5-Coder-32B-Instruct', 0.06, 0.2],
        ['Qwen/Qwen2.5-Coder-3B-Instruct', 0.01, 0.03],
        ['Qwen/Qwen2.5-Coder-7B-Instruct', 0.01, 0.03],
        ['Qwen/Qwen3-235B-A22B', 0.2, 0.6],
        ['Qwen/Qwen3-235B-A22B-Instruct-2507', 0.2, 0.6],
        ['Qwen/Qwen3-4B-Instruct-2507', 0.01, 0.03],
        ['Qwen/Qwen3-4B-Thinking-2507', 0.01, 0.03],
        ['deepseek-ai/DeepSeek-R1-Distill-Llama-8B', 0.05, 0.05],
        ['deepseek-ai/DeepSeek-R1-Distill-Qwen-14B', 0.2, 0.2],
        ['deepseek-ai/DeepSeek-R1-Distill-Qwen-7B', 0.15, 0.15],
        ['meta-llama/Llama-3.1-8B-Instruct', 0.06, 0.06],
        ['meta-llama/Llama-3.2-11B-Vision-Instruct', 0.06, 0.06],
        ['meta-llama/Llama-4-Scout-17B-16E-Instruct', 0.09, 0.29],
        ['mistralai/Devstral-Small-2505', 0.1, 0.3],
        ['mistralai/Mixtral-8x22B-Instruct-v0.1', 1.2, 1.2],
        ['openai/gpt-oss-120b', 0.1, 0.4],
        ['openai/gpt-oss-20b', 0.05, 0.2],
      ],
    },
  ],
};
