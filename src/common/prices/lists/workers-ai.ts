import type { PriceList } from './price-list.js';

export const workersAi: PriceList = {
  page: 'https://developers.cloudflare.com/workers-ai/models/',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/cloudflare-workers-ai',
      on: '2026-07-02',
      rows: [
        ['@cf/aisingapore/gemma-sea-lion-v4-27b-it', 0.351, 0.555],
        ['@cf/deepseek-ai/deepseek-r1-distill-qwen-32b', 0.497, 4.881],
        ['@cf/google/gemma-4-26b-a4b-it', 0.1, 0.3],
        ['@cf/ibm-granite/granite-4.0-h-micro', 0.017, 0.112],
        ['@cf/meta/llama-3.1-8b-instruct-fp8', 0.152, 0.287],
        ['@cf/meta/llama-3.2-11b-vision-instruct', 0.0485, 0.676],
        ['@cf/meta/llama-3.2-1b-instruct', 0.027, 0.201],
        ['@cf/meta/llama-3.2-3b-instruct', 0.0509, 0.335],
        ['@cf/meta/llama-3.3-70b-instruct-fp8-fast', 0.293, 2.253],
        ['@cf/meta/llama-4-scout-17b-16e-instruct', 0.27, 0.85],
        ['@cf/meta/llama-guard-3-8b', 0.484, 0.03],
        ['@cf/mistralai/mistral-small-3.1-24b-instruct', 0.351, 0.555],
        ['@cf/moonshotai/kimi-k2.6', 0.95, 4, 0.16],
        ['@cf/moonshotai/kimi-k2.7-code', 0.95, 4, 0.19],
        ['@cf/nvidia/nemotron-3-120b-a12b', 0.5, 1.5],
        ['@cf/openai/gpt-oss-120b', 0.35, 0.75],
        ['@cf/openai/gpt-oss-20b', 0.2, 0.3],
        ['@cf/qwen/qwen2.5-coder-32b-instruct', 0.66, 1],
        ['@cf/qwen/qwen3-30b-a3b-fp8', 0.0509, 0.335],
        ['@cf/qwen/qwq-32b', 0.66, 1],
        ['@cf/zai-org/glm-4.7-flash', 0.0605, 0.4],
        ['@cf/zai-org/glm-5.2', 1.4, 4.4, 0.26],
      ],
    },
  ],
};
