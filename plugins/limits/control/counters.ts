import type { Back, Grant, LimitRefusal, Looked, Wanted } from '../channel.js';
import { aheadOf, type Share, shareOf, sharePart } from './ahead.js';
import { CounterMap } from './counter-map.js';
import { Window } from './window.js';

/** One counter: a window, or the requests under way. */
export class LimitCounter {
  readonly window: Window | null;
  /** Of `concurrency`: permits in the hands of each worker. */
  readonly held = new Map<number, number>();
  readonly shares = new Map<number, Share>();
  /** Until this slot has passed, nothing is granted ahead: the limit is nearly used up. */
  tightSlot = -1;
  /** Which Redis has counted what is here: another one has lost it. */
  born = '';
  /** What this node may have taken while it cannot ask the others, as of `mostAt`, Unix milliseconds; null: not known. */
  most: number | null = null;
  mostAt = 0;
  /** When workers last gave back too few permits of `concurrency`. Unix milliseconds. */
  inVainAt = 0;

  constructor(
    readonly name: string,
    windowMs: number | null,
    kept: readonly (readonly [number, number])[] = [],
  ) {
    this.window = windowMs === null ? null : new Window(windowMs, kept);
  }

  used(now: number): number {
    if (this.window !== null) return this.window.sum(now);
    let sum = 0;
    for (const permits of this.held.values()) sum += permits;
    return sum;
  }

  slotAt(now: number): number {
    return this.window === null ? 0 : this.window.slotAt(now);
  }
}

/** What all nodes have taken is known well enough for so long, also of short windows. Milliseconds. */
const leastFreshMs = 100;
/** A limit of requests under way may be reached for long: how often workers are asked in vain for what they do not use. */
const recallEveryMs = 20;
/** Counters that are kept, at most. */
const mostCounters = 100_000;
/** Characters of their names, all together. */
const longestNames = 32 * 1024 * 1024;

