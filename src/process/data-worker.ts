import { monitorEventLoopDelay } from 'node:perf_hooks';
import pino from 'pino';
import auth from '../../plugins/auth/index.js';
import config from '../../plugins/config/index.js';
import logger from '../../plugins/logger/index.js';
import router from '../../plugins/router/index.js';
import { GatewayError } from '../core/errors.js';
import { hashGatewayKey } from '../core/gateway-key.js';
import type { FromControl, FromWorker, WorkerInit } from '../core/messages.js';
import type { Host, Logger, Plugin } from '../core/plugin.js';
import { LookupChannel } from '../directory/channel.js';
import { WorkerDirectory } from '../directory/directory.js';
import { createBodyReader } from '../endpoints/body-reader.js';
import { openJournal } from '../ledger/journal.js';
import { pricing } from '../ledger/pricing.js';
import { createTokenCounter } from '../ledger/token-counter.js';
import { attempt } from '../pipeline/attempt.js';
import { composeChain } from '../pipeline/chain.js';
import { createHandler } from '../pipeline/handle.js';
import type { Place, StageName } from '../pipeline/order.js';
import type { Pipeline } from '../pipeline/parts.js';
import { arrange, loadPlugins, type Stage, setUp } from '../pipeline/plugins.js';
import { readBodyStage } from '../pipeline/read-body.js';
import { settle } from '../pipeline/settle.js';
import { formats } from '../providers/formats/index.js';
import { providers } from '../providers/rows.js';
import { compileConfig } from '../routing/compile.js';
import { CompiledConfigs } from '../routing/compiled-cache.js';
import { createNodeTransport } from '../transport/node.js';
import type { Transport } from '../transport/transport.js';
import { createUwsTransport } from '../transport/uws.js';
import { createUpstream } from '../upstream/dispatch.js';

/** Sysexits' EX_SOFTWARE: something was thrown that nobody foresaw; the supervisor starts another worker. */
const exitInternal = 70;

const post = (message: FromWorker): void => {
  process.send?.(message);
};

/** A data worker: one process, one port shared with its siblings, no database. Started by the supervisor alone. */
async function start(init: WorkerInit, channel: LookupChannel): Promise<Worker> {
  const log: Logger = pino({ level: init.logLevel, base: { worker: init.worker } });
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
  const upstream = createUpstream({
    connectionsPerOrigin: init.upstreamConnections,
    keepAliveMs: 30_000,
    egressAllow: init.egressAllow,
  });
  const journal = openJournal({
    dir: init.journalDir,
    worker: String(init.worker),
    onProblem: (error) => log.error({ err: error }, 'journal'),
  });
  const bodies = createBodyReader();
  const counter = createTokenCounter({ maxQueue: 256, deadlineMs: 10_000 });
  const inline = new CompiledConfigs(isProvider, init.headerPrefixes);
  const pepper = Buffer.from(init.pepper, 'hex');

  const host: Host = {
    directory,
    log,
    error: (code, message, detail) => new GatewayError(code, message, detail),
    headerPrefixes: init.headerPrefixes,
    hashKey: (key) => hashGatewayKey(pepper, key),
    compileConfig: (text) => inline.get(text),
    isProvider,
    attempt: (x, target) => attempt(pipeline, x, target),
    settle: (x, outcome) => settle(pipeline, x, outcome),
    random: Math.random,
  };
  const pipeline: Pipeline = {
    directory,
    providers,
    formats,
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
    log,
    chain: composeChain([]),
    draining: false,
  };
  const stages = await composeStages(init, host, pipeline);
  const chain = composeChain(stages.map((stage) => stage.hooks));
  Object.assign(pipeline, { chain });

  const create = init.transport === 'uws' ? createUwsTransport : createNodeTransport;
  const transport = await create({
    handler: createHandler(pipeline),
    maxHeaderBytes: 80 * 1024,
    writeTimeoutMs: init.writeTimeoutMs,
    onProblem: (error, what) => log.warn({ err: error }, what),
  });
  const port = await listen(transport, init);
  return { port, transport, pipeline, directory, log };
}

