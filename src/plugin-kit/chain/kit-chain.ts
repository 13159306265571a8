import { AsyncResource } from 'node:async_hooks';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noUsage } from '../../common/core/usage.js';
import type { WorkerInit } from '../../common/ipc/messages.js';
import type { Journal } from '../../common/ledger/record.js';
import type { Metrics } from '../../common/plugin-host/metrics.js';
import type { Logger, Plugin } from '../../common/plugin-host/plugin.js';
import type { TokenCounter } from '../../data-plane/journal/token-counter.js';
import { createHandler } from '../../data-plane/pipeline/handle.js';
import { stages } from '../../data-plane/pipeline/plugins/stages.js';
import type { Call } from '../../data-plane/transport/transport.js';
import type { Upstream } from '../../data-plane/upstream/upstream.js';
import { partsInProcess } from '../../process/worker/worker-parts.js';
import { KitControl } from './kit-control.js';

/** A plugin at its place in the chain. */
export interface Placed {
  readonly plugin: Plugin;
  readonly options: unknown;
  readonly before?: string;
  readonly after?: string;
}

export interface KitChainOptions {
  readonly plugins: readonly Placed[];
  readonly upstream: Upstream;
  readonly log: Logger;
  readonly hookTimeoutMs?: number;
}

/** The parts of a data worker in this process, without a port, a control process or a store. */
export class KitChain {
  private constructor(
    readonly control: KitControl,
    /** Takes a call as a transport gives it. */
    readonly handle: (call: Call) => void,
    readonly metrics: Metrics,
    readonly close: () => Promise<void>,
  ) {}

  static async open({ plugins, upstream, log, hookTimeoutMs = 30_000 }: KitChainOptions): Promise<KitChain> {
    const control = new KitControl();
    const dir = mkdtempSync(join(tmpdir(), 'headgate-plugin-'));
    const insert = plugins.map(({ plugin: { name }, options, before, after }) => ({
      name,
      ...(before === undefined ? { after: after ?? 'config' } : { before }),
      options,
    }));
    const { channel, shared } = control;
    const base = {
      init: initOf(control, dir, { hookTimeoutMs, plugins: { directory: null, insert } }),
      log,
      channel,
      shared,
      send: () => {},
      plugins: new Map(plugins.map(({ plugin }) => [plugin.name, plugin])),
    };
    const running = partsInProcess(upstream).running(base, log);
    const remove = (): void => rmSync(dir, { recursive: true, force: true });
    try {
      const { pipeline, metrics } = await running.start();
      Object.assign(pipeline.counter, estimates);
      inContext(pipeline.journal);
      const close = (): Promise<void> => running.stop().finally(remove);
      return new KitChain(control, createHandler(pipeline), metrics, close);
    } catch (error) {
      remove();
      // Without the part of the process in which it happened.
      throw (error as { cause?: unknown }).cause ?? error;
    }
  }
}

/** In place of counting, whose threads would outlast the test: four bytes a token. */
const estimates: Pick<TokenCounter, 'count' | 'exceeds'> = {
  async count({ request, answer }) {
    const [input, output] = [request?.length ?? 0, answer.length].map((bytes) => Math.ceil(bytes / 4));
    return { ...noUsage(), input: input!, output: output!, source: 'counted' };
  },
  exceeds: async () => null,
};

/** Intents of one turn are written together; each request still continues with its own context. */
function inContext(journal: Journal): void {
  const intend = journal.intend.bind(journal);
  journal.intend = (intent, waiter) =>
    waiter === undefined
      ? intend(intent)
      : intend(intent, { intended: AsyncResource.bind(() => waiter.intended()) });
}

function initOf(
  { pepper }: KitControl,
  journalDir: string,
  more: Pick<WorkerInit, 'hookTimeoutMs' | 'plugins'>,
): WorkerInit {
  return {
    worker: 0,
    workers: 1,
    administration: false,
    deployment: null,
    workspaceWeights: {},
    prices: {},
    pricesRevision: 0,
    pepper: pepper.toString('hex'),
    host: '127.0.0.1',
    port: 0,
    shared: false,
    isFirst: true,
    memoryBytes: null,
    transport: 'node',
    headerPrefixes: ['x-gateway-'],
    egressAllow: [],
    ownIdentity: [],
    journalDir,
    nodeId: '0190a1b2-0000-7000-8000-0000000000a1',
    logBodies: false,
    sendsTraces: false,
    log: { level: 'warn', format: 'json' },
    bodyLimitBytes: 32 * 1024 * 1024,
    upstreamConnections: 8,
    upstreamClient: 'own',
    upstreamProxy: null,
    timeouts: { connectMs: 5000, headersMs: 60_000, firstTokenMs: 60_000, idleMs: 60_000 },
    writeTimeoutMs: 30_000,
    whenClientLeaves: 'cancel',
    stages: stageDefaults(),
    ...more,
  };
}

/** The settings of the gateway's own stages, as they are where none is set. */
function stageDefaults(): WorkerInit['stages'] {
  return Object.fromEntries(
    stages.map(({ name, settings = {} }) => [
      name,
      Object.fromEntries(Object.entries(settings).map(([key, setting]) => [key, setting.default])),
    ]),
  );
}
