import { chatBody } from './chat.js';
import { type BenchAnswer, openInProcess } from './in-process.js';

/**
 * What the gateway's own code costs on the way of a request, with no socket on either side: the real chain, directory
 * and journal, a client and a provider that are function calls. `node dist/bench/way.js [requests] [hit] [token]`; `hit`:
 * the answer comes out of the cache; `token`: the calls have a JSON web token in place of a key. For profiling.
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

const gateway = await openInProcess(new Map([['bench', 'openai']]), () => answer, undefined, caller);
const request = { path: '/v1/chat/completions', query: '', body, config };
await gateway.run(request, 20_000);
const { user, system } = await gateway.run(request, requests);
console.log(
  `${(user + system).toFixed(2)} µs a request (${user.toFixed(2)} user, ${system.toFixed(2)} system)`,
);
gateway.close();
process.exit(0);
