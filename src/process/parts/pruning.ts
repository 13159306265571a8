import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { Records } from './store.js';

const everyMs = 10 * 60_000;

/** Removes records whose time is over. */
export const pruning: ProcessPart<Base & Records, { readonly pruneTimer: NodeJS.Timeout }> = {
  name: 'pruning of records',
  start({ store, log }) {
    const prune = () => store.prune().catch((error) => log.error({ err: error }, 'prune'));
    return { pruneTimer: setInterval(prune, everyMs).unref() };
  },
  stop: ({ pruneTimer }) => clearInterval(pruneTimer),
};
