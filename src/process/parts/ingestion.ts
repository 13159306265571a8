import type { SpentBudgets } from '../../common/plugin-host/control.js';
import type { Ingestion } from '../../control-plane/ingestion/ingest.js';
import type { RequestMetrics } from '../../control-plane/telemetry/request-metrics.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { DataDirectory } from './data-directory.js';
import type { LedgerGiven } from './ledger.js';
import type { NodeGiven } from './node.js';
import type { WorkerProcesses } from './worker-processes.js';

export interface IngestionGiven {
  readonly ingestion: Ingestion;
  readonly spent: SpentBudgets;
  readonly requestMetrics: RequestMetrics;
}

/** Turns the workers' journals into rows of the ledger; journals of earlier runs first. */
export const ingestionPart: ProcessPart<
  Base & DataDirectory & WorkerProcesses & LedgerGiven & NodeGiven,
  IngestionGiven
> = {
  name: 'ingestion of journals',
  // There may be many last records. What does not get there in time waits for the next start.
  stopMs: ({ sharedLedger }) => (sharedLedger === null ? 10_000 : 30_000),
  async start({ journalDir, ledger, sharedLedger, nodeId, workers, journal, log }) {
    const [{ startIngestion }, { Spent }, { RequestMetrics }] = await Promise.all([
      import('../../control-plane/ingestion/ingest.js'),
      import('../../control-plane/ledger/budgets/spent.js'),
      import('../../control-plane/telemetry/request-metrics.js'),
    ]);
    const requestMetrics = new RequestMetrics();
    const spent = new Spent({ ledger, node: nodeId, isShared: sharedLedger !== null });
    const ingestion = startIngestion({
      dir: journalDir,
      ledger,
      writers: spent,
      onProblem: (error) => log.error({ err: error }, 'ingestion'),
      onSettled: (rows) => requestMetrics.count(rows),
    });
    spent.waitFor(ingestion.firstPass);
    journal.behindMs = () => ingestion.behindMs;
    workers.onGone((worker, pid) => {
      ingestion
        .workerGone(String(worker), pid)
        .catch((error: unknown) => log.error({ err: error }, 'replay'));
    });
    return { ingestion, spent, requestMetrics };
  },
  async stop({ ingestion }) {
    await ingestion.flush();
    await ingestion.stop();
  },
};
