import { type FileJournal, openJournal } from '../../../data-plane/journal/journal.js';
import type { ProcessPart } from '../../part-list.js';
import type { WorkerBase } from './base.js';

export interface JournalGiven {
  readonly journal: FileJournal;
}

/** The records of requests, on their way to the ledger. Before all that makes records, so that it is closed after it. */
export const journalPart: ProcessPart<WorkerBase, JournalGiven> = {
  name: 'journal',
  start: ({ init, log }) => ({
    journal: openJournal({
      dir: init.journalDir,
      worker: String(init.worker),
      node: init.nodeId,
      onProblem: (error) => log.error({ err: error }, 'journal'),
    }),
  }),
  stop: ({ journal }) => journal.close(),
};
