import { setTimeout as delay } from 'node:timers/promises';
import { resetsNode } from '../../../src/common/core/charges.js';
import type { Nodes, SpentBudgets } from '../../../src/common/plugin-host/control.js';
import type { Grant, LimitRefusal, WantedBudget } from '../channel.js';
import { sharePart } from './ahead.js';
import { answerOf } from './answers.js';
import { type Asker, type BudgetCounters, refusalOf, type UsedBudget } from './budget-counters.js';
import { addBudgetScript, openBudgetScript, resetBudgetScript, takeBudgetScript } from './budget-scripts.js';
import { keyOf, returningMs } from './redis-counters.js';

/** How long a counter is kept in Redis beyond its period, or unused where it has no end. Milliseconds. */
const keepMs = 86_400_000;
const keepEndlessMs = 30 * keepMs;
/** How long the other nodes have to write what they have used, where Redis has lost it. Milliseconds. */
const writeMs = 50;
/** Requests wait so long after the start for the first answer of Redis. Milliseconds. */
const firstAnswerMs = 2000;
/** How long requests wait for a Redis that has gone, where their budget may be used up so soon. Milliseconds. */
const patienceMs = 1000;
const soonMs = 10_000;
/** How often what Redis does not have yet is written. Milliseconds. */
const rewriteMs = 100;
const channel = 'limits-budgets';

type Answer =
  | { readonly grants: readonly (readonly [taken: string, extra: string, isWithin: boolean, used: string])[] }
  | { readonly refused: number; readonly used: string }
  | { readonly unknown: readonly number[] };

export interface RedisBudgetsOptions {
  readonly nodes: Nodes;
  /** What this node has by itself: what counts while Redis is away. */
  readonly own: BudgetCounters;
  readonly spent: SpentBudgets;
  readonly workers: number;
  /** `local_share`: while Redis is away each node grants its share of what was left. `closed`: nothing. */
  readonly without: 'local_share' | 'closed';
  /** Nodes, as far as is known. */
  readonly count: () => number;
}

/** Counters of budgets that all nodes share, in Redis. What Redis has lost is written again from the ledger and by the nodes. */
export class RedisBudgets {
  readonly #opening = new Map<string, Promise<boolean>>();
  /** Counters of which Redis does not have what this node has used. */
  readonly #unwritten = new Set<UsedBudget>();
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;
  /** Has Redis answered a question since this process started? */
  #hasAnswered = false;
  /** This and the times below are of the monotonic clock. */
  readonly #startedAt: number;
  #isAway = false;
  #awaySince = 0;
  /** As `#awaySince`, also where it was back for a moment only. */
  #failingSince = Number.NEGATIVE_INFINITY;
  #backSince = Number.NEGATIVE_INFINITY;

  constructor(readonly options: RedisBudgetsOptions) {
    const { nodes, own } = options;
    this.#startedAt = performance.now();
    nodes.subscribe(channel, (name) => {
      const counter = own.peek(name);
      if (counter !== undefined && counter.lastBorn !== '') void this.#open(counter).catch(() => {});
    });
  }

  /** null: budgets cannot be checked, and none is to be passed over. Rejects where the ledger is needed and does not answer. */
  take(from: Asker, wanted: readonly WantedBudget[]): Promise<readonly Grant[] | LimitRefusal | null> {
    return this.#takeSince(performance.now(), from, wanted);
  }

