import {
  type ChargedBudget,
  type BudgetCounter as LedgerCounter,
  resetsNode,
} from '../../../src/common/core/charges.js';
import type { SpentBudgets } from '../../../src/common/plugin-host/control.js';
import type { Back, Grant, LimitRefusal, WantedBudget } from '../channel.js';
import { aheadOf, type Share, shareOf, sharePart } from './ahead.js';
import { CounterMap } from './counter-map.js';

/** What is used of one period of a budget, what is held back for requests under way included. */
export class UsedBudget {
  /** By requests of this node. */
  own = 0;
  /** By those of other nodes, less what resets took away. */
  others = 0;
  /** The same by node, as the ledger had it last. */
  byNode: ReadonlyMap<string, number> = new Map();
  /** When it was last read there. Unix milliseconds. */
  readAt = 0;
  /** By process id of a worker: what it was granted, and has neither given back nor the ledger got. */
  readonly out = new Map<number, number>();
  readonly shares = new Map<number, Share>();
  /** Until this slot has passed, nothing is granted ahead: the budget is nearly used up. */
  tightSlot = -1;
  /** Which Redis has counted what is here: another one has lost it. Empty: what is here may not be in Redis. */
  born = '';
  /** The last `born` of Redis; empty: it has never counted it. */
  lastBorn = '';
  /** Questions to Redis that are not answered yet. */
  asking = 0;
  /** Called when the last of them was answered. */
  onQuiet: (() => void) | null = null;
  /** Resolves when Redis has what was used here; null: it is not being written. */
  writing: Promise<void> | null = null;
  /** What all used of it in a millisecond, and since when it is counted up to which amount; null: not known yet. */
  rate: number | null = null;
  #countedAt = 0;
  #counted = 0;
  /** What this node may have used while it cannot ask the others, and since when; null: not known. */
  most: number | null = null;
  aloneSince = 0;

  constructor(
    readonly name: string,
    readonly budget: string,
    readonly startsAt: number,
  ) {}

  get used(): number {
    return this.own + this.others;
  }

