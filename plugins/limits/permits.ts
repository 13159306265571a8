import { LRUCache } from 'lru-cache';
import type { BudgetPeriod, BudgetRule } from '../../src/common/core/budget-rules.js';
import type { GatewayError } from '../../src/common/core/errors.js';
import { type RateRule, rateWindows } from '../../src/common/core/rate-rules.js';
import type { Back, Grant, LimitRefusal } from './channel.js';

/** What there was no room for: neither is there for a request that has waited meanwhile and needs as much. */
export interface RefusedAmount {
  readonly needed: number;
  /** Of the limit. */
  readonly value: number;
  readonly refusal: LimitRefusal;
  /** When there may be room again, by the monotonic clock: at the earliest. */
  readonly until: number;
}

/** How long permits of requests under way are given back at once after others lacked them. Milliseconds. */
const wantedMs = 1000;

/** What this data worker may take of one counter without asking. */
export class Permits {
  left = 0;
  /** The part of the window that `left` is counted in. */
  slot = 0;
  /** Until when `left` is valid, by the monotonic clock. */
  #until = 0;
  /**
   * Resolves when the question for more of it has been answered; with an error, where there was no answer. null: there
   * is none.
   */
  asking: Promise<GatewayError | null> | null = null;
  /** The refusal that has just come, until the requests that waited for it have seen it; else null. */
  refused: RefusedAmount | null = null;
  /** When something was last taken, by the monotonic clock. */
  #takenAt = 0;
  /** Until when other workers may lack what is given back here, by the monotonic clock. */
  #wantedUntil = 0;
  /** Was nothing left of it when it was last asked for? */
  isUsedUp = false;

  constructor(
    readonly counter: string,
    readonly windowMs: number | null,
    readonly isBudget: boolean,
  ) {}

  /** Takes `amount` where so much is left, and anything at all. */
  take(amount: number, now: number): boolean {
    if (this.left < amount || this.left < 1 || now >= this.#until) return false;
    this.left -= amount;
    this.#takenAt = now;
    return true;
  }

  /** Returns what was left of an earlier part of the window; null: nothing. */
  granted({ extra, slot, validMs }: Grant, askedAt: number): Back | null {
    const isSame = slot === this.slot && askedAt < this.#until;
    const before = isSame || this.left === 0 ? null : this.empty();
    this.left += extra;
    this.slot = slot;
    this.#until = validMs === null ? Number.POSITIVE_INFINITY : askedAt + validMs;
    this.#takenAt = askedAt;
    return before;
  }

  /**
   * Takes back what a request has not used. What it has used beyond (below 0) is taken from what is left, so that no other
   * request is let through by that. Returns what was counted elsewhere, and has to be sent there.
   */
  restore(amount: number, slot: number, now: number): number {
    if (slot !== this.slot || now >= this.#until) return amount;
    const before = this.left;
    this.left = Math.max(Math.min(before, 0), before + amount);
    return amount - (this.left - before);
  }

  /** Another worker lacks permits of requests under way: it may lack them until those that run have ended. */
  recalled(now: number): void {
    if (this.windowMs === null && !this.isBudget) this.#wantedUntil = now + wantedMs;
  }

  /** Is what is given back to go to other workers at once? */
  isWanted(now: number): boolean {
    return now < this.#wantedUntil;
  }

  isUnused(now: number, idleMs: number): boolean {
    return this.left > 0 && (now >= this.#until || now - this.#takenAt > idleMs);
  }

  /** Everything that is left, which is then no longer here. */
  empty(): Back {
    const { counter, isBudget, windowMs, slot, left } = this;
    this.left = 0;
    return { counter, isBudget, windowMs, slot, amount: left };
  }
}

/** A rate limit with what this worker may take of it. */
export interface WorkerRate {
  readonly rule: RateRule;
  readonly period: null;
  readonly permits: Permits;
}

/** One period of a budget, with what this worker may take of it. */
export interface PeriodBudget {
  readonly rule: BudgetRule;
  readonly period: BudgetPeriod;
  readonly permits: Permits;
}

export type Limit = WorkerRate | PeriodBudget;

/** Characters of the counters that are kept, all together; a key of a policy may have a new one with each request. */
const maxLength = 4 * 1024 * 1024;
/** Of a counter with no name. */
const leastLength = 128;

/** The permits of this worker, by counter. */
export class PermitTable {
  readonly #permits = new LRUCache<string, Permits>({
    maxSize: maxLength,
    sizeCalculation: (_, counter) => leastLength + counter.length,
    dispose: (permits) => {
      this.#holding.delete(permits);
      if (permits.left > 0) this.dropped(permits.empty());
    },
  });
  /** Those of which something may be left. */
  readonly #holding = new Set<Permits>();

  /** `dropped` is called with permits that make room for others. */
  constructor(readonly dropped: (back: Back) => void) {}

  of(rule: RateRule): WorkerRate {
    const { counter, unit } = rule;
    const permits = this.#of(counter, unit === null ? null : rateWindows[unit], false);
    return { rule, period: null, permits };
  }

  ofBudget(rule: BudgetRule, period: BudgetPeriod): PeriodBudget {
    return { rule, period, permits: this.#of(`${rule.budget}@${period.startsAt}`, null, true) };
  }

  #of(counter: string, windowMs: number | null, isBudget: boolean): Permits {
    let permits = this.#permits.get(counter);
    if (permits === undefined) {
      permits = new Permits(counter, windowMs, isBudget);
      this.#permits.set(counter, permits);
    }
    return permits;
  }

  find(counter: string): Permits | undefined {
    return this.#permits.peek(counter);
  }

  hold(permits: Permits): void {
    this.#holding.add(permits);
  }

  get isHolding(): boolean {
    return this.#holding.size > 0;
  }

  /** What no request has taken for so long, and what is no longer valid. */
  unused(now: number, idleMs: number): Back[] {
    const back: Back[] = [];
    for (const permits of this.#holding) {
      if (permits.isUnused(now, idleMs)) back.push(permits.empty());
      if (permits.left === 0) this.#holding.delete(permits);
    }
    return back;
  }
}
