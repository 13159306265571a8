import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { LedgerGiven } from './ledger.js';
import type { Records } from './store.js';
import type { WorkerProcesses } from './worker-processes.js';

/** Answers which models a caller may use. */
export const modelLists: ProcessPart<Base & Records & LedgerGiven & WorkerProcesses, void> = {
  name: 'lists of models',
  async start({ store, ledger, workers }) {
    const { answerModels } = await import(
      '../../control-plane/administration/resources/models/model-lists.js'
    );
    workers.shared.answer('models', (asked) => answerModels({ store, budgets: ledger.budgets }, asked));
  },
};
