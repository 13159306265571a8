import type { ControlHost, RunningPart } from '../../src/common/plugin-host/control.js';
import type { Back, Grant, LimitRefusal, Wanted, WantedBudget } from './channel.js';
import { type Asker, BudgetCounters } from './control/budget-counters.js';
import { Counters } from './control/counters.js';
import { KeptWindows } from './control/kept-windows.js';
import { Recalls } from './control/recalls.js';
import { RedisBudgets } from './control/redis-budgets.js';
import { RedisCounters } from './control/redis-counters.js';

export interface LimitSettings {
  readonly withoutRedis: 'local_share' | 'closed';
}

type Answer = readonly Grant[] | LimitRefusal | null;

/**
 * The limits' part in the control process: it counts for all workers of the node, and grants them permits.
 *
 *   counters.ts         what was taken of each rate limit, and by which worker
 *   window.ts           a window that moves with the clock
 *   budget-counters.ts  what is used of each budget, from the ledger on
 *   counter-map.ts      counters by name, bounded
 *   ahead.ts            how much a worker is granted ahead
 *   recalls.ts          permits that workers give back before a request is refused
 *   kept-windows.ts     the counts of rate limits on disk, of a node that is alone
 *   redis-counters.ts   the counts of all nodes, where there is a Redis; redis-budgets.ts: those of budgets
 */
export default async function start(settings: LimitSettings, host: ControlHost): Promise<RunningPart> {
  const { shared, workers, nodes, log, spent } = host;
  const without = settings.withoutRedis;
  const own = new Counters({ workers });
  const kept = nodes === null ? await KeptWindows.open(own, host) : null;
  const all = nodes === null ? null : new RedisCounters({ nodes, own, workers, without, log });
  const budgets: BudgetCounters = new BudgetCounters({
    workers,
    spent,
    onChange: (counter, amount) => allBudgets?.changed(counter, amount),
    onReset: (name, takenAway) => allBudgets?.reset(name, takenAway),
  });
  const allBudgets =
    nodes === null || all === null
      ? null
      : new RedisBudgets({ nodes, own: budgets, spent, workers, without, count: () => all.count });
  const recalls = new Recalls((counter) => shared.broadcast('limits-recall', { counter }));

  /** Asks, and where it is refused once more when the workers that hold permits of it have given them back. */
  const withRecall = async <W extends { readonly counter: string }>(
    of: {
      holders(worker: number, one: W): readonly number[];
      recalled(name: string, workers: readonly number[]): void;
      inVain?(name: string): void;
    },
    worker: number,
    wanted: readonly W[],
    take: () => Answer | Promise<Answer>,
  ): Promise<Answer> => {
    const first = await take();
    if (first === null || !('refused' in first)) return first;
    const refused = wanted[first.refused]!;
    const holders = of.holders(worker, refused);
    if (holders.length === 0) return first;
    await recalls.ask(refused.counter, holders);
    of.recalled(refused.counter, holders);
    const second = await take();
    if (second !== null && 'refused' in second && wanted[second.refused] === refused)
      of.inVain?.(refused.counter);
    return second;
  };

  const giveBack = (from: Asker, back: readonly Back[]): void => {
    const ofBudgets = back.filter(({ isBudget }) => isBudget === true);
    if (ofBudgets.length > 0) budgets.back(from, ofBudgets);
    if (ofBudgets.length < back.length)
      (all ?? own).back(
        from.worker,
        ofBudgets.length === 0 ? back : back.filter(({ isBudget }) => isBudget !== true),
      );
  };

  const take = async (
    from: Asker,
    wanted: readonly Wanted[],
    ofBudgets: readonly WantedBudget[],
  ): Promise<Answer> => {
    const { worker } = from;
    // Budgets first: a request that has none left has nothing to wait for, whatever is left of its rate limits.
    const spendable =
      ofBudgets.length === 0
        ? []
        : await withRecall(budgets, worker, ofBudgets, () => (allBudgets ?? budgets).take(from, ofBudgets));
    if (spendable === null) return null;
    if ('refused' in spendable) return { ...spendable, refused: wanted.length + spendable.refused };
    if (wanted.length === 0) return spendable;
    const granted = await withRecall(own, worker, wanted, () => (all ?? own).take(worker, wanted));
    if (granted !== null && !('refused' in granted)) return [...granted, ...spendable];
    budgets.back(from, backOf([], ofBudgets, spendable));
    return granted;
  };

  /** How often the worker with this number has ended. */
  const ends = new Map<number, number>();
  const endsOf = (worker: number): number => ends.get(worker) ?? 0;

  shared.answer('limits-take', async ({ pid, wanted, budgets: ofBudgets, back }, worker) => {
    const from = { worker, pid };
    giveBack(from, back);
    const before = endsOf(worker);
    const answer = await take(from, wanted, ofBudgets);
    if (endsOf(worker) === before || answer === null || 'refused' in answer) return answer;
    // It ended during the question, and will not give back what it never got.
    giveBack(from, backOf(wanted, ofBudgets, answer));
    return null;
  });
  shared.answer('limits-look', ({ limits }) => Promise.all(limits.map((one) => (all ?? own).left(one))));
  shared.on('limits-back', ({ pid, back }, worker) => {
    giveBack({ worker, pid }, back);
    recalls.answered(worker, back);
  });
  return {
    workerGone(worker) {
      ends.set(worker, endsOf(worker) + 1);
      (all ?? own).gone(worker);
      budgets.gone(worker);
      recalls.gone(worker);
    },
    async close() {
      all?.close();
      allBudgets?.close();
      await kept?.close();
    },
  };
}

/** All that was granted, first of the rate limits, then of the budgets. */
const backOf = (
  wanted: readonly Wanted[],
  budgets: readonly WantedBudget[],
  grants: readonly Grant[],
): Back[] =>
  grants.map(({ taken, extra, slot }, i) => {
    const amount = taken + extra;
    if (i < wanted.length)
      return { counter: wanted[i]!.counter, windowMs: wanted[i]!.windowMs, slot, amount };
    return { counter: budgets[i - wanted.length]!.counter, isBudget: true, windowMs: null, slot, amount };
  });
