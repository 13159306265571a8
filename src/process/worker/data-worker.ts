import type { Explained, ToExplain } from '../../common/ipc/explained.js';
import type { FromControl, FromWorker, WorkerInit } from '../../common/ipc/messages.js';
import type { InsertedPlugin } from '../../common/plugin-host/files/inserted.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import { LookupChannel } from '../../data-plane/directory/channel.js';
import { SharedChannel } from '../../data-plane/directory/shared-channel.js';
import { explain } from '../../data-plane/pipeline/explain.js';
import {
  outsidePluginScope,
  pluginScope,
  scopeFields,
} from '../../data-plane/pipeline/plugins/plugin-scope.js';
import { exitProcess } from '../ending/exit.js';
import { exitInternal } from '../ending/last-handler.js';
import { openLog } from '../log/log.js';
import { keepCompiledCode } from '../node/compiled-code.js';
import type { AdminGiven } from './parts/admin.js';
import type { DirectoryGiven } from './parts/directory.js';
import type { PipelineGiven } from './parts/pipeline.js';
import type { TransportGiven } from './parts/transport.js';
import { retire } from './retire.js';
import { guardExit } from './watch/guard-exit.js';
import { LoopDelay } from './watch/loop-delay.js';
import { MemoryWatch } from './watch/watch-memory.js';
import { watchPlugins } from './watch/watch-plugins.js';
import { workerParts } from './worker-parts.js';

/** Sends nothing to a control process that has died; requests in flight are still served. */
const post = (message: FromWorker): void => {
  process.send?.(message, () => {});
};

interface Worker extends TransportGiven, PipelineGiven, DirectoryGiven, AdminGiven {
  readonly log: Logger;
  /** Lines of the process log that were dropped. */
  readonly droppedLines: () => number;
  readonly stop: () => Promise<void>;
}

const channel = new LookupChannel(post);
const shared = new SharedChannel(post);
let worker: Worker | null = null;
/** Opened before the worker is ready, since plugins are set up in between. */
let processLog: Logger | null = null;
let leaving = false;
let memory = new MemoryWatch(null);

/** A data worker: one process, one port shared with its siblings, no database. Started only by the control process. */
async function start(init: WorkerInit): Promise<Worker> {
  const { log, dropped: droppedLines } = openLog(init.log, { worker: init.worker });
  processLog = log;
  memory = new MemoryWatch(init.memoryBytes);
  memory.addPlugins(init.plugins.insert);
  if (init.plugins.insert.length > 0) {
    guardExit(log);
    watchPlugins();
  }
  const send = (message: FromWorker, sent: () => void): void => void process.send?.(message, sent);
  const running = workerParts.running({ init, log, channel, shared, send }, log);
  return { ...(await running.start()), droppedLines, stop: () => running.stop() };
}

/** Requests in flight, also those of disconnected clients. */
const openRequests = ({ transport, pipeline }: Worker): number =>
  transport.inFlight + (pipeline.abandoned?.size ?? 0);

/** Finishes requests in flight until the deadline, also those of disconnected clients, then exits. Refuses new calls on open connections. */
async function drain(deadlineMs: number): Promise<void> {
  if (leaving) return;
  leaving = true;
  if (worker === null) process.exit(0);
  const { transport, pipeline, stop } = worker;
  pipeline.draining = true;
  transport.drain();
  beat();
  const until = performance.now() + deadlineMs;
  while (openRequests(worker) > 0 && performance.now() < until)
    await new Promise((wait) => setTimeout(wait, 20));
  // What failed to stop is logged.
  await stop().catch(() => {});
  post({ t: 'drained' });
  exitProcess(0);
}

/** Ends a worker that was replaced; it has no more requests. */
function leave(): Promise<void> {
  post({ t: 'memory-owners', owners: memory.owners() });
  return drain(0);
}

process.on('message', (message: FromControl) => {
  // A plugin can emit this event too.
  if (pluginScope() !== null) return;
  switch (message.t) {
    case 'init':
      start(message.init).then(
        (started) => {
          worker = started;
          keepCompiledCode();
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
    case 'plugins':
      preparePlugins(message.insert).then((failure) => post({ t: 'plugins-ready', id: message.id, failure }));
      break;
    case 'plugins-go':
      if (message.commit) commitPlugins();
      else void worker?.live.drop();
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
    case 'retire':
      if (worker !== null) {
        const own = worker;
        void retire(own.transport, () => openRequests(own)).then(leave);
      }
      break;
    case 'drain':
      void drain(message.deadlineMs);
      break;
  }
});

/** Resolves with what is wrong; null: they are set up. */
async function preparePlugins(insert: readonly InsertedPlugin[]): Promise<string | null> {
  if (worker === null) return null;
  memory.addPlugins(insert);
  if (insert.length > 0) {
    guardExit(worker.log);
    watchPlugins();
  }
  try {
    await worker.live.prepare({ insert });
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

function commitPlugins(): void {
  if (worker === null) return;
  worker.live.commit();
  worker.pipeline.chain = worker.live.chain;
}

async function explained(asked: ToExplain): Promise<Explained | null> {
  if (worker === null) return null;
  try {
    return await explain(worker.pipeline, asked);
  } catch (error) {
    worker.log.error({ err: error }, 'a request could not be explained');
    return null;
  }
}

// The control process has died: finish the requests in flight and leave the port to the next one.
process.on('disconnect', () => {
  // A plugin can emit this event too.
  if (process.connected) return;
  channel.lost();
  shared.lost();
  worker?.admin.lost();
  void drain(10_000);
});

// A terminal sends its Ctrl-C, and its hangup, to the whole group; only the control process decides when a worker ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});

// An exception in a plugin's timer ends the worker too, since its state is then unknown.
process.on('uncaughtException', (error) => {
  const scope = pluginScope();
  const fields = scope === null ? {} : scopeFields(scope);
  processLog?.error({ ...fields, err: error }, 'uncaught exception: this worker leaves');
  worker?.pipeline.journal.close();
  // In the plugin's scope it would be taken for the plugin's own attempt to exit.
  outsidePluginScope(() => exitProcess(exitInternal));
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

const beatMs = 1000;
const delay = new LoopDelay(beatMs);
function beat(): void {
  const { dropped = 0, droppedBodies = 0 } = worker?.pipeline.journal ?? {};
  post({
    t: 'beat',
    inFlight: worker?.transport.inFlight ?? 0,
    loopDelayMs: delay.look(),
    dropped: { records: dropped, bodies: droppedBodies, lines: worker?.droppedLines() ?? 0 },
    metrics: worker?.metrics.read() ?? [],
    memory: memory.sample(),
  });
}
setInterval(beat, beatMs).unref();

post({ t: 'up' });
