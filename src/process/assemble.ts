import auth from '../../plugins/auth/index.js';
import cache from '../../plugins/cache/index.js';
import config from '../../plugins/config/index.js';
import logger from '../../plugins/logger/index.js';
import router from '../../plugins/router/index.js';
import { GatewayError } from '../core/errors.js';
import { KeyHasher } from '../core/gateway-key.js';
import type { WorkerInit } from '../core/messages.js';
import { Metrics } from '../core/metrics.js';
import { OwnIdentities } from '../core/own-identity.js';
import type { Host, Logger, Plugin } from '../core/plugin.js';
import type { Shared } from '../core/shared.js';
import type { LookupChannel } from '../directory/channel.js';
import { WorkerDirectory } from '../directory/directory.js';
import { createBodyReader } from '../endpoints/body-reader.js';
import { openJournal } from '../ledger/journal.js';
import { pricing } from '../ledger/pricing.js';
import { createTokenCounter } from '../ledger/token-counter.js';
import { aside } from '../pipeline/aside.js';
import { attempt } from '../pipeline/attempt.js';
import { composeChain } from '../pipeline/chain.js';
import { expectedCost } from '../pipeline/expected-cost.js';
import { inputTokens } from '../pipeline/input-tokens.js';
import type { Place, StageName } from '../pipeline/order.js';
import type { Pipeline } from '../pipeline/parts.js';
import { arrange, loadPlugins, type Stage, setUp } from '../pipeline/plugins.js';
import { readBodyStage } from '../pipeline/read-body.js';
import { RecurringBodies } from '../pipeline/recurring-bodies.js';
import { costOf, settle } from '../pipeline/settle.js';
import { upstreamKey } from '../pipeline/upstream-key.js';
import { sentOnHeaders } from '../providers/client-headers.js';
import { doors } from '../providers/doors/index.js';
import { formats, plainFormats } from '../providers/formats/index.js';
import { providers } from '../providers/rows.js';
import { compileConfig } from '../routing/compile.js';
import { CompiledConfigs } from '../routing/compiled-cache.js';
import type { Call } from '../transport/transport.js';
import { createUpstream } from '../upstream/dispatch.js';
import type { Upstream } from '../upstream/upstream.js';

export interface Assembled {
  readonly pipeline: Pipeline;
  readonly directory: WorkerDirectory;
  readonly metrics: Metrics;
}

/** Puts together what a request meets on its way. `admin` takes the administration plane's; `upstream`: another way out than sockets, for benchmarks. */
export async function assemble(
  init: WorkerInit,
  channel: LookupChannel,
  shared: Shared,
  log: Logger,
  admin: (call: Call) => void,
  upstream: Upstream = createUpstream({
    connectionsPerOrigin: init.upstreamConnections,
    keepAliveMs: 30_000,
    egressAllow: init.egressAllow,
  }),
): Promise<Assembled> {
  const isProvider = (name: string): boolean => providers.has(name);
  const directory = new WorkerDirectory({
    channel,
    compile: (record) =>
      compileConfig(record.text, {
        slug: record.slug,
        version: record.version,
        isProvider,
        headerPrefixes: init.headerPrefixes,
      }),
  });
  const journal = openJournal({
    dir: init.journalDir,
    worker: String(init.worker),
    onProblem: (error) => log.error({ err: error }, 'journal'),
  });
  const bodies = createBodyReader();
  const counter = createTokenCounter({ maxQueue: 256, deadlineMs: 10_000 });
  const inline = new CompiledConfigs(isProvider, init.headerPrefixes);
  const hasher = new KeyHasher(Buffer.from(init.pepper, 'hex'));

  const metrics = new Metrics();
  const weights = new Map(Object.entries(init.workspaceWeights));

  const recurring = new RecurringBodies();
  const host: Host = {
    directory,
    log,
    error: (code, message, detail) => new GatewayError(code, message, detail),
    headerPrefixes: init.headerPrefixes,
    hashKey: (key) => hasher.hash(key),
    compileConfig: (text) => inline.get(text),
    isProvider,
    attempt: (x, target) => attempt(pipeline, x, target),
    bodyRecurs: (x) => recurring.keep(x),
    cost: (x) => costOf(pipeline, x.attempts),
    sentOnHeaders,
    expectedCost: (x, target, outputTokens) => expectedCost(pipeline, x, target, outputTokens),
    upstreamKey: (x, target) => upstreamKey(pipeline, x, target),
    workers: init.workers,
    weightOf: (workspaceId) => weights.get(workspaceId) ?? 1,
    aside: (x, target) => aside(pipeline, x, target),
    inputTokens: (x) => inputTokens(pipeline, x),
    settle: (x, outcome) => settle(pipeline, x, outcome),
    shared,
    metrics,
    random: Math.random,
  };
  const pipeline: Pipeline = {
    directory,
    providers,
    formats,
    doors,
    plainFormats,
    upstream,
    bodies,
    counter,
    pricing,
    journal,
    timeouts: init.timeouts,
    limits: {
      maxBodyBytes: init.bodyLimitBytes,
      maxAnswerBytes: 32 * 1024 * 1024,
      maxRecordBytes: 1024 * 1024,
    },
    headerPrefixes: init.headerPrefixes,
    logBodies: init.logBodies,
    ownIdentities: new OwnIdentities(init.ownIdentity),
    log,
    chain: composeChain([]),
    admin,
    draining: false,
  };
  const stages = await composeStages(init, host, pipeline, recurring);
  const chain = composeChain(stages.map((stage) => stage.hooks));
  Object.assign(pipeline, { chain });
  return { pipeline, directory, metrics };
}

async function composeStages(
  init: WorkerInit,
  host: Host,
  pipeline: Pipeline,
  recurring: RecurringBodies,
): Promise<Stage[]> {
  const builtIn = new Map<StageName, Stage>();
  const own: readonly [StageName, Plugin<never>, object][] = [
    ['auth', auth as Plugin<never>, {}],
    ['config', config as Plugin<never>, {}],
    ['cache', cache as Plugin<never>, init.cache],
    ['router', router as Plugin<never>, {}],
    ['logger', logger as Plugin<never>, {}],
  ];
  // Their options are settings, and checked as such: ajv need not be loaded for them.
  for (const [name, plugin, options] of own)
    builtIn.set(name, { name: plugin.name, hooks: await plugin.setup(options as never, host) });
  const { directory, insert } = init.plugins;
  const custom = directory === null ? new Map<string, Plugin>() : await loadPlugins(directory);
  const inserted: { place: Place; stage: Stage }[] = [];
  for (const entry of insert) {
    const plugin = custom.get(entry.name);
    if (plugin === undefined)
      throw new Error(
        `plugins.insert: there is no plugin ${entry.name} in ${directory ?? 'plugins.directory (not set)'}`,
      );
    const place = (entry.before === undefined ? { after: entry.after } : { before: entry.before }) as Place;
    inserted.push({ place, stage: await setUp(plugin, entry.options, host) });
  }
  const chain = arrange(builtIn, inserted);
  const behindAuth = chain.findIndex((stage) => stage.name === 'auth') + 1;
  chain.splice(behindAuth, 0, { name: 'body', hooks: readBodyStage(pipeline.bodies, recurring) });
  return chain;
}
