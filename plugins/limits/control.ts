import type { ControlHost, RunningPart } from '../../src/common/plugin-host/control.js';
import type { Back, Grant, LimitRefusal, Wanted } from './channel.js';
import { Counters } from './control/counters.js';
import { KeptWindows } from './control/kept-windows.js';
import { Recalls } from './control/recalls.js';
import { RedisCounters } from './control/redis-counters.js';

export interface LimitSettings {
  readonly withoutRedis: 'local_share' | 'closed';
}

/**
 * The limits' part in the control process: it counts for all workers of the node, and grants them permits.
 *
 *   counters.ts        what was taken of each limit, and by which worker
 *   window.ts          a window that moves with the clock
 *   recalls.ts         permits that workers give back before a request is refused
 *   kept-windows.ts    the counts on disk, of a node that is alone
 *   redis-counters.ts  the counts of all nodes, where there is a Redis
 */
export default async function start(settings: LimitSettings, host: ControlHost): Promise<RunningPart> {
  const { shared, workers, nodes, log } = host;
  const own = new Counters({ workers });
  const kept = nodes === null ? await KeptWindows.open(own, host) : null;
  const all =
    nodes === null ? null : new RedisCounters({ nodes, own, workers, without: settings.withoutRedis, log });
  const recalls = new Recalls((counter) => shared.broadcast('limits-recall', { counter }));

  const takeOnce = (worker: number, wanted: readonly Wanted[]) => (all ?? own).take(worker, wanted);
  const take = async (
    worker: number,
    wanted: readonly Wanted[],
  ): Promise<readonly Grant[] | LimitRefusal | null> => {
    const first = await takeOnce(worker, wanted);
    if (first === null || !('refused' in first)) return first;
    const refused = wanted[first.refused]!;
    const holders = own.holders(worker, refused);
    if (holders.length === 0) return first;
    await recalls.ask(refused.counter, holders);
    own.recalled(refused.counter, holders);
    return takeOnce(worker, wanted);
  };
  const giveBack = (worker: number, back: readonly Back[]): void => (all ?? own).back(worker, back);

  /** How often the worker with this number has ended. */
  const ends = new Map<number, number>();
  const endsOf = (worker: number): number => ends.get(worker) ?? 0;

  shared.answer('limits-take', async ({ wanted, back }, worker) => {
    giveBack(worker, back);
    const before = endsOf(worker);
    const answer = await take(worker, wanted);
    if (endsOf(worker) === before || answer === null || 'refused' in answer) return answer;
    // It ended meanwhile, and will not give back what it never got.
    const granted = answer.map(({ taken, extra, slot }, i) => {
      const { counter, windowMs } = wanted[i]!;
      return { counter, windowMs, slot, amount: taken + extra };
    });
    giveBack(worker, granted);
    return null;
  });
  shared.answer('limits-look', ({ limits }) => Promise.all(limits.map((one) => (all ?? own).left(one))));
  shared.on('limits-back', ({ back }, worker) => {
    giveBack(worker, back);
    recalls.answered(worker, back);
  });
  return {
    workerGone(worker) {
      ends.set(worker, endsOf(worker) + 1);
      (all ?? own).gone(worker);
      recalls.gone(worker);
    },
    async close() {
      all?.close();
      await kept?.close();
    },
  };
}
