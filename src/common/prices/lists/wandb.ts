import type { PriceList } from './price-list.js';

export const wandb: PriceList = {
  page: 'https://docs.wandb.ai/guides/integrations/inference/',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/wandb',
      on: '2026-07-02',
      rows: [
        ['MiniMaxAI/MiniMax-M2.5', 0.3, 1.2],
        ['OpenPipe/Qwen3-14B-Instruct', 0.05, 0.22],
        ['Qwen/Qwen3-235B-A22B-Instruct-2507', 0.1, 0.1],
        ['Qwen/Qwen3-235B-A22B-Thinking-2507', 0.1, 0.1],
        ['Qwen/Qwen3-30B-A3B-Instruct-2507', 0.1, 0.3],
        ['Qwen/Qwen3-Coder-480B-A35B-Instruct', 1, 1.5],
        ['deepseek-ai/DeepSeek-V3.1', 0.55, 1.65],
        ['meta-llama/Llama-3.1-70B-Instruct', 0.8, 0.8],
        ['meta-llama/Llama-3.1-8B-Instruct', 0.22, 0.22],
        ['meta-llama/Llama-3.3-70B-Instruct', 0.71, 0.71],
        ['meta-llama/Llama-4-Scout-17B-16E-Instruct', 0.17, 0.66],
        ['microsoft/Phi-4-mini-instruct', 0.08, 0.35],
        ['moonshotai/Kimi-K2.5', 0.5, 2.85],
        ['nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8', 0.2, 0.8],
        ['openai/gpt-oss-120b', 0.15, 0.6],
        ['openai/gpt-oss-20b', 0.05, 0.2],
        ['zai-org/GLM-5-FP8', 1, 3.2],
        ['zai-org/GLM-5.1', 1.4, 4.4, 0.26],
      ],
    },
  ],
};
