import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { Records } from './store.js';

const everyMs = 10 * 60_000;

/** Removes records whose time is over. */
export const pruning: ProcessPart<Base & Records, { readonly pruneTimer: NodeJS.Timeout | undefined }> = {
  name: 'pruning of records',
  start({ settings, store, log }) {
    if (settings.role === 'data') return { pruneTimer: undefined };
    const prune = () => store.prune().catch((error) => log.error({ err: error }, 'prune'));
    return { pruneTimer: setInterval(prune, everyMs).unref() };
  },
  stop: ({ pruneTimer }) => clearInterval(pruneTimer),
};
