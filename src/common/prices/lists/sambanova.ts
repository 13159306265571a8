import type { PriceList } from './price-list.js';

export const sambanova: PriceList = {
  page: 'https://cloud.sambanova.ai/plans/pricing',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/276cb142a66892a754edb12ad2377b57fa8985bc/providers/sambanova',
      on: '2026-10-09',
      rows: [
        ['DeepSeek-V3.1', 3, 4.5],
        ['DeepSeek-V3.2', 3, 4.5],
        ['Meta-Llama-3.3-70B-Instruct', 0.6, 1.2],
        ['gemma-4-31B-it', 0.38, 1.15],
        ['gpt-oss-120b', 0.22, 0.59],
      ],
    },
  ],
};
