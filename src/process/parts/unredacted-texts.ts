import { UnredactedIntake } from '../../control-plane/shared-state/unredacted-bodies.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { Records } from './store.js';
import type { WorkerProcesses } from './worker-processes.js';

/** Keeps bodies as they were before guardrails changed them, sealed, unless this node keeps no bodies at all. */
export const unredactedTexts: ProcessPart<Base & Records & WorkerProcesses, void> = {
  name: 'unredacted texts',
  start({ settings, store, workers }) {
    const intake = new UnredactedIntake((body) => store.unredactedTexts.put(body));
    workers.shared.answer('unredacted-text', (body) => (settings.logBodies ? intake.take(body) : 'unwanted'));
  },
};
