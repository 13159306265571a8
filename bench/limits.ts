import { type BudgetRule, nanosPerDollar } from '../src/common/core/budget-rules.js';
import type { RatePolicy, RateRule } from '../src/common/core/rate-rules.js';
import { chatBody } from './chat.js';
import { type BenchAnswer, type InProcessGateway, type Limited, openInProcess } from './in-process.js';

/**
 * What limits cost a request: the real chain without sockets, with and without them, and the counters of the control process
 * in the same process. `node dist/bench/limits.js [requests]`.
 */
const requests = Number(process.argv[2] ?? 100_000);
const rounds = 5;

const answer: BenchAnswer = {
  contentType: 'application/json',
  pieces: [
    Buffer.from(
      JSON.stringify({
        id: 'chatcmpl-bench',
        object: 'chat.completion',
        model: 'gpt-4o-mini',
        choices: [
          { index: 0, message: { role: 'assistant', content: 'Lorem ipsum.' }, finish_reason: 'stop' },
        ],
        usage: { prompt_tokens: 200, completion_tokens: 60, total_tokens: 260 },
      }),
    ),
  ],
};

const rule = (of: RateRule['of'], measure: RateRule['measure'], unit: RateRule['unit']): RateRule => ({
  counter: `org/${of}/1/${measure}/${unit ?? ''}`,
  of,
  name: 'bench',
  measure,
  unit,
  value: 2_000_000_000,
  shadow: false,
});
const five = [
  rule('api_key', 'requests', 'rpm'),
  rule('api_key', 'tokens', 'rpm'),
  rule('workspace', 'requests', 'rps'),
  rule('workspace', 'tokens', 'rpd'),
  rule('workspace', 'concurrency', null),
];
const policy = (id: number, more: Partial<RatePolicy>): RatePolicy => ({
  id: String(id),
  organisationId: 'org',
  name: null,
  conditions: [{ key: 'workspace_id', value: 'ws' }],
  groupBy: ['api_key'],
  measure: 'requests',
  unit: 'rpm',
  value: 2_000_000_000,
  shadow: false,
  ...more,
});
const three = [
  policy(1, {}),
  policy(2, { conditions: [{ key: 'model', value: '@bench/*' }], groupBy: ['provider'] }),
  policy(3, { conditions: [{ key: 'endpoint_type', value: 'chatComplete' }], measure: 'tokens' }),
];
const many = Array.from({ length: 10_000 }, (_, i) =>
  policy(i + 10, { conditions: [{ key: 'api_key', value: `other-${i}` }] }),
);

const budget: BudgetRule = {
  budget: 'org/api_key/1/cost',
  of: 'api_key',
  name: 'bench',
  measure: 'cost',
  limit: 9_000_000 * nanosPerDollar,
  threshold: null,
  shadow: false,
  since: 0,
  nextResetAt: null,
  periodicReset: null,
  periodicResetDays: null,
};

const variants: Readonly<Record<string, Limited>> = {
  'no limits': { limits: [], budgets: [], policies: [] },
  'a budget': { limits: [], budgets: [budget], policies: [] },
  'five limits': { limits: five, budgets: [], policies: [] },
  'five limits and three policies': { limits: five, budgets: [], policies: three },
  'five limits, three policies and a budget': { limits: five, budgets: [budget], policies: three },
  'the same among 10,000 policies': { limits: five, budgets: [budget], policies: [...three, ...many] },
};

const config = JSON.stringify({ provider: '@bench' });
const request = { path: '/v1/chat/completions', query: '', body: Buffer.from(chatBody(false)), config };
const gateways = new Map<string, InProcessGateway>();
for (const [name, limited] of Object.entries(variants)) {
  const gateway = await openInProcess(new Map([['bench', 'openai']]), () => answer, limited);
  await gateway.run(request, 20_000);
  gateways.set(name, gateway);
}
const times = new Map<string, number[]>();
for (let round = 0; round < rounds; round++) {
  for (const [name, gateway] of gateways) {
    const { user, system } = await gateway.run(request, requests);
    times.set(name, [...(times.get(name) ?? []), user + system]);
  }
}
const middle = (name: string): number => times.get(name)!.sort((a, b) => a - b)[Math.floor(rounds / 2)]!;
for (const name of gateways.keys())
  console.log(
    `${name}: ${middle(name).toFixed(2)} µs a request, ${(middle(name) - middle('no limits')).toFixed(2)} more`,
  );
for (const gateway of gateways.values()) gateway.close();
process.exit(0);
