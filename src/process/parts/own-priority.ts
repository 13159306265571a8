import type { ProcessPart } from '../part-list.js';
import { stepBack } from '../priority.js';
import type { Base } from './base.js';
import type { WorkerProcesses } from './worker-processes.js';

/** Lowers this process's priority. After the workers listen, so as not to slow down the start. */
export const ownPriority: ProcessPart<Base & WorkerProcesses, void> = {
  name: 'priority of the control process',
  start({ settings, workers }) {
    workers.onForked(stepBack(settings.controlNice));
  },
};