  /** `since`: when it was first asked for. */
  async #takeSince(
    since: number,
    from: Asker,
    wanted: readonly WantedBudget[],
  ): Promise<readonly Grant[] | LimitRefusal | null> {
    const { own, without } = this.options;
    const counters = await own.known(wanted);
    try {
      if (this.#isReturning) {
        const refusal = own.refusal(await this.#shares(wanted, counters), counters);
        if (refusal !== null) return refusal;
      }
      const answer = await this.#take(from, wanted, counters);
      this.#hasAnswered = true;
      this.#went(false);
      return answer;
    } catch {
      if (without === 'local_share') this.#went(true);
      // Most failures are those of a busy machine, and over soon.
      if (this.#isWorthWaiting(since, wanted, counters)) {
        await delay(rewriteMs);
        return this.#takeSince(since, from, wanted);
      }
      const shares = without === 'closed' ? null : await this.#shares(wanted, counters);
      // What was asked may have been counted there, and what is granted now is not: in the same turn, so that no write is between.
      for (const counter of counters) this.#unwrite(counter);
      return shares === null ? null : own.takeNow(from, shares, counters);
    }
  }

  /**
   * May the others use up within a moment what this node would grant alone, or is it not known what they have under way? While
   * Redis may be back within that moment, requests wait for it.
   */
  #isWorthWaiting(since: number, wanted: readonly WantedBudget[], counters: readonly UsedBudget[]): boolean {
    const now = performance.now();
    if (!this.#hasAnswered && now - this.#startedAt < firstAnswerMs) return true;
    if (this.options.without === 'closed') return false;
    if (now - since >= patienceMs || now - this.#failingSince >= patienceMs) return false;
    return counters.some(({ rate, used }, i) => {
      const { limit, shadow } = wanted[i]!;
      return !shadow && (rate === null || limit - used < rate * soonMs);
    });
  }

  /** Is Redis away, or was it a moment ago? Others may not have written yet what they have used in that time. */
  get #isReturning(): boolean {
    if (this.options.without === 'closed') return false;
    return this.#isAway || performance.now() - this.#backSince < returningMs;
  }

  #went(isAway: boolean): void {
    if (isAway === this.#isAway) return;
    this.#isAway = isAway;
    const now = performance.now();
    if (isAway) this.#failingSince = now;
    if (!isAway) this.#backSince = now;
    // Away again, before all have noticed that it was back: the shares are still those of the first time.
    else if (now - this.#backSince >= returningMs) this.#awaySince = now;
  }

  #shares(wanted: readonly WantedBudget[], counters: readonly UsedBudget[]): Promise<WantedBudget[]> {
    return Promise.all(wanted.map((one, i) => this.#alone(one, counters[i]!)));
  }

  /** More was used on this node than it was granted; below 0: less. */
  changed(counter: UsedBudget, amount: number): void {
    const { nodes, spent } = this.options;
    if (counter.born === '') return;
    nodes
      .script(addBudgetScript, [keyOf(counter.name)], [spent.node, exact(amount), counter.born])
      .catch(() => {
        this.#unwrite(counter);
      });
  }

  /** A counter that someone has set to 0: the ledger has what was taken away. */
  reset(name: string, takenAway: number): void {
    this.options.nodes
      .script(resetBudgetScript, [keyOf(name)], [resetsNode, exact(takenAway)])
      // Redis is away: nodes that write the counter again have it from the ledger.
      .catch(() => {});
  }

  /** Redis may not have what this node has used of it: it gets it before it counts again, and as soon as it answers. */
  #unwrite(counter: UsedBudget): void {
    counter.born = '';
    this.#unwritten.add(counter);
    if (!this.#isClosed) this.#timer ??= setTimeout(() => void this.#write(), rewriteMs).unref();
  }

  async #write(): Promise<void> {
    try {
      for (const counter of this.#unwritten) {
        this.#unwritten.delete(counter);
        if (counter.born !== '') continue;
        await this.#open(counter);
        // Where this node's share is used up no request asks whether Redis is back.
        this.#went(false);
      }
    } catch {
      // Still away, and the counter is among them again.
    }
    const isDone = this.#isClosed || this.#unwritten.size === 0;
    this.#timer = isDone ? null : setTimeout(() => void this.#write(), rewriteMs).unref();
  }

  close(): void {
    this.#isClosed = true;
    this.#unwritten.clear();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** A budget with what this node may grant of it while Redis is away: what it had, and its share of what was left then. */
  async #alone(one: WantedBudget, counter: UsedBudget): Promise<WantedBudget> {
    const { own, spent, count } = this.options;
    if (counter.most === null || counter.aloneSince !== this.#awaySince) {
      counter.aloneSince = this.#awaySince;
      // Where the ledger is away as well, what was known of the others last has to do.
      await own.reread(counter.organisationId, [counter]).catch(() => {});
      const nodes = Math.max(count(), nodesOf(counter, spent.node));
      counter.most = counter.own + Math.max(0, Math.floor((one.limit - counter.used) / nodes));
    }
    return { ...one, limit: Math.min(one.limit, counter.most + counter.others) };
  }

  async #take(
    from: Asker,
    wanted: readonly WantedBudget[],
    counters: readonly UsedBudget[],
  ): Promise<readonly Grant[] | LimitRefusal> {
    const { own } = this.options;
    for (let tries = 0; ; tries++) {
      await this.#written(counters);
      const asked = counters.map(({ born }) => born);
      const answer = await this.#ask(from, wanted, counters);
      if ('refused' in answer) {
        const used = Number(answer.used);
        return refusalOf(answer.refused, wanted[answer.refused]!, used, own.now());
      }
      if ('grants' in answer) {
        return answer.grants.map(([taken, extra, isWithin, used], i) => {
          const counter = counters[i]!;
          const given = { taken: Number(taken), extra: Number(extra) };
          own.record(from, counter, given);
          counter.others = Number(used) - counter.own;
          counter.saw(own.now());
          if (!this.#isReturning) counter.most = null;
          // Redis lost it while it answered: what it counted last is written again.
          if (counter.born !== asked[i]) this.#unwrite(counter);
          return own.granted(given.taken, given.extra, isWithin);
        });
      }
      if (tries > 4) throw new Error('Redis lost its counts again and again within one question');
      for (const i of answer.unknown) {
        const counter = counters[i]!;
        // Another question may have written it while this one waited.
        if (counter.born === asked[i]) await this.#open(counter, wanted[i]!);
      }
    }
  }

  async #ask(from: Asker, wanted: readonly WantedBudget[], counters: readonly UsedBudget[]): Promise<Answer> {
    const { nodes, own, spent, workers, count } = this.options;
    const question = {
      node: spent.node,
      parts: sharePart * workers * count(),
      wanted: wanted.map((one, i) => {
        const { limit, amount, needed, shadow } = one;
        const counter = counters[i]!;
        const ahead = own.ahead(from.worker, one, counter);
        return { limit, amount, needed, shadow, born: counter.born, ahead, keepMs: keepMsOf(one, own.now()) };
      }),
    };
    const keys = wanted.map(({ counter }) => keyOf(counter));
    for (const counter of counters) counter.asking++;
    try {
      const text = await nodes.script(takeBudgetScript, keys, [JSON.stringify(question)]);
      return answerOf(text, wanted.length, isGrant) as Answer;
    } finally {
      // After the answer was counted, which is done in the turn that it arrives in.
      setImmediate(() => {
        for (const counter of counters) if (--counter.asking === 0) counter.onQuiet?.();
      });
    }
  }

  /** Resolves when none of them is being written. */
  async #written(counters: readonly UsedBudget[]): Promise<void> {
    for (;;) {
      const writing = counters.find((counter) => counter.writing !== null)?.writing;
      if (writing == null) return;
      await writing;
    }
  }

  /** Writes what this node has used, and of the other nodes what the ledger has. One at a time for a counter. */
  async #open(counter: UsedBudget, wanted?: WantedBudget): Promise<void> {
    let opening = this.#opening.get(counter.name);
    if (opening === undefined) {
      opening = this.#openNow(counter, wanted)
        .catch((error) => {
          this.#unwrite(counter);
          throw error;
        })
        .finally(() => this.#opening.delete(counter.name));
      this.#opening.set(counter.name, opening);
    }
    const isLost = await opening;
    // Other nodes have requests under way that the ledger does not have yet.
    if (isLost && wanted !== undefined) await delay(writeMs);
  }

  /** true: Redis had it before, and has lost it. */
  async #openNow(counter: UsedBudget, wanted?: WantedBudget): Promise<boolean> {
    const { nodes, own } = this.options;
    // Without the ledger, what it had last has to do.
    await own.reread(counter.organisationId, [counter]).catch(() => {});
    const writing = this.#writeNow(counter, wanted);
    counter.writing = writing.then(nothing, nothing);
    const [born, isNew] = await writing.finally(() => {
      counter.writing = null;
    });
    const isLost = counter.lastBorn !== '' && counter.lastBorn !== born;
    counter.lastBorn = born;
    if (isLost && isNew === 1) await nodes.publish(channel, counter.name);
    return isLost;
  }

  /**
   * Questions that are under way are answered first, and others wait: what they are granted would be overwritten by what
   * was known before.
   */
  async #writeNow(
    counter: UsedBudget,
    wanted: WantedBudget | undefined,
  ): Promise<readonly [born: string, isNew: number]> {
    const { nodes, own, spent } = this.options;
    counter.born = '';
    if (counter.asking > 0)
      await new Promise<void>((quiet) => {
        counter.onQuiet = quiet;
      });
    counter.onQuiet = null;
    const others = [...counter.byNode].filter(([node]) => node !== spent.node);
    const keep = wanted === undefined ? keepEndlessMs : keepMsOf(wanted, own.now());
    const written = counter.own;
    const args = [
      spent.node,
      exact(written),
      JSON.stringify(Object.fromEntries(others.map(([node, sum]) => [node, exact(sum)]))),
      exact(keep),
    ];
    const answer = await nodes.script<[string, number]>(openBudgetScript, [keyOf(counter.name)], args);
    if (typeof answer?.[0] !== 'string')
      throw new TypeError('Redis answered with something else than a budget');
    counter.born = answer[0];
    // Given back, used beyond what was granted, or granted without Redis meanwhile.
    if (counter.own !== written) this.changed(counter, counter.own - written);
    return answer;
  }
}

const nothing = (): void => {};

const isGrant = (grant: unknown): boolean =>
  Array.isArray(grant) &&
  grant.length >= 4 &&
  [grant[0], grant[1], grant[3]].every((amount) => Number.isFinite(Number(amount)));

/** Nodes that have charged it, and this one. */
const nodesOf = ({ byNode }: UsedBudget, node: string): number =>
  new Set([...byNode.keys(), node]).size - (byNode.has(resetsNode) ? 1 : 0);

const exact = (amount: number): string => Math.round(amount).toFixed(0);

const keepMsOf = ({ endsAt }: WantedBudget, now: number): number =>
  endsAt === null ? keepEndlessMs : Math.max(0, endsAt - now) + keepMs;
