import { type Forget, forgetEverything } from '../../common/ipc/messages.js';
import type { Metric } from '../../common/plugin-host/metrics.js';
import type { KnownRecords } from '../../control-plane/store/known/known-records.js';
import type { Store } from '../../control-plane/store/store.js';
import type { ProcessPart } from '../part-list.js';
import type { Base } from './base.js';
import type { SecretReferencesGiven } from './secret-references.js';
import type { Records } from './store.js';
import type { WorkerProcesses } from './worker-processes.js';

export interface ChangesGiven {
  /** Resolves when every worker has forgotten it. */
  readonly forget: (what: readonly Forget[]) => Promise<void>;
  /** Calls the listener with everything that this node has to forget, before its data workers forget it. */
  readonly onForget: (listener: (what: readonly Forget[]) => void) => void;
  readonly storeMetrics: () => readonly Metric[];
  readonly staleTimer: NodeJS.Timeout | null;
}

const everyMs = 1000;

/** What was changed, on this node or another, this one forgets: at once, or when the store is back. */
export const otherNodes: ProcessPart<Base & Records & SecretReferencesGiven & WorkerProcesses, ChangesGiven> =
  {
    name: 'changes of other nodes',
    async start({ settings, store, known, secretValues, workers, log }) {
      const listeners: ((what: readonly Forget[]) => void)[] = [];
      const onForget: ChangesGiven['onForget'] = (listener) => void listeners.push(listener);
      const forget = (what: readonly Forget[]): Promise<void> => {
        known?.forget(what);
        secretValues.forgotten(what);
        for (const listener of listeners) listener(what);
        return workers.forget(what);
      };
      if (known === null) return { forget, onForget, storeMetrics: () => [], staleTimer: null };
      const heard = (what: readonly Forget[]): void => {
        if (what.length === 0) return;
        forget(what).catch((error) => log.error({ err: error }, 'changes of other nodes'));
      };
      store.changes.onCurrent((point) => known.current(point));
      await store.changes.watch(
        (changes) =>
          heard(changes === 'missed' ? forgetEverything : changes.flatMap(({ forget: what = [] }) => what)),
        known.isNew ? undefined : known.point,
      );
      const staleTimer = watchAge(known, () => {
        log.error(
          { seconds: settings.staleMaxS },
          'PostgreSQL has been away for longer than stale_max_s: requests get 503.',
        );
        heard(forgetEverything);
      });
      return { forget, onForget, storeMetrics: () => storeMetrics(store), staleTimer };
    },
    stop({ staleTimer }) {
      if (staleTimer !== null) clearInterval(staleTimer);
    },
  };

/** Calls `stale` whenever what is known has become too old. */
function watchAge(known: KnownRecords, stale: () => void): NodeJS.Timeout {
  let wasStale = known.isStale;
  const timer = setInterval(() => {
    const { isStale } = known;
    if (isStale && !wasStale) stale();
    wasStale = isStale;
  }, everyMs);
  return timer.unref();
}

const storeMetrics = ({ state, changes: { behindMs } }: Store): readonly Metric[] => [
  { name: 'gateway_store_up', labels: {}, value: state === 'up' ? 1 : 0 },
  { name: 'gateway_changes_behind_seconds', labels: {}, value: (behindMs ?? 0) / 1000 },
];