  /** Redis has answered what all have used. */
  saw(now: number): void {
    const elapsed = now - this.#countedAt;
    if (elapsed < rateMs) return;
    this.rate = elapsed > longestRateMs ? null : Math.max(0, this.used - this.#counted) / elapsed;
    this.#countedAt = now;
    this.#counted = this.used;
  }

  get organisationId(): string {
    return this.budget.slice(0, this.budget.indexOf('/'));
  }

  /** Is all of it in the ledger? */
  get isIdle(): boolean {
    return this.out.size === 0;
  }
}

/** A data worker: its number, and its process. */
export interface Asker {
  readonly worker: number;
  readonly pid: number;
}

/** How long what all use of a counter is counted, for its rate; one that was asked for longer ago has none. Milliseconds. */
const rateMs = 500;
const longestRateMs = 60_000;
/** What a worker was granted ahead is valid for so long. Milliseconds. */
const slotMs = 1000;
/** How old what the ledger has of other nodes may be. Milliseconds. */
const staleMs = 1000;
/** Counters that are kept, at most: an idle one is read again from the ledger. */
const mostCounters = 100_000;
const longestNames = 32 * 1024 * 1024;

export interface BudgetCountersOptions {
  /** Data workers of this node. */
  readonly workers: number;
  readonly spent: SpentBudgets;
  /** Unix milliseconds. */
  readonly now?: () => number;
  /** Is called where more (below 0: less) is used than was granted. */
  readonly onChange?: (counter: UsedBudget, amount: number) => void;
  /** Is called where a counter was set to 0, with what resets took away of it in all. */
  readonly onReset?: (name: string, takenAway: number) => void;
}

/**
 * The counters of all budgets of this node. The ledger is where each begins; from then on it is what the ledger has got plus what
 * workers were granted and the ledger has not got yet: it is never less than what was used.
 */
export class BudgetCounters {
  readonly #counters = new CounterMap<UsedBudget>({
    most: mostCounters,
    mostLength: longestNames,
    isIdle: (counter) => counter.isIdle,
  });
  readonly #reading = new Map<string, Promise<void>>();
  /** Processes whose charges are counted already when the ledger gets them. */
  readonly #pids = new Set<number>();

  constructor(readonly options: BudgetCountersOptions) {
    options.spent.listen({
      charged: (pid, charges) => this.charged(pid, charges),
      ended: (pid) => this.ended(pid),
      reset: (organisationId, counter) => this.#reset(organisationId, counter).catch(() => {}),
    });
  }

  now(): number {
    return (this.options.now ?? Date.now)();
  }

  /** Grants all of it, or nothing: then which budget has too little left. Rejects where the ledger is needed and does not answer. */
  async take(from: Asker, wanted: readonly WantedBudget[]): Promise<readonly Grant[] | LimitRefusal> {
    const counters = await this.known(wanted);
    if (this.options.spent.isShared) {
      const now = this.now();
      // Later than now: the clock was set back.
      const stale = counters.filter(({ readAt }) => now - readAt > staleMs || readAt > now);
      if (stale.length > 0) void this.reread(stale[0]!.organisationId, stale).catch(() => {});
    }
    return this.takeNow(from, wanted, counters);
  }

  /** As `take`, of counters that are known. */
  takeNow(
    from: Asker,
    wanted: readonly WantedBudget[],
    counters: readonly UsedBudget[],
  ): readonly Grant[] | LimitRefusal {
    return this.refusal(wanted, counters) ?? wanted.map((one, i) => this.#grant(counters[i]!, one, from));
  }

  /** Which budget has too little left here; null: none. Nothing is taken. */
  refusal(wanted: readonly WantedBudget[], counters: readonly UsedBudget[]): LimitRefusal | null {
    for (const [i, { limit, needed, shadow }] of wanted.entries()) {
      const { used } = counters[i]!;
      if (!shadow && limit - used < needed) return refusalOf(i, wanted[i]!, used, this.now());
    }
    return null;
  }

  /** Reads from the ledger what is not known here. */
  async known(wanted: readonly WantedBudget[]): Promise<readonly UsedBudget[]> {
    const missing = wanted.filter(({ counter }) => this.#counters.get(counter) === undefined);
    if (missing.length > 0) await this.#read(missing);
    return wanted.map(({ counter }) => {
      const found = this.#counters.get(counter);
      if (found === undefined) throw new Error(`There are too many budgets in use to count ${counter}.`);
      return found;
    });
  }

  async #read(missing: readonly WantedBudget[]): Promise<void> {
    const asked = missing.map(({ counter }) => this.#reading.get(counter)).find((one) => one !== undefined);
    if (asked !== undefined) {
      await asked.catch(() => {});
      await this.known(missing);
      return;
    }
    const fresh = missing.map(({ counter, budget, startsAt }) => new UsedBudget(counter, budget, startsAt));
    const reading = this.reread(fresh[0]!.organisationId, fresh, true);
    for (const { name } of fresh) this.#reading.set(name, reading);
    try {
      await reading;
    } finally {
      for (const { name } of fresh) this.#reading.delete(name);
    }
  }

  /** Reads what other nodes and resets have added; of `areNew` what this node has, too. */
  async reread(organisationId: string, counters: readonly UsedBudget[], areNew = false): Promise<void> {
    const { spent } = this.options;
    const now = this.now();
    const sums = await spent.sums(organisationId, counters);
    for (const counter of counters) {
      const { budget, startsAt } = counter;
      const found = sums.find((one) => one.budget === budget && one.startsAt === startsAt);
      const resetBefore = counter.byNode.get(resetsNode) ?? 0;
      counter.byNode = found?.byNode ?? new Map();
      let others = 0;
      for (const [node, sum] of counter.byNode) if (node !== spent.node) others += sum;
      // Redis also had what the other nodes hold back, which the ledger gets later: of a node that was killed, once it is there again.
      const known = counter.others + (counter.byNode.get(resetsNode) ?? 0) - resetBefore;
      counter.others = counter.lastBorn === '' ? others : Math.max(others, known);
      counter.readAt = now;
      if (!areNew) continue;
      counter.own = counter.byNode.get(spent.node) ?? 0;
      this.#counters.set(counter.name, counter);
    }
  }

  /** Someone has set a counter to 0. */
  async #reset(organisationId: string, { budget, startsAt }: LedgerCounter): Promise<void> {
    const name = `${budget}@${startsAt}`;
    const counter = this.#counters.peek(name) ?? new UsedBudget(name, budget, startsAt);
    await this.reread(organisationId, [counter]);
    this.options.onReset?.(name, counter.byNode.get(resetsNode) ?? 0);
  }

  /** The workers that may hold permits of what was refused, beyond those of their requests. */
  holders(worker: number, { counter: name, amount, limit }: WantedBudget): readonly number[] {
    const counter = this.#counters.peek(name);
    if (counter === undefined || amount > limit) return [];
    const slot = this.#slot();
    counter.tightSlot = slot;
    return [...counter.shares]
      .filter(([other, share]) => other !== worker && share.extra > 0)
      .map(([other]) => other);
  }

  /** Permits that a worker has not used; below 0: what it has used beyond them. */
  back({ pid }: Asker, back: readonly Back[]): void {
    // Of a process that has ended, everything was settled by what the ledger got.
    if (!this.#pids.has(pid)) return;
    for (const { counter: name, amount } of back) {
      const counter = this.#counters.peek(name);
      if (counter === undefined) continue;
      this.#owes(counter, pid, -amount);
      this.#changed(counter, -amount);
    }
  }

  /** These workers have been asked for what they hold: what they have not given back counts as used, and is not asked for again. */
  recalled(name: string, workers: readonly number[]): void {
    const shares = this.#counters.peek(name)?.shares;
    for (const worker of workers) {
      const share = shares?.get(worker);
      if (share !== undefined) share.extra = 0;
    }
  }

  /** A worker has ended: what it was granted counts until the ledger has got what it used. */
  gone(worker: number): void {
    for (const counter of this.#counters.values()) counter.shares.delete(worker);
  }

  /** The ledger has got charges. Those of this node's workers are counted already. */
  charged(pid: number, charges: readonly ChargedBudget[]): void {
    for (const { budget, startsAt, amount } of charges) {
      const counter = this.#counters.peek(`${budget}@${startsAt}`);
      if (counter === undefined) continue;
      if (this.#pids.has(pid)) this.#owes(counter, pid, -amount);
      else this.#changed(counter, amount);
    }
  }

  /** The ledger has got all of a process: what it was granted and has not used is free. */
  ended(pid: number): void {
    if (!this.#pids.delete(pid)) return;
    for (const counter of this.#counters.values()) {
      const out = counter.out.get(pid);
      if (out === undefined) continue;
      counter.out.delete(pid);
      this.#changed(counter, -out);
    }
  }

  peek(name: string): UsedBudget | undefined {
    return this.#counters.peek(name);
  }

  /** Permits that a worker should be granted ahead, if there are enough. */
  ahead(worker: number, { amount }: WantedBudget, counter: UsedBudget): number {
    const slot = this.#slot();
    const share = shareOf(counter.shares, worker, slot);
    return counter.tightSlot >= slot - 1 ? 0 : aheadOf(Math.max(1, amount), share);
  }

  /** Counts a grant. */
  record(
    { worker, pid }: Asker,
    counter: UsedBudget,
    { taken, extra }: Pick<Grant, 'taken' | 'extra'>,
  ): void {
    this.#pids.add(pid);
    counter.own += taken + extra;
    this.#owes(counter, pid, taken + extra);
    const share = counter.shares.get(worker);
    // What a request does not use stays with its worker for a while.
    if (share !== undefined) share.extra = taken + extra;
  }

  /** A grant as workers get it. */
  granted(taken: number, extra: number, isWithin: boolean): Grant {
    const slot = this.#slot();
    return { taken, extra, slot, validMs: (slot + 1) * slotMs - this.now(), isWithin };
  }

  #grant(counter: UsedBudget, one: WantedBudget, from: Asker): Grant {
    const { limit, amount, needed } = one;
    const room = limit - counter.used;
    const isWithin = room >= needed;
    const taken = isWithin ? Math.min(amount, room) : amount;
    const most = Math.floor((room - taken) / (sharePart * this.options.workers));
    const extra = isWithin ? Math.max(0, Math.min(this.ahead(from.worker, one, counter), most)) : 0;
    this.record(from, counter, { taken, extra });
    return this.granted(taken, extra, isWithin);
  }

  #owes(counter: UsedBudget, pid: number, amount: number): void {
    const out = (counter.out.get(pid) ?? 0) + amount;
    if (out === 0) counter.out.delete(pid);
    else counter.out.set(pid, out);
  }

  #changed(counter: UsedBudget, amount: number): void {
    if (amount === 0) return;
    counter.own += amount;
    this.options.onChange?.(counter, amount);
  }

  #slot(): number {
    return Math.floor(this.now() / slotMs);
  }
}

/** `used`: of the budget. */
export const refusalOf = (
  refused: number,
  { limit, endsAt }: WantedBudget,
  used: number,
  now: number,
): LimitRefusal => ({
  refused,
  remaining: Math.max(0, limit - used),
  waitMs: endsAt === null ? null : Math.max(1, endsAt - now),
  used,
});
