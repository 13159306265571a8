import type { Intent, Settlement } from '../../src/common/ledger/record.js';

export const org = 'a1b5c2de-0000-4000-8000-000000000001';
export const workspace = 'a1b5c2de-0000-4000-8000-000000000002';

/** What a chat call writes before it leaves. */
export const intentOf = (id: string, change: Partial<Intent> = {}): Intent => ({
  id,
  at: Date.now(),
  org,
  workspace,
  key: 'a1b5c2de-0000-4000-8000-000000000003',
  user: null,
  config: null,
  endpoint: 'chat',
  method: 'POST',
  path: '/v1/chat/completions',
  provider: 'openai',
  slug: null,
  integration: null,
  model: 'gpt-4o-mini',
  trace: id,
  reserved: 1234,
  charges: null,
  ...change,
});

/** What it writes at its end. */
export const settlementOf = (id: string, change: Partial<Settlement> = {}): Settlement => {
  const settlement = settlementWith(id, change);
  const [attempt, ...others] = settlement.attempts;
  if (attempt === undefined || others.length > 0) return settlement;
  // What a single attempt used is what the whole exchange did.
  const usage = settlement.usage.source === 'none' ? null : settlement.usage;
  return { ...settlement, attempts: [{ ...attempt, usage, cost: settlement.cost }] };
};

const settlementWith = (id: string, change: Partial<Settlement>): Settlement => ({
  id,
  at: Date.now(),
  org,
  workspace,
  key: 'a1b5c2de-0000-4000-8000-000000000003',
  user: null,
  config: null,
  configVersion: 'none',
  prompt: null,
  endpoint: 'chat',
  method: 'POST',
  path: '/v1/chat/completions',
  provider: 'openai',
  slug: 'openai-main',
  integration: null,
  modelAsked: 'gpt-4o-mini',
  modelUsed: 'gpt-4o-mini-2024-07-18',
  status: 200,
  error: null,
  errorMessage: null,
  stream: false,
  totalMs: 812.345,
  upstreamMs: 811.2,
  firstByteMs: 411.1,
  attempts: [
    {
      target: 'targets[0]',
      slug: 'openai-main',
      integration: null,
      provider: 'openai',
      model: 'gpt-4o-mini',
      startedAt: 0.123,
      status: 200,
      error: null,
      durationMs: 811.2,
      usage: null,
      cost: null,
    },
  ],
  retries: 0,
  target: 'targets[0]',
  usage: { input: 120, output: 240, cached: 0, cacheWrite: 0, reasoning: 0, source: 'provider' },
  cost: 162,
  cache: 'DISABLED',
  metadata: {},
  trace: id,
  span: null,
  parentSpan: null,
  spanName: null,
  traceContext: null,
  dropped: [],
  costSaved: null,
  msSaved: null,
  route: null,
  stages: null,
  charges: null,
  steps: null,
  ...change,
});
