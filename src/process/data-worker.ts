import { monitorEventLoopDelay } from 'node:perf_hooks';
import pino from 'pino';
import type { Explained, ToExplain } from '../core/explained.js';
import type { FromControl, FromWorker, WorkerInit } from '../core/messages.js';
import type { Metrics } from '../core/metrics.js';
import type { Logger } from '../core/plugin.js';
import { LookupChannel } from '../directory/channel.js';
import type { WorkerDirectory } from '../directory/directory.js';
import { SharedChannel } from '../directory/shared-channel.js';
import { explain } from '../pipeline/explain.js';
import { createHandler, refusalAt } from '../pipeline/handle.js';
import type { Pipeline } from '../pipeline/parts.js';
import { createNodeTransport } from '../transport/node.js';
import type { Transport } from '../transport/transport.js';
import { createUwsTransport } from '../transport/uws.js';
import { AdminDoor } from './admin-door.js';
import { assemble } from './assemble.js';

/** Sysexits' EX_SOFTWARE: something was thrown that nobody foresaw; the supervisor starts another worker. */
const exitInternal = 70;

/** To a control process that has died, nothing: what is in flight is served to its end all the same. */
const post = (message: FromWorker): void => {
  process.send?.(message, () => {});
};

/** A data worker: one process, one port shared with its siblings, no database. Started by the supervisor alone. */
async function start(init: WorkerInit, channel: LookupChannel): Promise<Worker> {
  const log: Logger = pino({ level: init.logLevel, base: { worker: init.worker } });
  const admin = new AdminDoor((message, sent) => process.send?.(message, sent), init.headerPrefixes);
  const { pipeline, directory, metrics } = await assemble(init, channel, shared, log, (call) =>
    admin.open(call),
  );
  const create = init.transport === 'uws' ? createUwsTransport : createNodeTransport;
  const transport = await create({
    handler: createHandler(pipeline),
    maxHeaderBytes: 80 * 1024,
    writeTimeoutMs: init.writeTimeoutMs,
    refusal(error, path) {
      const { id, headers, body } = refusalAt(path, error, init.headerPrefixes);
      log.info({ request_id: id, code: error.code, path }, error.message);
      return { headers, body };
    },
    onProblem: (error, what) => log.warn({ err: error }, what),
  });
  const port = await listen(transport, init);
  return { port, transport, pipeline, directory, metrics, admin, log };
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
  readonly admin: AdminDoor;
  readonly log: Logger;
}

const channel = new LookupChannel(post);
const shared = new SharedChannel(post);
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
    case 'shared-answer':
      shared.answered(message.id, message.value);
      break;
    case 'shared-failed':
      shared.failed(message.id);
      break;
    case 'shared-news':
      shared.told(message.kind, message.news as never);
      break;
    case 'forget':
      worker?.directory.forget(message.what);
      post({ t: 'forgot', id: message.id });
      break;
    case 'explain':
      explained(message.asked).then((value) => post({ t: 'explained', id: message.id, value }));
      break;
    case 'admin-head':
    case 'admin-piece':
      worker?.admin.answered(message);
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
  const { dropped = 0, droppedBodies = 0 } = worker?.pipeline.journal ?? {};
  post({
    t: 'beat',
    inFlight: worker?.transport.inFlight ?? 0,
    loopDelayMs,
    dropped: { records: dropped, bodies: droppedBodies },
    metrics: worker?.metrics.read() ?? [],
  });
}, 1000).unref();

post({ t: 'up' });
