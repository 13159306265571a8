import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Explained, ToExplain } from '../../common/ipc/explained.js';
import type { FromControl, FromWorker, WorkerInit } from '../../common/ipc/messages.js';
import type { Metrics } from '../../common/plugin-host/metrics.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import { LookupChannel } from '../../data-plane/directory/channel.js';
import type { WorkerDirectory } from '../../data-plane/directory/directory.js';
import { SharedChannel } from '../../data-plane/directory/shared-channel.js';
import { explain } from '../../data-plane/pipeline/explain.js';
import { createHandler, refusalAt } from '../../data-plane/pipeline/handle.js';
import type { Pipeline } from '../../data-plane/pipeline/parts.js';
import { pluginScope, scopeFields } from '../../data-plane/pipeline/plugins/plugin-scope.js';
import { createNodeTransport } from '../../data-plane/transport/node/node.js';
import type { Call, Transport } from '../../data-plane/transport/transport.js';
import { createUwsTransport } from '../../data-plane/transport/uws/uws.js';
import { clientConnections, descriptorLimit } from '../descriptors.js';
import { exitProcess } from '../ending/exit.js';
import { exitInternal } from '../ending/last-handler.js';
import { openLog } from '../log/log.js';
import { AdminForwarder } from './admin-forwarder.js';
import { adminLimits } from './admission/limits.js';
import { assemble } from './assemble.js';

/** To a control process that has died, nothing: what is in flight is served to its end all the same. */
const post = (message: FromWorker): void => {
  process.send?.(message, () => {});
};

/** A data worker: one process, one port shared with its siblings, no database. Started by the supervisor alone. */
async function start(init: WorkerInit, channel: LookupChannel): Promise<Worker> {
  const { log, dropped: droppedLines } = openLog(init.log, { worker: init.worker });
  processLog = log;
  const admin = new AdminForwarder(
    (message, sent) => process.send?.(message, sent),
    init.headerPrefixes,
    undefined,
    adminLimits(init.workers),
  );
  const open = (call: Call, path: string): void => admin.open(call, path);
  const take = init.administration ? open : null;
  const { pipeline, directory, metrics } = await assemble(init, channel, shared, log, take);
  const create = init.transport === 'uws' ? createUwsTransport : createNodeTransport;
  const transport = await create({
    handler: createHandler(pipeline),
    maxHeaderBytes: 80 * 1024,
    maxConnections: clientConnections(descriptorLimit()),
    writeTimeoutMs: init.writeTimeoutMs,
    refusal(error, path) {
      const { id, headers, body } = refusalAt(path, [], error, init.headerPrefixes);
      log.info({ request_id: id, code: error.code, path }, error.message);
      return { headers, body };
    },
    onProblem: (error, what) => log.warn({ err: error }, what),
  });
  const port = await listen(transport, init);
  return { port, transport, pipeline, directory, metrics, admin, log, droppedLines };
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
  readonly metrics: Metrics;
  readonly admin: AdminForwarder;
  readonly log: Logger;
  /** Lines of the process log that were dropped. */
  readonly droppedLines: () => number;
}

const channel = new LookupChannel(post);
const shared = new SharedChannel(post);
let worker: Worker | null = null;
/** Opened before the worker is ready: plugins are set up in between. */
let processLog: Logger | null = null;
let leaving = false;

/** Ends in-flight work up to the deadline, then goes. New calls on kept connections are refused meanwhile. */
async function drain(deadlineMs: number): Promise<void> {
  if (leaving) return;
  leaving = true;
  if (worker === null) process.exit(0);
  const { transport, pipeline } = worker;
  pipeline.draining = true;
  transport.drain();
  beat();
  const until = performance.now() + deadlineMs;
  while (transport.inFlight > 0 && performance.now() < until)
    await new Promise((wait) => setTimeout(wait, 20));
  transport.close();
  // Calls cut by the close settle in this turn; the journal flushes when it closes.
  await new Promise((wait) => setTimeout(wait, 20));
  await pipeline.chain.close();
  pipeline.journal.close();
  post({ t: 'drained' });
  exitProcess(0);
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
    case 'shared-answer':
      shared.answered(message.id, message.value);
      break;
    case 'shared-failed':
      shared.failed(message.id);
      break;
    case 'shared-news':
      shared.received(message.kind, message.news as never);
      break;
    case 'forget':
      worker?.directory.forget(message.what);
      worker?.pipeline.open.forgotten(message.what);
      post({ t: 'forgot', id: message.id });
      break;
    case 'explain':
      explained(message.asked).then((value) => post({ t: 'explained', id: message.id, value }));
      break;
    case 'admin-head':
    case 'admin-piece':
      worker?.admin.answered(message);
      break;
    case 'announce-drain':
      worker?.transport.announceDrain();
      break;
    case 'drain':
      void drain(message.deadlineMs);
      break;
  }
});

async function explained(asked: ToExplain): Promise<Explained | null> {
  if (worker === null) return null;
  try {
    return await explain(worker.pipeline, asked);
  } catch (error) {
    worker.log.error({ err: error }, 'a request could not be explained');
    return null;
  }
}

// The control process has died: serve out what is in flight and leave the port to the next one.
process.on('disconnect', () => {
  channel.lost();
  shared.lost();
  worker?.admin.lost();
  void drain(10_000);
});

// A terminal sends its Ctrl-C, and its hangup, to the whole group; the supervisor alone decides when a worker ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});

// An exception in a timer of a plugin ends the worker as well: what it left half done is unknown.
process.on('uncaughtException', (error) => {
  const scope = pluginScope();
  const fields = scope === null ? {} : scopeFields(scope);
  processLog?.error({ ...fields, err: error }, 'uncaught exception: this worker leaves');
  worker?.pipeline.journal.close();
  exitProcess(exitInternal);
});

process.on('unhandledRejection', (reason) => {
  const scope = pluginScope();
  // Thrown here, it is an uncaught exception.
  if (scope === null) throw reason;
  processLog?.error(
    { ...scopeFields(scope), err: reason },
    `a promise of the plugin ${scope.plugin} was rejected, and nothing in it handled that`,
  );
});

const resolutionMs = 5;
const delay = monitorEventLoopDelay({ resolution: resolutionMs });
delay.enable();
function beat(): void {
  // The histogram holds whole intervals between two ticks of its timer; what exceeds the timer's own is the delay.
  const loopDelayMs = Math.max(0, delay.percentile(99.9) / 1e6 - resolutionMs);
  const { dropped = 0, droppedBodies = 0 } = worker?.pipeline.journal ?? {};
  post({
    t: 'beat',
    inFlight: worker?.transport.inFlight ?? 0,
    loopDelayMs,
    dropped: { records: dropped, bodies: droppedBodies, lines: worker?.droppedLines() ?? 0 },
    metrics: worker?.metrics.read() ?? [],
  });
}
setInterval(beat, 1000).unref();

post({ t: 'up' });
