import type { PriceList } from './price-list.js';

export const xAi: PriceList = {
  page: 'https://docs.x.ai/developers/pricing',
  sheets: [
    {
      from: 'https://github.com/EasyMetaAu/helm-api/pull/911',
      on: '2026-09-22',
      rows: [['grok-4.7', 2, 6, 0.5, null, { tokens: 199_999, input: 4, output: 12, cached: 1 }]],
    },
    {
      from: 'https://github.com/keros68/metrik/pull/125',
      on: '2026-08-19',
      rows: [['grok-4.5', 2, 6, 0.3, null, { tokens: 199_999, input: 4, output: 12, cached: 0.6 }]],
    },
    {
      from: 'https://github.com/pwrdrvr/PwrAgent/pull/1679',
      on: '2026-08-16',
      rows: [
        ['grok-4.6', 2, 6, 0.5, null, { tokens: 199_999, input: 4, output: 12, cached: 1 }],
        ['grok-4.6-latest', 2, 6, 0.5, null, { tokens: 199_999, input: 4, output: 12, cached: 1 }],
      ],
    },
    {
      from: 'https://github.com/anomalyco/models.dev/tree/f3fc692299671838c7c65fd8126bf84d81a2e817/providers/xai',
      on: '2026-07-02',
      rows: [
        [
          'grok-4.20-0309-non-reasoning',
          1.25,
          2.5,
          0.2,
          null,
          { tokens: 200_000, input: 2.5, output: 5, cached: 0.4 },
        ],
        [
          'grok-4.20-0309-reasoning',
          1.25,
          2.5,
          0.2,
          null,
          { tokens: 200_000, input: 2.5, output: 5, cached: 0.4 },
        ],
        [
          'grok-4.20-multi-agent-0309',
          1.25,
          2.5,
          0.2,
          null,
          { tokens: 200_000, input: 2.5, output: 5, cached: 0.4 },
        ],
        ['grok-4.3', 1.25, 2.5, 0.2, null, { tokens: 200_000, input: 2.5, output: 5, cached: 0.4 }],
        ['grok-build-0.1', 1, 2, 0.2, null, { tokens: 200_000, input: 2, output: 4, cached: 0.4 }],
      ],
    },
  ],
};
