import type { WorkerInit } from '../../common/ipc/messages.js';
import type { InsertedPlugins } from '../../common/plugin-host/files/inserted.js';
import type { OwnPrices } from '../../common/prices/pricing.js';
import type { Settings } from '../../common/settings/settings.js';
import { nodeTransportCanShare } from '../../data-plane/transport/node/node.js';

/** The settings of a data worker. */
export function workerInit(
  settings: Settings,
  worker: number,
  count: number,
  {
    journalDir,
    nodeId,
    deployment,
  }: { readonly journalDir: string; readonly nodeId: string; readonly deployment: string | null },
  pepper: string,
  plugins: InsertedPlugins,
  prices: { readonly own: OwnPrices; readonly revision: number },
): WorkerInit {
  return {
    worker,
    pepper,
    host: settings.host,
    port: settings.port,
    workers: count,
    administration: settings.role === 'all',
    deployment,
    workspaceWeights: { ...settings.workspaceWeights },
    prices: prices.own,
    pricesRevision: prices.revision,
    // A worker that uses too much memory is replaced by one beside it.
    shared: count > 1 || settings.transport === 'uws' || nodeTransportCanShare,
    isFirst: false,
    memoryBytes:
      settings.workerMemoryMegabytes === null ? null : settings.workerMemoryMegabytes * 1024 * 1024,
    transport: settings.transport,
    headerPrefixes: [...settings.headerPrefixes],
    egressAllow: [...settings.egressAllow],
    ownIdentity: [...settings.ownIdentity],
    journalDir,
    nodeId,
    logBodies: settings.logBodies,
    sendsTraces: settings.otelExporterOtlpEndpoint !== null,
    log: { level: settings.logLevel, format: settings.logFormat },
    bodyLimitBytes: settings.bodyLimitBytes,
    upstreamConnections: settings.upstreamConnections,
    upstreamClient: settings.upstreamClient,
    upstreamProxy: settings.upstreamProxy?.reveal() ?? null,
    timeouts: {
      connectMs: settings.connectTimeoutMs,
      headersMs: settings.headersTimeoutMs,
      firstTokenMs: settings.firstTokenTimeoutMs,
      idleMs: settings.idleTimeoutMs,
    },
    writeTimeoutMs: settings.writeTimeoutMs,
    whenClientLeaves: settings.whenClientLeaves,
    stages: settings.stages,
    hookTimeoutMs: settings.hookTimeoutMs,
    plugins,
  };
}
