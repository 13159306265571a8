import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { Records } from './store.js';
import type { WorkerProcesses } from './worker-processes.js';

/** Keeps bodies as they were before guardrails changed them, sealed, unless this node keeps no bodies at all. */
export const unredactedTexts: ProcessPart<Base & Records & WorkerProcesses, void> = {
  name: 'unredacted texts',
  start({ settings, store, workers }) {
    workers.shared.answer('unredacted-text', async (body) => {
      if (!settings.logBodies) return false;
      await store.unredactedTexts.put(body);
      return true;
    });
  },
};
