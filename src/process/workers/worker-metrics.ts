import type { Metric } from '../../common/plugin-host/metrics.js';
import type { WorkerReport } from './worker-member.js';

/** What the data workers last reported, as metrics. `droppedLines`: of the control process's own log. */
export function workerMetrics(report: readonly WorkerReport[], droppedLines: number): Metric[] {
  const perWorker = (
    name: string,
    value: (worker: WorkerReport) => number,
    more: Record<string, string> = {},
  ): Metric[] =>
    report.map((worker) => ({
      name,
      labels: { worker: String(worker.worker), ...more },
      value: value(worker),
    }));
  return [
    ...perWorker('gateway_worker_ready', (worker) => (worker.ready ? 1 : 0)),
    ...perWorker('gateway_worker_memory_bytes', (worker) => worker.memoryBytes),
    ...perWorker('gateway_inflight_requests', (worker) => worker.inFlight),
    ...perWorker('gateway_log_dropped_total', (worker) => worker.dropped.records, { kind: 'record' }),
    ...perWorker('gateway_log_dropped_total', (worker) => worker.dropped.bodies, { kind: 'body' }),
    ...perWorker('gateway_log_dropped_total', (worker) => worker.dropped.lines, { kind: 'log_line' }),
    {
      name: 'gateway_log_dropped_total',
      labels: { process: 'control', kind: 'log_line' },
      value: droppedLines,
    },
    ...perWorker('gateway_event_loop_delay_seconds', (worker) => worker.loopDelayMs / 1000, {
      quantile: '0.999',
    }),
    ...report.flatMap(({ worker, metrics }) =>
      metrics.map(({ name, labels, value }) => ({
        name,
        labels: { worker: String(worker), ...labels },
        value,
      })),
    ),
  ];
}
