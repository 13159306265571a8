import type { ControlHost, RunningPart } from '../../src/common/plugin-host/control.js';
import type { Grant, LimitRefusal, Wanted } from './channel.js';
import { Counters } from './control/counters.js';
import { KeptWindows } from './control/kept-windows.js';
import { Recalls } from './control/recalls.js';

/**
 * The limits' part in the control process: it counts for all workers of the node, and grants them permits.
 *
 *   counters.ts      what was taken of each limit, and by which worker
 *   window.ts        a window that moves with the clock
 *   recalls.ts       permits that workers give back before a request is refused
 *   kept-windows.ts  the counts on disk
 */
export default async function start(_settings: unknown, host: ControlHost): Promise<RunningPart> {
  const { shared, workers } = host;
  const counters = new Counters({ workers });
  const kept = await KeptWindows.open(counters, host);
  const recalls = new Recalls((counter) => shared.broadcast('limits-recall', { counter }));
  const take = async (
    worker: number,
    wanted: readonly Wanted[],
  ): Promise<readonly Grant[] | LimitRefusal> => {
    const first = counters.take(worker, wanted);
    if (!('refused' in first)) return first;
    const refused = wanted[first.refused]!;
    const holders = counters.holders(worker, refused);
    if (holders.length === 0) return first;
    await recalls.ask(refused.counter, holders);
    return counters.take(worker, wanted);
  };
  shared.answer('limits-take', ({ wanted, back }, worker) => {
    counters.back(worker, back);
    return take(worker, wanted);
  });
  shared.on('limits-back', ({ back }, worker) => {
    counters.back(worker, back);
    recalls.answered(worker, back);
  });
  return {
    workerGone(worker) {
      counters.gone(worker);
      recalls.gone(worker);
    },
    close: () => kept?.close(),
  };
}