export interface CountersOptions {
  /** Data workers of this node. */
  readonly workers: number;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

/** The counters of all limits of this node. */
export class Counters {
  readonly #counters = new CounterMap<LimitCounter>({
    most: mostCounters,
    mostLength: longestNames,
    dispose: (counter) => {
      this.#changed.delete(counter);
      this.#unwritten.delete(counter);
    },
  });
  readonly #changed = new Set<LimitCounter>();
  /** Windows of which Redis may not have what this node has taken. */
  readonly #unwritten = new Set<LimitCounter>();
  /**
   * The clock of windows never goes back: what was taken would count twice, or not at all. If the system's is set back, it goes on
   * from where it was: a limit would else be used up for as long as that.
   */
  #latest = 0;
  #latestAt = performance.now();

  /** Called when a window changes, unless another one has since the last `changes()`. */
  onChange: () => void = () => {};

  constructor(readonly options: CountersOptions) {}

  #change(counter: LimitCounter): void {
    if (this.#changed.size === 0) this.onChange();
    this.#changed.add(counter);
  }

  now(): number {
    const at = performance.now();
    const passed = this.options.now === undefined ? at - this.#latestAt : 0;
    this.#latestAt = at;
    this.#latest = Math.max(this.#latest + passed, (this.options.now ?? Date.now)());
    return this.#latest;
  }

  /** What is left of a limit; what workers were granted ahead is not. */
  left({ counter: name, value }: Looked): number {
    const counter = this.#counters.peek(name);
    return Math.max(0, value - (counter?.used(this.now()) ?? 0));
  }

  /** Grants all of it, or nothing: then which limit has no room. Limits in shadow mode refuse nothing. */
  take(worker: number, wanted: readonly Wanted[]): readonly Grant[] | LimitRefusal {
    const refusal = this.refusal(wanted);
    if (refusal !== null) return refusal;
    const now = this.now();
    return wanted.map((one) => this.#grant(this.#of(one), one, worker, now));
  }

  /** The workers that hold permits of what was refused, beyond those of their requests; none where asking them would not help. */
  holders(worker: number, { counter: name, amount, value }: Wanted): readonly number[] {
    const counter = this.#counters.get(name);
    if (counter === undefined || amount > value) return [];
    const now = this.now();
    if (counter.window === null) {
      // Since then, workers have given back at once what they do not use.
      if (now - counter.inVainAt < recallEveryMs) return [];
      return [...counter.held.keys()].filter((other) => other !== worker);
    }
    const slot = counter.slotAt(now);
    counter.tightSlot = slot;
    return [...counter.shares]
      .filter(([other, share]) => other !== worker && share.extra > 0)
      .map(([other]) => other);
  }

  /** These workers have been asked for what they hold: what they have not given back counts as used, and is not asked for again. */
  recalled(name: string, workers: readonly number[]): void {
    const shares = this.#counters.get(name)?.shares;
    for (const worker of workers) {
      const share = shares?.get(worker);
      if (share !== undefined) share.extra = 0;
    }
  }

  /** What they gave back was too little. */
  inVain(name: string): void {
    const counter = this.#counters.get(name);
    if (counter !== undefined) counter.inVainAt = this.now();
  }

  /** Permits that a worker has not used; below 0: tokens that it has used beyond them. */
  back(worker: number, back: readonly Back[]): void {
    const now = this.now();
    for (const { counter: name, windowMs, slot, amount } of back) {
      const counter =
        this.#counters.get(name) ?? (amount < 0 ? this.#of({ counter: name, windowMs }) : undefined);
      if (counter === undefined) continue;
      const share = counter.shares.get(worker);
      if (share !== undefined) share.extra = 0;
      if (counter.window === null) this.#release(counter, worker, amount);
      else if (amount < 0) counter.window.add(counter.window.slotAt(now), -amount);
      else counter.window.add(slot, -amount);
      this.#change(counter);
    }
  }

  /** A worker has ended: its requests are over, and are returned. What it was granted of windows stays counted. */
  gone(worker: number): Back[] {
    const over: Back[] = [];
    for (const counter of this.#counters.values()) {
      const amount = counter.held.get(worker);
      if (amount !== undefined) over.push({ counter: counter.name, windowMs: null, slot: 0, amount });
      counter.held.delete(worker);
      counter.shares.delete(worker);
    }
    return over;
  }

  /** What counts of windows, by counter; what has not changed since the last call is left out. */
  changes(): { readonly name: string; readonly windowMs: number; readonly text: string }[] {
    const changed = [...this.#changed].filter(({ window }) => window !== null);
    this.#changed.clear();
    return changed.map(({ name, window }) => ({
      name,
      windowMs: window!.windowMs,
      text: JSON.stringify(window),
    }));
  }

  /** Permits that a worker should be granted ahead, if there are enough. */
  ahead(worker: number, one: Wanted): number {
    const counter = this.#of(one);
    if (counter.window === null) return 0;
    const slot = counter.slotAt(this.now());
    const share = shareOf(counter.shares, worker, slot);
    return counter.tightSlot === slot ? 0 : aheadOf(one.amount, share);
  }

  /**
   * Counts what all nodes have granted, for the time when this one is alone. `born`: as `known` gives it. `share`: of what is
   * left, the part that is this node's; null: it stays what it was.
   */
  record(
    worker: number,
    one: Wanted,
    { taken, extra, slot }: Grant,
    born: string,
    share: number | null,
  ): void {
    const counter = this.#of(one);
    if (counter.window === null) {
      counter.held.set(worker, (counter.held.get(worker) ?? 0) + taken);
      return;
    }
    counter.born = born;
    counter.window.add(slot, taken + extra);
    if (share !== null) {
      counter.mostAt = this.now();
      counter.most = counter.window.sum(counter.mostAt) + share;
    }
    const ofWorker = counter.shares.get(worker);
    if (ofWorker !== undefined) ofWorker.extra = extra;
  }

  /**
   * What was last known of the counter in Redis ('': Redis may lack what this node has taken), and whether this node has
   * taken anything of it.
   */
  known(name: string): { readonly born: string; readonly hasTaken: boolean } {
    const counter = this.#counters.get(name);
    if (counter === undefined) return { born: '', hasTaken: false };
    const born = this.#unwritten.has(counter) ? '' : counter.born;
    return { born, hasTaken: (counter.window?.sum(this.now()) ?? 0) > 0 };
  }

  /** null: not known, or from too long before `at`, Unix milliseconds: what all have taken has changed since. */
  most(name: string, at: number): number | null {
    const counter = this.#counters.get(name);
    if (counter === undefined || counter.window === null) return null;
    return at - counter.mostAt <= Math.max(leastFreshMs, counter.window.slotMs) ? counter.most : null;
  }

  /** Why this node alone would refuse; null: it has room for all. Nothing is taken. */
  refusal(wanted: readonly Wanted[]): LimitRefusal | null {
    const now = this.now();
    let refusal: LimitRefusal | null = null;
    for (const [i, one] of wanted.entries()) {
      if (one.shadow) continue;
      const refused = this.#refusal(this.#of(one), one, i, now);
      if (refused !== null && (refusal === null || isLonger(refused, refusal))) refusal = refused;
    }
    return refusal;
  }

  /** Redis may not have what this node has taken of the counter. */
  unwrite(name: string): void {
    const counter = this.#counters.peek(name);
    if (counter !== undefined && counter.window !== null) this.#unwritten.add(counter);
  }

  /** The same of all counters: Redis was emptied. */
  unwriteAll(): void {
    const now = this.now();
    for (const counter of this.#counters.values())
      if (counter.window !== null && !counter.window.isOver(now)) this.#unwritten.add(counter);
  }

  /** Names of counters of which Redis may not have what this node has taken. */
  unwritten(): string[] {
    return [...this.#unwritten].map(({ name }) => name);
  }

  /** What this node has taken of a window, by slot, to be written to Redis; null: it has taken nothing. */
  toWrite(name: string): { readonly windowMs: number; readonly counts: Window } | null {
    const counter = this.#counters.peek(name);
    if (counter === undefined || counter.window === null) return null;
    if (counter.window.isOver(this.now())) {
      this.#unwritten.delete(counter);
      return null;
    }
    return { windowMs: counter.window.windowMs, counts: counter.window };
  }

  /** Redis has what this node had taken of it. true: Redis had it before, and had lost it. */
  written(name: string, born: string): boolean {
    const counter = this.#counters.peek(name);
    if (counter === undefined) return false;
    this.#unwritten.delete(counter);
    const isLost = counter.born !== '' && counter.born !== born;
    counter.born = born;
    return isLost;
  }

  /** Names of counters that have requests under way on this node. */
  underWay(): string[] {
    return [...this.#counters.values()]
      .filter(({ window, held }) => window === null && held.size > 0)
      .map(({ name }) => name);
  }

  /** Requests under way on this node, now. */
  underWayOf(name: string): number {
    const counter = this.#counters.peek(name);
    return counter === undefined || counter.window !== null ? 0 : counter.used(this.now());
  }

  /** Goes on with what an earlier process has counted. */
  restore(name: string, windowMs: number, kept: readonly (readonly [number, number])[]): void {
    const counter = new LimitCounter(name, windowMs);
    const current = counter.slotAt(this.now());
    // Of a clock that was set back since, which would count them for too long.
    for (const [slot, count] of kept) counter.window?.add(Math.min(slot, current), count);
    this.#counters.set(name, counter);
  }

  #of({ counter: name, windowMs }: Pick<Wanted, 'counter' | 'windowMs'>): LimitCounter {
    let counter = this.#counters.get(name);
    if (counter === undefined) {
      counter = new LimitCounter(name, windowMs);
      this.#counters.set(name, counter);
    }
    return counter;
  }

  #refusal(
    counter: LimitCounter,
    { amount, value, isBounded }: Wanted,
    i: number,
    now: number,
  ): LimitRefusal | null {
    const remaining = Math.max(0, value - counter.used(now));
    const needed = isBounded ? amount : 1;
    if (remaining >= needed) return null;
    // Not rounded: requests that have waited are refused by the same answer until then.
    const at = counter.window === null ? now + 1 : counter.window.freeAt(needed, value);
    return { refused: i, remaining, waitMs: at === null ? null : at - now };
  }

  #grant(counter: LimitCounter, { amount, value, isBounded }: Wanted, worker: number, now: number): Grant {
    const room = value - counter.used(now);
    const isWithin = room >= (isBounded ? amount : 1);
    const taken = isBounded || room <= 0 ? amount : Math.min(amount, room);
    const slot = counter.slotAt(now);
    this.#change(counter);
    if (counter.window === null) {
      counter.held.set(worker, (counter.held.get(worker) ?? 0) + taken);
      return { taken, extra: 0, slot, validMs: null, isWithin };
    }
    const extra = isWithin ? this.#ahead(counter, worker, slot, amount, room - taken) : 0;
    counter.window.add(slot, taken + extra);
    return { taken, extra, slot, validMs: counter.window.left(slot, now), isWithin };
  }

  /** Permits beyond those asked for: twice as many with each question in the same slot, fewer as less is left. */
  #ahead(counter: LimitCounter, worker: number, slot: number, amount: number, room: number): number {
    const share = shareOf(counter.shares, worker, slot);
    // It asks because it has none left.
    share.extra = 0;
    if (counter.tightSlot === slot) return 0;
    const most = Math.floor(room / (sharePart * this.options.workers));
    share.extra = Math.min(aheadOf(amount, share), most);
    return share.extra;
  }

  #release(counter: LimitCounter, worker: number, amount: number): void {
    const left = (counter.held.get(worker) ?? 0) - amount;
    if (left > 0) counter.held.set(worker, left);
    else counter.held.delete(worker);
  }
}

const isLonger = (one: LimitRefusal, other: LimitRefusal): boolean =>
  one.waitMs === null || (other.waitMs !== null && one.waitMs > other.waitMs);
