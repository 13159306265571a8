import type { MetricFamily } from '../../control-plane/telemetry/metric-family.js';
import { stages } from '../../data-plane/pipeline/plugins/stages.js';
import { controlConnections, descriptorLimit } from '../descriptors.js';
import { familiesOf } from '../health/metrics-text.js';
import { type OpsServer, type ReadinessCheck, startOpsServer } from '../health/ops-server.js';
import { version } from '../node/version.js';
import type { ProcessPart } from '../part-list.js';
import type { PluginKeeper } from '../workers/plugins/plugin-keeper.js';
import { workerMetrics } from '../workers/worker-metrics.js';
import type { Base } from './base.js';
import type { BreakersGiven } from './breakers.js';
import type { IngestionGiven } from './ingestion.js';
import type { LogSinksGiven } from './log-sinks.js';
import type { NodeGiven } from './node.js';
import type { ChangesGiven } from './other-nodes.js';
import type { RedisGiven } from './redis.js';
import type { SchedulesGiven } from './schedules.js';
import type { Records } from './store.js';
import type { WorkerProcesses } from './worker-processes.js';

const buildInfo: MetricFamily = {
  ...{ name: 'gateway_build_info', type: 'gauge', help: 'The program: always 1.' },
  samples: [{ labels: { version: version(), node: process.versions.node }, value: 1 }],
};

/** Names of the stages' metrics, with their help. */
const ofStages: Readonly<Record<string, string>> = Object.assign(
  {},
  ...stages.map(({ metrics = {} }) => metrics),
);

/** Probes and metrics, on a port of their own. */
export const opsPart: ProcessPart<
  Base &
    Records &
    WorkerProcesses &
    NodeGiven &
    SchedulesGiven &
    RedisGiven &
    BreakersGiven &
    ChangesGiven &
    IngestionGiven &
    LogSinksGiven & { readonly plugins: PluginKeeper },
  { readonly ops: OpsServer }
> = {
  name: 'health port',
  async start(given) {
    const {
      settings,
      store,
      workers,
      node,
      schedules,
      redis,
      breakers,
      plugins,
      storeMetrics,
      ingestion,
      requestMetrics,
      followers,
      log,
      droppedLines,
    } = given;
    const checks: ReadinessCheck[] = [
      { name: 'workers', ok: () => workers.ready > 0 },
      { name: 'shutdown', ok: () => !workers.leaving },
      // Of one that is shared it is known whether it answers: there is no wait.
      store.isShared
        ? { name: 'store', optional: true, ok: () => store.state === 'up' }
        : { name: 'store', ok: () => store.ping() },
    ];
    if (redis !== null) checks.push({ name: 'redis', optional: true, ok: () => redis.up });
    const ops = await startOpsServer({
      host: settings.host,
      port: settings.opsPort,
      checks,
      metrics: () => [
        buildInfo,
        ...requestMetrics.read(),
        ...familiesOf(
          [
            ...workerMetrics(workers.report(), droppedLines()),
            ...workers.renewal.metrics(),
            ...plugins.metrics(),
            ...breakers.metrics(),
            ...node.metrics(),
            ...schedules.metrics(),
            ...storeMetrics(),
            ...(redis?.metrics() ?? []),
            ...followers.flatMap((follower) => follower.metrics()),
            { name: 'gateway_journal_behind_seconds', labels: {}, value: ingestion.behindMs / 1000 },
          ],
          ofStages,
        ),
      ],
      maxConnections: controlConnections(descriptorLimit()).ops,
      log,
    });
    return { ops };
  },
  stop: ({ ops }) => ops.close(),
};
