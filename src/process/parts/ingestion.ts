import type { Ingestion } from '../../control-plane/ingestion/ingest.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { DataDirectory } from './data-directory.js';
import type { LedgerGiven } from './ledger.js';
import type { WorkerProcesses } from './worker-processes.js';

/** Turns the workers' journals into rows of the ledger; what an earlier run has left comes first. */
export const ingestionPart: ProcessPart<
  Base & DataDirectory & WorkerProcesses & LedgerGiven,
  { readonly ingestion: Ingestion }
> = {
  name: 'ingestion of journals',
  // The last records may be many.
  stopMs: 10_000,
  async start({ journalDir, ledger, workers, log }) {
    const { startIngestion } = await import('../../control-plane/ingestion/ingest.js');
    const ingestion = startIngestion({
      dir: journalDir,
      ledger,
      onProblem: (error) => log.error({ err: error }, 'ingestion'),
    });
    workers.onGone((worker, pid) => {
      ingestion
        .workerGone(String(worker), pid)
        .catch((error: unknown) => log.error({ err: error }, 'replay'));
    });
    return { ingestion };
  },
  async stop({ ingestion }) {
    await ingestion.flush();
    await ingestion.stop();
  },
};
