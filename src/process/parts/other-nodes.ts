import { forgetEverything } from '../../common/ipc/messages.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { Records } from './store.js';
import type { WorkerProcesses } from './worker-processes.js';

/** What another node has changed, the workers of this one forget too. */
export const otherNodes: ProcessPart<Base & Records & WorkerProcesses, void> = {
  name: 'changes of other nodes',
  async start({ settings, store, workers, log }) {
    if (settings.databaseUrl === null) return;
    await store.changes.watch((changes) => {
      const what = changes === 'missed' ? forgetEverything : changes.flatMap(({ forget = [] }) => forget);
      if (what.length === 0) return;
      workers.forget(what).catch((error) => log.error({ err: error }, 'changes of other nodes'));
    });
  },
};
