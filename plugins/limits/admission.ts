import type { Awaitable } from '../../src/common/core/directory.js';
import { type ErrorCode, GatewayError } from '../../src/common/core/errors.js';
import { type Attempt, type Exchange, Slot } from '../../src/common/core/exchange.js';
import type { RateRule } from '../../src/common/core/rate-rules.js';
import type { Target } from '../../src/common/core/target.js';
import type { ExpectedTokens, HostWith } from '../../src/common/plugin-host/host.js';
import type { Back, Grant, LimitRefusal, Wanted, WantedBudget } from './channel.js';
import { type Limit, type PeriodBudget, type Permits, PermitTable, type WorkerRate } from './permits.js';
import { budgetRefusalOf, refusalOf } from './refusal.js';
import { count, described, longestField, metricsOf } from './reported.js';
import {
  chargesOf,
  isConcurrency,
  isGivenUp,
  isOfBudget,
  nanosOf,
  type Taken,
  usedOf,
  usedTokens,
  wasSent,
} from './used.js';
import {
  ceilingOf,
  isRefusedToo,
  isUnmetered,
  neededOf,
  nothingOf,
  wantedBudgetOf,
  wantedOf,
} from './wanted.js';

/** Names this process to the control process, which reads its journal by this number. */
const { pid } = process;

/** What a request has taken of all its limits. */
export class TakenPermits {
  readonly taken: Taken[] = [];
  /** Has it been given back, as far as it was not used? */
  isSettled = false;
  /** Has it taken anything of a budget? */
  ofBudgets = false;
  /** Budgets of the request as a whole of which each try holds something back; null: not looked up yet. */
  budgets: readonly PeriodBudget[] | null = null;
}

/** Shared by the forks of an exchange: it is set before there are any. */
export const takenSlot = new Slot<TakenPermits>('limits-held', () => new TakenPermits());

/** A limit that a request meets, and what it would take. */
interface Asked {
  readonly limit: Limit;
  readonly amount: number;
}

/** Permits that are left alone for so long go back. Milliseconds. */
const idleMs = 250;
/** How long what is given back waits for more. Milliseconds. */
const flushMs = 10;
/** How often permits are looked at that may have become invalid. Milliseconds. */
const sweepMs = 50;

type Host = HostWith<'tokens' | 'channel' | 'costs'>;

/**
 * The only place where requests are admitted or refused. A request uses permits that this worker has; if they do not
 * suffice, one message requests all missing ones from the control process, which grants all or none.
 */
export class LimitAdmission {
  readonly table: PermitTable;
  #back: Back[] = [];
  #timer: NodeJS.Timeout | null = null;
  readonly #refused = new Map<string, number>();
  readonly #shadow = new Map<string, number>();