/** The worker that had the port before may take a moment to let go of it. */
async function listen(transport: Transport, init: WorkerInit): Promise<number> {
  for (let tries = 0; ; tries++) {
    try {
      return await transport.listen(init.host, init.port, init.shared);
    } catch (error) {
      if (tries === 10) throw error;
      await new Promise((wait) => setTimeout(wait, 100));
    }
  }
}

interface Worker {
  readonly port: number;
  readonly transport: Transport;
  readonly pipeline: Pipeline;
  readonly directory: WorkerDirectory;
  readonly log: Logger;
}

async function composeStages(init: WorkerInit, host: Host, pipeline: Pipeline): Promise<Stage[]> {
  const builtIn = new Map<StageName, Stage>();
  const own: readonly [StageName, Plugin<never>][] = [
    ['auth', auth as Plugin<never>],
    ['config', config as Plugin<never>],
    ['router', router as Plugin<never>],
    ['logger', logger as Plugin<never>],
  ];
  for (const [name, plugin] of own) builtIn.set(name, await setUp(plugin as Plugin, {}, host));
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
  chain.splice(behindAuth, 0, { name: 'body', hooks: readBodyStage(pipeline.bodies) });
  return chain;
}

const channel = new LookupChannel(post);
let worker: Worker | null = null;
let leaving = false;

/** Ends in-flight work up to the deadline, then goes. New calls on kept connections are refused meanwhile. */
async function drain(deadlineMs: number): Promise<void> {
  if (leaving) return;
  leaving = true;
  if (worker === null) process.exit(0);
  const { transport, pipeline } = worker;
  pipeline.draining = true;
  transport.drain();
  const until = performance.now() + deadlineMs;
  while (transport.inFlight > 0 && performance.now() < until)
    await new Promise((wait) => setTimeout(wait, 20));
  transport.close();
  // Calls cut by the close settle in this turn; the journal flushes when it closes.
  await new Promise((wait) => setTimeout(wait, 20));
  await pipeline.chain.close();
  pipeline.journal.close();
  post({ t: 'drained' });
  process.exit(0);
}

process.on('message', (message: FromControl) => {
  switch (message.t) {
    case 'init':
      start(message.init, channel).then(
        (started) => {
          worker = started;
          delay.reset();
          post({ t: 'ready', port: started.port });
        },
        (error: Error) => {
          process.send?.({ t: 'failed', message: error.message } satisfies FromWorker, () => process.exit(1));
        },
      );
      break;
    case 'answer':
      channel.answered(message.id, message.value);
      break;
    case 'failed':
      channel.failed(message.id);
      break;
    case 'forget':
      worker?.directory.forget(message.what);
      post({ t: 'forgot', id: message.id });
      break;
    case 'drain':
      void drain(message.deadlineMs);
      break;
  }
});

// The control process has died: serve out what is in flight and leave the port to the next one.
process.on('disconnect', () => {
  channel.lost();
  void drain(10_000);
});

// The terminal's Ctrl-C reaches the whole group; the supervisor alone decides when a worker goes.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});

process.on('uncaughtException', (error) => {
  worker?.log.error({ err: error }, 'uncaught exception: this worker leaves');
  worker?.pipeline.journal.close();
  process.exit(exitInternal);
});

const resolutionMs = 5;
const delay = monitorEventLoopDelay({ resolution: resolutionMs });
delay.enable();
setInterval(() => {
  // The histogram holds whole intervals between two ticks of its timer; what exceeds the timer's own is the delay.
  const loopDelayMs = Math.max(0, delay.percentile(99.9) / 1e6 - resolutionMs);
  post({ t: 'beat', inFlight: worker?.transport.inFlight ?? 0, loopDelayMs });
}, 1000).unref();

post({ t: 'up' });
