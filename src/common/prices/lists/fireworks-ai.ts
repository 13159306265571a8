import type { PriceList } from './price-list.js';

export const fireworksAi: PriceList = {
  page: 'https://fireworks.ai/pricing',
  sheets: [
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/fireworks-ai',
      on: '2026-07-02',
      rows: [
        ['accounts/fireworks/models/deepseek-v4-flash', 0.14, 0.28, 0.028],
        ['accounts/fireworks/models/deepseek-v4-pro', 1.74, 3.48, 0.145],
        ['accounts/fireworks/models/glm-5p1', 1.4, 4.4, 0.26],
        ['accounts/fireworks/models/glm-5p2', 1.4, 4.4, 0.26],
        ['accounts/fireworks/models/gpt-oss-120b', 0.15, 0.6, 0.015],
        ['accounts/fireworks/models/gpt-oss-20b', 0.07, 0.3, 0.035],
        ['accounts/fireworks/models/kimi-k2p6', 0.95, 4, 0.16],
        ['accounts/fireworks/models/kimi-k2p7-code', 0.95, 4, 0.19],
        ['accounts/fireworks/models/minimax-m2p7', 0.3, 1.2, 0.06],
        ['accounts/fireworks/models/minimax-m3', 0.3, 1.2, 0.06],
        ['accounts/fireworks/models/qwen3p7-plus', 0.4, 1.6, 0.08],
        ['accounts/fireworks/routers/glm-5p1-fast', 2.8, 8.8, 0.52],
        ['accounts/fireworks/routers/glm-5p2-fast', 2.1, 6.6, 0.21],
        ['accounts/fireworks/routers/kimi-k2p6-fast', 2, 8, 0.3],
        ['accounts/fireworks/routers/kimi-k2p6-turbo', 2, 8, 0.3],
        ['accounts/fireworks/routers/kimi-k2p7-code-fast', 1.9, 8, 0.38],
      ],
    },
  ],
};