  constructor(readonly host: Host) {
    this.table = new PermitTable((back) => this.#giveBack(back));
    host.shared.on('limits-recall', ({ counter }) => this.#recalled(counter));
    host.metrics.show(() => [
      ...metricsOf('gateway_rate_limited_total', this.#refused),
      ...metricsOf('gateway_rate_limited_shadow_total', this.#shadow),
    ]);
  }

  limit(rule: RateRule): WorkerRate {
    return this.table.of(rule);
  }

  /**
   * Takes what a request needs of these limits. Throws or rejects where one of them has no room: then nothing was taken.
   * `attempt`: the try that it is for; null: the request as a whole.
   */
  admit(
    x: Exchange,
    limits: readonly Limit[],
    attempt: Attempt | null,
    target: Target | null,
  ): Awaitable<void> {
    if (attempt !== null && x.attempts.length > 1) this.#giveUp(x);
    if (!limits.some(({ rule: { measure } }) => measure === 'tokens' || measure === 'cost'))
      return this.#take(x, limits, attempt, null);
    const expected = this.host.expectedTokens(x, target);
    return expected instanceof Promise
      ? expected.then((tokens) => this.#take(x, limits, attempt, tokens))
      : this.#take(x, limits, attempt, expected);
  }

  #take(
    x: Exchange,
    limits: readonly Limit[],
    attempt: Attempt | null,
    expected: ExpectedTokens | null,
  ): Awaitable<void> {
    // Its end may have been settled while something was looked up: what is taken now would never be given back.
    if (x.aborted !== null) throw x.aborted;
    const held = x.get(takenSlot);
    const { taken } = held;
    const from = taken.length;
    const now = performance.now();
    let missing: Asked[] | null = null;
    let asking: Permits['asking'] = null;
    for (const limit of limits) {
      const { permits } = limit;
      const amount = this.#amountOf(x, limit, attempt, expected);
      if (permits.take(amount, now)) taken.push({ limit, amount, slot: permits.slot, attempt });
      else {
        const { refused } = permits;
        if (
          refused !== null &&
          now < refused.until &&
          isRefusedToo(refused, limit, neededOf(limit, amount, expected))
        ) {
          this.#undo(x, taken.slice(from));
          throw this.#refuse(x, { limit, amount }, refused.refusal);
        }
        missing ??= [];
        missing.push({ limit, amount });
        asking ??= permits.asking;
      }
    }
    if (missing === null) return this.#has(x, held);
    const before = taken.slice(from);
    if (asking === null) return this.#ask(x, missing, before, attempt, expected);
    // One question for a counter at a time: its answer may suffice for those who wait, too.
    this.#undo(x, before);
    return asking.then((failure) => {
      // Each would wait for the control process once more, one after the other.
      if (failure !== null) throw failure;
      return this.#take(x, limits, attempt, expected);
    });
  }

  /** What the request takes of a limit. Of a budget of cost or tokens the request as a whole takes nothing, and each try its part. */
  #amountOf(
    x: Exchange,
    { rule, period }: Limit,
    attempt: Attempt | null,
    expected: ExpectedTokens | null,
  ): number {
    const { measure } = rule;
    if (measure !== 'tokens' && measure !== 'cost') return 1;
    if (isUnmetered(x) || (period !== null && attempt === null)) return 0;
    if (measure === 'tokens') return expected!.tokens;
    const most = this.host.mostCost(attempt!, expected!);
    return most === null ? 0 : nanosOf(most);
  }

  /** What is held back of budgets by now, for the journal; and a request under way ends with its answer. */
  #has(x: Exchange, held: TakenPermits): void {
    if (x.main.onOver === null && held.taken.some(isConcurrency)) {
      const over = (): void => this.#over(x);
      x.main.onOver = over;
    }
    if (!held.ofBudgets) {
      if (!held.taken.some(isOfBudget)) return;
      held.ofBudgets = true;
    }
    x.main.charges = chargesOf(held.taken, ({ amount }) => amount);
  }

  /** Gives back what was held back of budgets for tries that have failed and are not owed anything. */
  #giveUp(x: Exchange): void {
    const held = x.get(takenSlot);
    if (!held.ofBudgets) return;
    const { taken } = held;
    const over = taken.filter((one) => isOfBudget(one) && isGivenUp(one));
    if (over.length > 0) this.#undo(x, over);
  }

  #ask(
    x: Exchange,
    missing: readonly Asked[],
    before: readonly Taken[],
    attempt: Attempt | null,
    expected: ExpectedTokens | null,
  ): Promise<void> {
    const answered = this.#askNow(x, missing, before, attempt, expected).finally(() => {
      for (const { limit } of missing) limit.permits.asking = null;
    });
    const over = answered.then(nothing, (error: GatewayError) => (unanswered.has(error.code) ? error : null));
    // After all that wait for it: they are called in the same turn, one after the other.
    void over.then(() =>
      queueMicrotask(() => {
        for (const { limit } of missing) limit.permits.refused = null;
      }),
    );
    for (const { limit } of missing) limit.permits.asking = over;
    return answered;
  }

  async #askNow(
    x: Exchange,
    asked: readonly Asked[],
    before: readonly Taken[],
    attempt: Attempt | null,
    expected: ExpectedTokens | null,
  ): Promise<void> {
    const askedAt = performance.now();
    const wanted: Wanted[] = [];
    const budgets: WantedBudget[] = [];
    const ofRates: Asked[] = [];
    const ofBudgets: Asked[] = [];
    for (const one of asked) {
      const { limit, amount } = one;
      // Too little for this request: it counts as used here for as long as it is here.
      if (limit.permits.left > 0) this.#back.push(limit.permits.empty());
      if (limit.period === null) {
        wanted.push(wantedOf(limit.rule, amount, expected));
        ofRates.push(one);
      } else {
        budgets.push(wantedBudgetOf(limit, amount, expected));
        ofBudgets.push(one);
      }
    }
    const missing = ofBudgets.length === 0 ? ofRates : [...ofRates, ...ofBudgets];
    const held = x.get(takenSlot);
    const late = (granted: readonly Grant[] | LimitRefusal | null): void => {
      if (granted === null || 'refused' in granted) return;
      for (const [i, { taken, extra, slot }] of granted.entries()) {
        const { counter, isBudget, windowMs } = missing[i]!.limit.permits;
        this.#giveBack({ counter, isBudget, windowMs, slot, amount: taken + extra });
      }
    };
    const answer = await this.host.shared
      .ask('limits-take', { pid, wanted, budgets, back: this.#takeBack() }, { late })
      .catch((cause: unknown) => {
        this.#undo(x, before);
        throw new GatewayError(
          'store_unavailable',
          'The gateway cannot check the limits of this request right now: try again shortly.',
          { cause, retryAfterMs: 1000 },
        );
      });
    if (answer === null) {
      this.#undo(x, before);
      throw new GatewayError(
        'limits_unavailable',
        'The limits of this request are counted in Redis, which does not answer: try again shortly.',
        { retryAfterMs: 1000 },
      );
    }
    if ('refused' in answer) {
      this.#undo(x, before);
      const refused = missing[answer.refused]!;
      const { limit, amount } = refused;
      const { permits } = limit;
      permits.isUsedUp = permits.isBudget && answer.remaining < 1;
      // Requests in flight may end at any time, and so may those that reserve a part of a budget: permits are then requested again.
      const waitMs = limit.rule.measure === 'concurrency' || permits.isBudget ? null : answer.waitMs;
      permits.refused = {
        needed: neededOf(limit, amount, expected),
        value: ceilingOf(limit),
        refusal: answer,
        until: waitMs === null ? Number.POSITIVE_INFINITY : askedAt + waitMs,
      };
      throw this.#refuse(x, refused, answer);
    }
    for (const [i, grant] of answer.entries()) {
      const { limit } = missing[i]!;
      const { rule, permits } = limit;
      permits.isUsedUp = false;
      const stale = permits.granted(grant, askedAt);
      if (stale !== null) this.#giveBack(stale);
      if (grant.extra > 0) this.#hold(permits);
      const { taken: amount, slot } = grant;
      held.taken.push({ limit, amount, slot, attempt });
      if (!grant.isWithin) this.#wouldRefuse(x, rule);
    }
    // The client disconnected meanwhile, and its reservation was settled: settle what was granted now, too.
    if (held.isSettled) this.settle(x);
    else this.#has(x, held);
  }

  /** Returns what was taken for a request that is refused now, unless its client has left meanwhile and all was settled. */
  #undo(x: Exchange, before: readonly Taken[]): void {
    if (before.length === 0) return;
    const { taken } = x.get(takenSlot);
    const now = performance.now();
    for (const one of before) if (taken.includes(one)) this.#restore(one, one.amount, now);
    taken.splice(0, taken.length, ...taken.filter((one) => !before.includes(one)));
  }

  /** The client has its answer, and may send the next request: what it used is counted and settled later. */
  #over(x: Exchange): void {
    const { taken } = x.get(takenSlot);
    this.#undo(x, taken.filter(isConcurrency));
  }

  /** Gives back what the request has not used, and counts what it has used beyond. */
  settle(x: Exchange): void {
    const held = x.get(takenSlot);
    const isFirst = !held.isSettled;
    held.isSettled = true;
    if (held.taken.length === 0) return;
    const isSent = x.attempts.some(wasSent);
    // Prices each try.
    if (held.ofBudgets) this.host.cost(x);
    const now = performance.now();
    for (const one of held.taken) {
      const { limit, attempt, amount } = one;
      const { measure } = limit.rule;
      if (isOfBudget(one)) {
        const used = usedOf(one, x.attempts);
        if (used !== amount) this.#restore(one, amount - used, now);
      } else if (measure === 'concurrency') this.#restore(one, amount, now);
      else if (attempt === null ? !isSent : !wasSent(attempt)) this.#restore(one, amount, now);
      else if (measure === 'tokens') {
        const used = usedTokens(attempt === null ? x.attempts : [attempt], amount);
        if (used !== amount) this.#restore(one, amount - used, now);
      }
    }
    if (held.ofBudgets && isFirst)
      x.charges = isSent ? chargesOf(held.taken, (one) => usedOf(one, x.attempts)) : null;
    held.taken.length = 0;
  }

  #restore({ limit: { permits }, slot }: Taken, amount: number, now: number): void {
    const { counter, isBudget, windowMs } = permits;
    const isWanted = permits.isWanted(now);
    const rest = isWanted ? amount : permits.restore(amount, slot, now);
    if (rest === 0) this.#hold(permits);
    else this.#giveBack({ counter, isBudget, windowMs, slot, amount: rest });
    if (isWanted) this.#send();
  }

  #hold(permits: Limit['permits']): void {
    this.table.hold(permits);
    this.#timer ??= setTimeout(() => this.#flush(), sweepMs).unref();
  }

  #giveBack(back: Back): void {
    this.#back.push(back);
    this.#timer ??= setTimeout(() => this.#flush(), flushMs).unref();
  }

  #takeBack(): Back[] {
    const back = this.#back;
    this.#back = [];
    return back;
  }

  #flush(): void {
    this.#timer = null;
    this.#back.push(...this.table.unused(performance.now(), idleMs));
    this.#send();
    if (this.table.isHolding) this.#timer = setTimeout(() => this.#flush(), sweepMs).unref();
  }

  #send(): void {
    const back = this.#takeBack();
    if (back.length > 0) this.host.shared.send('limits-back', { pid, back });
  }

  #recalled(counter: string): void {
    const permits = this.table.find(counter);
    permits?.recalled(performance.now());
    this.#back.push(permits?.empty() ?? nothingOf(counter));
    this.#send();
  }

  #refuse(x: Exchange, { limit, amount }: Asked, refusal: Parameters<typeof refusalOf>[2]): GatewayError {
    count(this.#refused, limit.rule);
    this.host.record(x, 'refused_by', described(limit.rule));
    return limit.period === null
      ? refusalOf(x, limit.rule, refusal)
      : budgetRefusalOf(x, limit.rule, limit.period, amount, refusal);
  }

  #wouldRefuse(x: Exchange, rule: Limit['rule']): void {
    count(this.#shadow, rule);
    const before = x.fields?.['limits']?.['shadow'];
    const all = before === undefined ? described(rule) : `${String(before)}, ${described(rule)}`;
    this.host.record(x, 'shadow', all.slice(0, longestField));
  }
}

const nothing = (): null => null;

/** The question itself had no answer: not a refusal. */
const unanswered: ReadonlySet<ErrorCode> = new Set(['store_unavailable', 'limits_unavailable']);
