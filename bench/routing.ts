import router from '../plugins/router/index.js';
import { type ClientRequest, Exchange, type Reply } from '../src/core/exchange.js';
import type { Host } from '../src/core/plugin.js';
import type { Principal } from '../src/core/principal.js';
import { compileConfig } from '../src/routing/compile.js';

/**
 * What routing itself costs: the router's hook over configs of 20 targets, with attempts that answer at once.
 * `node dist/bench/routing.js [requests]`.
 */
const requests = Number(process.argv[2] ?? 300_000);

const target = (i: number) => ({ name: `t${i}`, provider: 'openai', weight: (i % 4) + 1 });
const targets = (count: number) => Array.from({ length: count }, (_, i) => target(i));
const of = (strategy: object, children: unknown[] = targets(20)) => ({ strategy, targets: children });

const conditions = Array.from({ length: 10 }, (_, i) => ({
  query: { $and: [{ 'metadata.tier': { $eq: `tier-${i}` } }, { 'params.max_tokens': { $gt: 10 } }] },
  // biome-ignore lint/suspicious/noThenProperty: the key of the config.
  then: `n${i % 4}`,
}));
const groups = Array.from({ length: 4 }, (_, i) => ({
  name: `n${i}`,
  ...of({ mode: 'loadbalance' }, targets(5)),
}));

const configs: Record<string, unknown> = {
  'one target': { provider: 'openai', api_key: 'k' },
  'load balance': of({ mode: 'loadbalance' }),
  'fallback over load balances': of({ mode: 'fallback' }, groups),
  'conditions, the last of ten, over load balances': of(
    { mode: 'conditional', conditions, default: 'n3' },
    groups,
  ),
  sticky: of({ mode: 'loadbalance', sticky: { enabled: true, hash_fields: ['metadata.tier'] } }),
  affinity: of({ mode: 'loadbalance', affinity: { enabled: true } }),
  least_latency: of({ mode: 'least_latency' }),
  least_busy: of({ mode: 'least_busy' }),
  priority: of({ mode: 'priority' }),
};

const json = {
  model: 'gpt-4o-mini',
  max_tokens: 100,
  messages: [
    { role: 'system', content: 'You are a helpful assistant. '.repeat(8) },
    { role: 'user', content: 'Tell me about the river and the gate that holds it. '.repeat(12) },
  ],
};
const request: ClientRequest = {
  method: 'POST',
  path: '/v1/chat/completions',
  query: '',
  headers: [],
  remoteAddress: '127.0.0.1',
  bytes: Buffer.from(JSON.stringify(json)),
  stream: null,
  json,
};
const endpoint = { name: 'chat', format: 'openai-chat', body: 'json' } as const;
const principal = { workspaceId: 'ws-1', keyId: 'key-1' } as Principal;
const reply: Reply = { status: 200, headers: [], body: '{}', events: false, errorOrigin: null };
const answered = Promise.resolve(reply);

const host = {
  random: Math.random,
  attempt: () => answered,
  expectedCost: () => 1,
  shared: { ask: async () => [], tell() {}, hear() {} },
  metrics: { show() {} },
} as unknown as Partial<Host> as Host;

async function measure(config: unknown): Promise<number> {
  const compiled = compileConfig(JSON.stringify(config), {
    slug: 'pc-1',
    version: '1',
    isProvider: () => true,
  });
  const hooks = await router.setup({}, host);
  const route = hooks.request!.bind(hooks);
  const exchanges = Array.from({ length: 1000 }, () => {
    const x = new Exchange('req', endpoint, request);
    x.principal = principal;
    x.config = compiled;
    x.metadata = { tier: 'tier-9' };
    x.modelAsked = 'gpt-4o-mini';
    return x;
  });
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round++) {
    const before = process.cpuUsage();
    for (let i = 0; i < requests / 5; i++) await route(exchanges[i % exchanges.length]!);
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / (requests / 5));
  }
  return best;
}

// Once without being counted: what the first one compiles, the others find.
await measure(configs['one target']);
for (const [name, config] of Object.entries(configs)) {
  console.log(`${name.padEnd(50)} ${(await measure(config)).toFixed(2)} µs`);
}
