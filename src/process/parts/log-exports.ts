import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../../common/settings/settings.js';
import type { ExportDestination } from '../../control-plane/exports/destination.js';
import type { LogExporter } from '../../control-plane/exports/exporter.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { DataDirectory } from './data-directory.js';
import type { LedgerGiven } from './ledger.js';
import type { SchedulesGiven } from './schedules.js';
import type { Records } from './store.js';

export interface LogExportsGiven {
  /** null: a node with the role data has none. */
  readonly logExporter: LogExporter | null;
  readonly expiry: NodeJS.Timeout | undefined;
}

const dayMs = 86_400_000;
/** Each node looks for files whose time is over, since they may be in its own folder. */
const expiryMs = 600_000;
const firstExpiryMs = 10_000;

/** Writes exports of logs. Those that this node had begun before its start are gone on with. */
export const logExportsPart: ProcessPart<
  Base & DataDirectory & Records & LedgerGiven & SchedulesGiven,
  LogExportsGiven
> = {
  name: 'exports of logs',
  async start({ settings, nodeId, store, ledger, schedules, log }) {
    if (settings.role !== 'all') return { logExporter: null, expiry: undefined };
    const [{ LogExporter }, { exportForm }, destination] = await Promise.all([
      import('../../control-plane/exports/exporter.js'),
      import('../../control-plane/administration/usage/export-form.js'),
      destinationOf(settings),
    ]);
    const logExporter = new LogExporter({
      exports: store.logExports,
      formOf: exportForm,
      ...{ ledger, destination, nodeId, log },
      keepMs: settings.exportRetentionDays === 0 ? null : settings.exportRetentionDays * dayMs,
      isShared: settings.exportUrl !== null,
    });
    const expire = (): void => void logExporter.expire();
    setTimeout(expire, firstExpiryMs).unref();
    const expiry = setInterval(expire, expiryMs).unref();
    // A run of the schedule ends at once: what others write or what takes long is no matter of it.
    schedules.add('log-exports', async () => void logExporter.look());
    logExporter.wake();
    return { logExporter, expiry };
  },
  drain({ logExporter, expiry }) {
    clearInterval(expiry);
    void logExporter?.stop();
  },
  stop: async ({ logExporter }) => logExporter?.stop(),
};

async function destinationOf({ exportUrl, dataDir, awsEndpointUrlS3 }: Settings): Promise<ExportDestination> {
  if (exportUrl?.startsWith('s3:')) {
    const { s3Destination } = await import('../../control-plane/exports/s3-destination.js');
    return s3Destination(exportUrl, awsEndpointUrlS3);
  }
  const { fileDestination } = await import('../../control-plane/exports/file-destination.js');
  return fileDestination(exportUrl === null ? join(dataDir, 'exports') : fileURLToPath(exportUrl));
}
