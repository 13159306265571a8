import { type LogSinkSettings, logSinkName, readLogSinks } from '../../common/settings/log-sinks.js';
import type { Settings } from '../../common/settings/settings.js';
import { withDeadline } from '../../common/threads/deadline.js';
import type { LedgerFollower } from '../../control-plane/telemetry/sinks/follower.js';
import type { LineOf, LogSink } from '../../control-plane/telemetry/sinks/sink.js';
import { version } from '../node/version.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { LedgerGiven } from './ledger.js';
import type { SchedulesGiven } from './schedules.js';
import type { Records } from './store.js';

export interface LogSinksGiven {
  readonly followers: readonly LedgerFollower[];
}

/** A run ends after so long, and another one begins: where nodes share the work, each may get it. Milliseconds. */
const runMs = 600_000;

/** Sends rows of requests to other systems, and spans to a collector: the work of the schedule `log-sinks`, so that one node does it for all. */
export const logSinksPart: ProcessPart<Base & Records & LedgerGiven & SchedulesGiven, LogSinksGiven> = {
  name: 'log sinks',
  async start({ settings, store, ledger, schedules, log }) {
    if (settings.logSinks === null && settings.otelExporterOtlpEndpoint === null) return { followers: [] };
    const [{ LedgerFollower }, { sentLine }] = await Promise.all([
      import('../../control-plane/telemetry/sinks/follower.js'),
      import('../../control-plane/administration/resources/logs/log-metrics.js'),
    ]);
    const rows = settings.logSinks === null ? [] : readLogSinks(settings.logSinks.reveal());
    const sinks = await Promise.all([
      ...rows.map((sink) => open(sink, sentLine, settings.awsEndpointUrlS3)),
      ...(settings.otelExporterOtlpEndpoint === null
        ? []
        : [openTelemetry(settings.otelExporterOtlpEndpoint, settings)]),
    ]);
    const followers = sinks.map((sink) => new LedgerFollower({ sink, ledger, cursors: store.cursors, log }));
    // The gateway starts even if the store is unavailable: the first run begins there then.
    await Promise.all(followers.map((follower) => follower.begin().catch(() => {})));
    schedules.add('log-sinks', async (run) => {
      await withDeadline(runMs, run.signal, (signal) =>
        Promise.all(followers.map((follower) => follower.follow(signal))),
      );
    });
    return { followers };
  },
};

async function openTelemetry(endpoint: string, settings: Settings): Promise<LogSink> {
  const { otlpSink } = await import('../../control-plane/telemetry/otel/otlp-sink.js');
  return otlpSink({
    ...{ endpoint, protocol: settings.otelExporterOtlpProtocol, serviceName: settings.otelServiceName },
    headers: settings.otelExporterOtlpHeaders?.reveal() ?? null,
    resourceAttributes: settings.otelResourceAttributes,
    version: version(),
  });
}

async function open(settings: LogSinkSettings, lineOf: LineOf, endpoint: string | null): Promise<LogSink> {
  const name = logSinkName(settings);
  if (settings.type === 's3') {
    const { s3Sink } = await import('../../control-plane/telemetry/sinks/s3-sink.js');
    return s3Sink(name, settings, lineOf, endpoint);
  }
  const { httpSink } = await import('../../control-plane/telemetry/sinks/http-sink.js');
  return httpSink(name, settings, lineOf);
}
