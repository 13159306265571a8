import type { PriceList } from './price-list.js';

export const groq: PriceList = {
  page: 'https://groq.com/pricing/',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/groq',
      on: '2026-07-02',
      rows: [
        ['llama-3.1-8b-instant', 0.05, 0.08],
        ['llama-3.3-70b-versatile', 0.59, 0.79],
        ['meta-llama/llama-4-scout-17b-16e-instruct', 0.11, 0.34],
        ['meta-llama/llama-prompt-guard-2-22m', 0.03, 0.03],
        ['meta-llama/llama-prompt-guard-2-86m', 0.04, 0.04],
        ['openai/gpt-oss-120b', 0.15, 0.6, 0.075],
        ['openai/gpt-oss-20b', 0.075, 0.3, 0.0375],
        ['openai/gpt-oss-safeguard-20b', 0.075, 0.3],
        ['qwen/qwen3-32b', 0.29, 0.59],
      ],
    },
  ],
};
