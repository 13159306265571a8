import type { Plugin } from '../../common/plugin-host/plugin.js';
import { forgetPluginScopes } from '../../data-plane/pipeline/plugins/plugin-scope.js';
import { ClientCall } from '../chain/client-call.js';
import { KitChain } from '../chain/kit-chain.js';
import { sentOf } from '../chain/sent.js';
import type { InjectedRequest } from '../kit-types.js';
import { replayedUpstream } from './replayed-upstream.js';
import { timed } from './timed-hooks.js';

/** What a hook costs a request. */
export interface HookCost {
  readonly hook: string;
  readonly calls: number;
  /** Microseconds of the thread, until it returned. */
  readonly micros: number;
  /** Milliseconds until its promises were kept; 0: it returned none. */
  readonly waitsMs: number;
}

/** What a plugin costs a request of one kind. */
export interface PluginCost {
  readonly kind: 'whole' | 'stream';
  /** Status of its answers. */
  readonly status: number;
  /** Measured with the plugin, and as often without. */
  readonly requests: number;
  /** Microseconds of CPU of a request without the plugin. */
  readonly emptyMicros: number;
  /** Microseconds of CPU that the plugin adds: the median of all pairs, and the quartiles. */
  readonly addedMicros: number;
  readonly quartiles: readonly [number, number];
  readonly hooks: readonly HookCost[];
}

export interface BenchOptions {
  readonly plugin: Plugin;
  readonly options: unknown;
  readonly request: InjectedRequest;
  /** Seconds for each kind of request. */
  readonly seconds: number;
}

/** Requests of a half of a pair. */
const batch = 50;
const warmUp = 400;
const quiet = { info() {}, warn() {}, error() {} };

/** Measures a plugin against the same chain without it, in turns: whole answers, then streams. */
export async function benchPlugin({
  plugin,
  options,
  request,
  seconds,
}: BenchOptions): Promise<PluginCost[]> {
  const times = timed(plugin);
  const upstream = replayedUpstream();
  const open = (placed: readonly Plugin[]): Promise<KitChain> =>
    KitChain.open({ plugins: placed.map((one) => ({ plugin: one, options })), upstream, log: quiet });
  const chains: KitChain[] = [];
  try {
    for (const placed of [[], [plugin], [times.plugin]]) chains.push(await open(placed));
    const [empty, own, instrumented] = chains as [KitChain, KitChain, KitChain];
    const costs: PluginCost[] = [];
    for (const kind of ['whole', 'stream'] as const) {
      const asked = requestOf(request, kind);
      if (asked === null) continue;
      const status = await run(own, asked, warmUp);
      await run(empty, asked, warmUp);
      const pairs = await measurePairs(empty, own, asked, seconds);
      const hooks = await measureHooks(
        instrumented,
        asked,
        times,
        Math.max(10, Math.ceil(pairs.added.length / 4)),
      );
      costs.push({
        kind,
        status,
        requests: pairs.added.length * batch,
        emptyMicros: quantile(pairs.empty, 0.5),
        addedMicros: quantile(pairs.added, 0.5),
        quartiles: [quantile(pairs.added, 0.25), quantile(pairs.added, 0.75)],
        hooks,
      });
    }
    return costs;
  } finally {
    for (const chain of chains) await chain.close();
  }
}

/** The sample's request with or without a stream; null: it cannot have one. */
function requestOf(request: InjectedRequest, kind: PluginCost['kind']): InjectedRequest | null {
  const stream = kind === 'stream';
  const { body, path = '' } = request;
  if (path.includes('generateContent') || path.includes('GenerateContent'))
    return {
      ...request,
      path: stream
        ? path.replace(/:generateContent$/, ':streamGenerateContent?alt=sse')
        : path.replace(/:streamGenerateContent.*$/, ':generateContent'),
    };
  if (body === undefined) return { ...request, stream };
  if (typeof body === 'string') return stream ? null : request;
  return { ...request, body: { ...body, stream } };
}

async function measurePairs(
  empty: KitChain,
  own: KitChain,
  request: InjectedRequest,
  seconds: number,
): Promise<{ empty: number[]; added: number[] }> {
  const found = { empty: [] as number[], added: [] as number[] };
  const until = performance.now() + seconds * 1000;
  for (let round = 0; round < 10 || performance.now() < until; round++) {
    const isOwnFirst = round % 2 === 0;
    const first = await micros(isOwnFirst ? own : empty, request);
    const second = await micros(isOwnFirst ? empty : own, request);
    const without = isOwnFirst ? second : first;
    found.empty.push(without);
    found.added.push((isOwnFirst ? first : second) - without);
  }
  return found;
}

/** Microseconds of CPU of one request. */
async function micros(chain: KitChain, request: InjectedRequest): Promise<number> {
  // A worker without custom plugins does not track promises: neither does the half without this one.
  forgetPluginScopes();
  const from = process.cpuUsage();
  await run(chain, request, batch);
  const { user, system } = process.cpuUsage(from);
  return (user + system) / batch;
}

async function measureHooks(
  chain: KitChain,
  request: InjectedRequest,
  times: ReturnType<typeof timed>,
  rounds: number,
): Promise<HookCost[]> {
  await run(chain, request, warmUp);
  times.take();
  const found = new Map<string, { micros: number[]; calls: number[]; waits: number[] }>();
  for (let round = 0; round < rounds; round++) {
    await run(chain, request, batch);
    for (const [hook, { calls, ranMs, waitedMs }] of Object.entries(times.take())) {
      const all = found.get(hook) ?? { micros: [], calls: [], waits: [] };
      all.micros.push((ranMs * 1000) / batch);
      all.calls.push(calls / batch);
      all.waits.push(waitedMs / batch);
      found.set(hook, all);
    }
  }
  return [...found].map(([hook, all]) => ({
    hook,
    calls: Math.round(quantile(all.calls, 0.5) * 100) / 100,
    micros: quantile(all.micros, 0.5),
    waitsMs: quantile(all.waits, 0.5),
  }));
}

/** Sends so many requests, one after the other; the status of the last. */
async function run(chain: KitChain, request: InjectedRequest, count: number): Promise<number> {
  const { principal = {} } = request;
  const sent = sentOf(request, principal === null ? null : chain.control.keyOf(principal));
  let status = 0;
  for (let i = 0; i < count; i++) {
    const call = new ClientCall({ ...sent, headers: [...sent.headers] });
    chain.handle(call);
    ({ status } = await call.answered);
  }
  return status;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
