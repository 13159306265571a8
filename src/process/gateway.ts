import { scheduler } from 'node:timers/promises';
import type { Settings } from '../common/settings/settings.js';
import type { FirstKeys } from '../control-plane/store/store.js';
import { installLastHandler } from './ending/last-handler.js';
import { stopBySignal } from './ending/signals.js';
import { openLog } from './log/log.js';
import { storedPrices } from './own-prices.js';
import { PartList } from './part-list.js';
import { administration } from './parts/administration.js';
import { alertsPart } from './parts/alerts.js';
import { analyticsPart } from './parts/analytics.js';
import { anchoringPart } from './parts/anchoring.js';
import { anomaliesPart } from './parts/anomalies.js';
import type { Base } from './parts/base.js';
import { breakersPart } from './parts/breakers.js';
import { dataDirectory } from './parts/data-directory.js';
import { deploymentPart } from './parts/deployment.js';
import { firstKeysPart } from './parts/first-keys.js';
import { ingestionPart } from './parts/ingestion.js';
import { keyRotationPart } from './parts/key-rotation.js';
import { ledgerPart } from './parts/ledger.js';
import { logExportsPart } from './parts/log-exports.js';
import { logSinksPart } from './parts/log-sinks.js';
import { mailPart } from './parts/mail.js';
import { modelLists } from './parts/model-lists.js';
import { nodePart } from './parts/node.js';
import { opsPart } from './parts/ops.js';
import { otherNodes } from './parts/other-nodes.js';
import { ownPriority } from './parts/own-priority.js';
import { partitionsPart } from './parts/partitions.js';
import { pricesPart } from './parts/prices.js';
import { pruning } from './parts/pruning.js';
import { redisPart } from './parts/redis.js';
import { retentionPart } from './parts/retention.js';
import { runsOfSchedules, schedulesPart } from './parts/schedules.js';
import { secretReferencesPart } from './parts/secret-references.js';
import { simulatedProvider } from './parts/simulated-provider.js';
import { stagesPart } from './parts/stages.js';
import { storePart } from './parts/store.js';
import { tokensPart } from './parts/tokens.js';
import { unredactedTexts } from './parts/unredacted-texts.js';
import { workerProcesses } from './parts/worker-processes.js';
import { workersPart } from './parts/workers.js';

/** A running gateway. */
export interface Gateway {
  /** `http://host:port` of the data plane. */
  readonly address: string;
  /** null: this node has no administration plane. */
  readonly grpcAddress: string | null;
  readonly opsAddress: string;
  /** Set on the very first start only. */
  readonly firstKeys: FirstKeys | null;
  /** The link by which the first owner signs up; null on every later start. */
  readonly ownerLink: string | null;
  readonly simulated: boolean;
  /** Drains and ends everything; resolves when nothing is left. */
  stop(): Promise<void>;
}

/** The parts of the control process in the order in which they start. A further server or schedule is one more line. */
const parts = PartList.given<Base>()
  .with(dataDirectory)
  .with(workerProcesses)
  .with(storePart)
  .with(nodePart)
  .with(deploymentPart)
  .with(schedulesPart)
  .with(ledgerPart)
  .with(ingestionPart)
  .with(partitionsPart)
  .with(retentionPart)
  .with(firstKeysPart)
  .with(mailPart)
  .with(alertsPart)
  .with(simulatedProvider)
  .with(redisPart)
  .with(breakersPart)
  .with(stagesPart)
  .with(modelLists)
  .with(unredactedTexts)
  .with(pruning)
  .with(logSinksPart)
  .with(secretReferencesPart)
  .with(otherNodes)
  .with(tokensPart)
  .with(keyRotationPart)
  .with(anchoringPart)
  .with(pricesPart)
  .with(analyticsPart)
  .with(anomaliesPart)
  .with(logExportsPart)
  .with(administration)
  .with(workersPart)
  .with(runsOfSchedules)
  .with(ownPriority)
  .with(opsPart);

/** Milliseconds after the drain, for killing workers, the last records, and the store. */
const afterDrainMs = 10_000;

/** Starts the control process's parts and its data workers; resolves when requests are served. */
export async function startGateway(
  settings: Settings,
  reread: (() => Settings) | null = null,
): Promise<Gateway> {
  const { log, dropped: droppedLines } = openLog(
    { level: settings.logLevel, format: settings.logFormat },
    { process: 'control' },
  );
  const running = parts.running(
    { settings, reread, ownPrices: storedPrices(settings), log, droppedLines },
    log,
  );
  const stop = (): Promise<void> => running.stop();
  installLastHandler({ log, drain: stop, deadlineMs: settings.drainTimeoutMs + afterDrainMs });
  const { workers, port, admin, ops, firstKeys, ownerLink, simulated } = await running.start();
  stopBySignal({
    async leave() {
      if (settings.drainDelayMs === 0) return;
      workers.announceDrain();
      log.info({ drainDelayMs: settings.drainDelayMs }, 'leaving: not ready, calls are still accepted');
      await scheduler.wait(settings.drainDelayMs);
    },
    stop,
    cut: () => workers.kill(),
    inFlight: () => workers.inFlight,
    drainTimeoutMs: settings.drainTimeoutMs,
    log,
  });
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  return {
    address: `http://${host}:${port}`,
    grpcAddress: admin === null ? null : `${host}:${admin.port}`,
    opsAddress: `http://${host}:${ops.port}`,
    firstKeys,
    ownerLink,
    simulated: simulated !== null,
    stop,
  };
}
