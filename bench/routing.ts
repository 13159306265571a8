import router from '../plugins/router/index.js';
import type { Principal } from '../src/common/access/principal.js';
import { type ClientRequest, Exchange, type Reply } from '../src/common/core/exchange.js';
import type { Target } from '../src/common/core/target.js';
import type { FromWorker } from '../src/common/ipc/messages.js';
import type { FullHost } from '../src/common/plugin-host/plugin.js';
import { createPricing } from '../src/common/prices/pricing.js';
import { LookupChannel } from '../src/data-plane/directory/channel.js';
import { WorkerDirectory } from '../src/data-plane/directory/directory.js';
import { ExpectedCosts } from '../src/data-plane/pipeline/outgoing/expected-cost.js';
import { upstreamKey } from '../src/data-plane/pipeline/outgoing/upstream-key.js';
import { providers } from '../src/data-plane/providers/rows.js';
import { compileConfig } from '../src/data-plane/routing/compile.js';
import { chatBody } from './chat.js';
import type { BenchRow } from './comparison.js';
import { storedProvider } from './in-process.js';
import { record, summary } from './results.js';

/**
 * What routing itself costs: the router's hook over configs of 20 targets, with attempts that answer at once, and the
 * real directory, prices and addresses of a data worker. `node dist/bench/routing.js [requests]`.
 */
const requests = Number(process.argv[2] ?? 300_000);
const rounds = 5;
/** Exchanges are made before the clock runs, so many at a time: as few as are under way at once in a busy worker. */
const batch = 200;

const models = ['gpt-4o', 'gpt-4o-mini', 'gpt-4.1', 'gpt-4.1-mini'];
const target = (i: number) => ({ name: `t${i}`, provider: 'openai', weight: (i % 4) + 1 });
/** Of one account, for the model that the caller asked for or for others. */
const stored = (i: number) => ({
  name: `t${i}`,
  provider: '@bench',
  weight: (i % 4) + 1,
  override_params: { model: models[i % models.length] },
});
const targets = (count: number, of: (i: number) => object = target) =>
  Array.from({ length: count }, (_, i) => of(i));
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
const hedge = { percentile: 95, min_delay: 200, max_extra: 0.03 };

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
  'least_cost, named providers': of({ mode: 'least_cost' }),
  'least_cost, stored providers': of({ mode: 'least_cost' }, targets(20, stored)),
  priority: of({ mode: 'priority' }),
  hedging: of({ mode: 'fallback', hedge }),
  'hedging, load balance': of({ mode: 'loadbalance', hedge }),
  concurrency: { provider: '@bench', concurrency: { min: 64, max: 256, queue: 500 } },
};

const bytes = Buffer.from(chatBody(false));
const request: ClientRequest = {
  method: 'POST',
  path: '/v1/chat/completions',
  query: '',
  headers: [],
  remoteAddress: '127.0.0.1',
  bytes,
  stream: null,
  json: JSON.parse(bytes.toString()),
};
const endpoint = { name: 'chat', format: 'openai-chat', body: 'json' } as const;
const principal = { workspaceId: 'ws', keyId: 'key' } as Principal;
const reply: Reply = { status: 200, headers: [], body: '{}', events: false, errorOrigin: null };
const answered = Promise.resolve(reply);

const channel: LookupChannel = new LookupChannel((message: FromWorker) => {
  if (message.t === 'lookup')
    channel.answered(message.id, { ...storedProvider, slug: message.name, provider: 'openai' });
});
const directory = new WorkerDirectory({
  channel,
  compile: () => {
    throw new Error('this bench stores no config');
  },
});
await directory.provider('ws', 'bench');
const parts = { directory, providers };
const costs = new ExpectedCosts({ directory, pricing: createPricing() });

const host = {
  random: Math.random,
  workers: 1,
  weightOf: () => 1,
  attempt: () => answered,
  expectedCost: (x: Exchange, target: Target, output: number | null) => costs.of(x, target, output),
  upstreamKey: (x: Exchange, target: Target) => upstreamKey(parts, x, target),
  shared: { ask: async () => [], send() {}, on() {} },
  metrics: { show() {} },
  log: console,
} as unknown as Partial<FullHost> as FullHost;

async function measure(config: unknown): Promise<number[]> {
  const compiled = compileConfig(JSON.stringify(config), {
    slug: 'pc-1',
    version: '1',
    isProvider: (name) => providers.has(name),
  });
  const hooks = await router.setup({}, host);
  const route = hooks.request!.bind(hooks);
  const exchange = (): Exchange => {
    const x = new Exchange('req', endpoint, request);
    x.principal = principal;
    x.config = compiled;
    x.metadata = { tier: 'tier-9' };
    x.modelAsked = 'gpt-4o-mini';
    return x;
  };
  const values: number[] = [];
  for (let round = 0; round < rounds; round++) {
    let micros = 0;
    let made = 0;
    for (; made < requests / rounds; made += batch) {
      const exchanges = Array.from({ length: batch }, exchange);
      const before = process.cpuUsage();
      for (const x of exchanges) await route(x);
      const { user, system } = process.cpuUsage(before);
      micros += user + system;
    }
    values.push(micros / made);
  }
  return values;
}

// Once without being counted: what the first one compiles, the others find.
await measure(configs['one target']);
const rows: BenchRow[] = [];
for (const [name, config] of Object.entries(configs)) {
  const values = await measure(config);
  rows.push({ work: 'routing', server: name, isFloor: false, figures: { cpu_us: values } });
  console.log(`${name.padEnd(50)} ${Math.min(...values).toFixed(2)} µs`);
}
console.log(summary(record({ command: 'routing', options: { requests, rounds }, rows })).join('\n'));
process.exit(0);
