import { budgetName, nanosPerDollar } from '../src/common/core/budget-rules.js';
import type { RateRule } from '../src/common/core/rate-rules.js';
import { chatBody } from './chat.js';
import { type BenchAnswer, type Limited, openInProcess } from './in-process.js';

/**
 * What the gateway's own code costs on the way of a request, with no socket on either side: the real chain, directory
 * and journal, a client and a provider that are function calls. `node dist/bench/way.js [requests] [WORD…]`; `hit`:
 * the answer comes out of the cache; `token`: the calls have a JSON web token in place of a key; `bodies`: they are logged;
 * `governed`: three limits and a budget, with their counters of the control process in this one. For profiling.
 */
const requests = Number(process.argv[2] ?? 200_000);
const isHit = process.argv.includes('hit');
const caller = process.argv.includes('token') ? 'token' : 'key';

const answer: BenchAnswer = {
  contentType: 'application/json',
  pieces: [
    Buffer.from(
      JSON.stringify({
        id: 'chatcmpl-bench000000000000000000',
        object: 'chat.completion',
        created: 1_700_000_000,
        model: 'gpt-4o-mini',
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content: 'Lorem ipsum dolor sit amet, consectetur elit. '.repeat(6),
            },
            finish_reason: 'stop',
          },
        ],
        usage: { prompt_tokens: 200, completion_tokens: 60, total_tokens: 260 },
      }),
    ),
  ],
};

const body = Buffer.from(chatBody(false));
const config = JSON.stringify({
  ...(isHit && { cache: { mode: 'simple' } }),
  strategy: { mode: 'fallback' },
  targets: [{ provider: '@bench' }, { provider: '@bench' }],
});

const rule = (measure: RateRule['measure'], unit: RateRule['unit']): RateRule => ({
  ...{ counter: `org/api_key/1/${measure}/${unit ?? ''}`, of: 'api_key', name: 'bench', measure, unit },
  ...{ value: 2_000_000_000, shadow: false },
});
/** As the governed row of `npm run bench` has them. */
const governed: Limited = {
  limits: [rule('requests', 'rpm'), rule('tokens', 'rpd'), rule('concurrency', null)],
  budgets: [
    {
      ...{ budget: budgetName('org', 'api_key', 'key', 'cost', null), of: 'api_key', name: 'bench' },
      ...{ measure: 'cost', limit: 1_000_000 * nanosPerDollar, threshold: null, shadow: false },
      ...{ since: 0, nextResetAt: null, periodicReset: 'monthly', periodicResetDays: null },
    },
  ],
  policies: [],
};

const gateway = await openInProcess(
  new Map([['bench', 'openai']]),
  () => answer,
  process.argv.includes('governed') ? governed : undefined,
  caller,
  process.argv.includes('bodies'),
);
const request = { path: '/v1/chat/completions', query: '', body, config };
await gateway.run(request, 20_000);
const { user, system } = await gateway.run(request, requests);
console.log(
  `${(user + system).toFixed(2)} µs a request (${user.toFixed(2)} user, ${system.toFixed(2)} system)`,
);
gateway.close();
process.exit(0);
