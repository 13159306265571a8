import type { Awaitable } from '../../src/common/core/directory.js';
import { type ErrorCode, GatewayError } from '../../src/common/core/errors.js';
import { type Attempt, type Exchange, Slot } from '../../src/common/core/exchange.js';
import { type RateRule, rateWindows } from '../../src/common/core/rate-rules.js';
import type { Target } from '../../src/common/core/target.js';
import type { ExpectedTokens, HostWith } from '../../src/common/plugin-host/host.js';
import type { Back, Grant, LimitRefusal, Wanted } from './channel.js';
import { type Limit, type Permits, PermitTable, type RefusedAmount } from './permits.js';
import { refusalOf } from './refusal.js';

/** What a request has taken of one limit. */
interface Taken {
  readonly permits: Permits;
  readonly measure: RateRule['measure'];
  readonly amount: number;
  readonly slot: number;
  /** The try that it was taken for; null: for the request as a whole. */
  readonly attempt: Attempt | null;
}

/** What a request has taken of all its limits. */
export class TakenPermits {
  readonly taken: Taken[] = [];
  /** Has it been given back, as far as it was not used? */
  isSettled = false;
}

/** Shared by the forks of an exchange: it is set before there are any. */
export const takenSlot = new Slot<TakenPermits>('limits-held', () => new TakenPermits());

/** A limit that a request meets, and what it would take. */
interface Asked extends Limit {
  readonly amount: number;
}

/** Permits that are left alone for so long go back. Milliseconds. */
const idleMs = 250;
/** How long what is given back waits for more. Milliseconds. */
const flushMs = 10;
/** How often permits are looked at that may have become invalid. Milliseconds. */
const sweepMs = 50;

type Host = HostWith<'tokens' | 'channel'>;

/**
 * The one place where requests are let through or refused. A request takes from the permits that this worker has; where
 * those do not suffice, the control process is asked for all that is missing at once, which grants all of it or none.
 */
export class LimitAdmission {
  readonly #table: PermitTable;
  #back: Back[] = [];
  #timer: NodeJS.Timeout | null = null;
  readonly #refused = new Map<string, number>();
  readonly #shadow = new Map<string, number>();

  constructor(readonly host: Host) {
    this.#table = new PermitTable((back) => this.#giveBack(back));
    host.shared.on('limits-recall', ({ counter }) => this.#recalled(counter));
    host.metrics.show(() => [
      ...metricsOf('gateway_limits_refused_total', this.#refused),
      ...metricsOf('gateway_limits_shadow_total', this.#shadow),
    ]);
  }

  limit(rule: RateRule): Limit {
    return this.#table.of(rule);
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
    if (!limits.some(({ rule }) => rule.measure === 'tokens')) return this.#take(x, limits, attempt, null);
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
    const { taken } = x.get(takenSlot);
    const from = taken.length;
    const now = performance.now();
    let missing: Asked[] | null = null;
    let asking: Permits['asking'] = null;
    for (const limit of limits) {
      const { permits, rule } = limit;
      const { measure } = rule;
      const amount = measure === 'tokens' ? expected!.tokens : 1;
      if (permits.take(amount, now)) taken.push({ permits, measure, amount, slot: permits.slot, attempt });
      else {
        const { refused } = permits;
        if (
          refused !== null &&
          now < refused.until &&
          isRefusedToo(refused, rule, neededOf(rule, amount, expected))
        ) {
          this.#undo(x, taken.slice(from));
          throw this.#refuse(x, rule, refused.refusal);
        }
        missing ??= [];
        missing.push({ ...limit, amount });
        asking ??= permits.asking;
      }
    }
    if (missing === null) return;
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

  #ask(
    x: Exchange,
    missing: readonly Asked[],
    before: readonly Taken[],
    attempt: Attempt | null,
    expected: ExpectedTokens | null,
  ): Promise<void> {
    const answered = this.#askNow(x, missing, before, attempt, expected).finally(() => {
      for (const { permits } of missing) permits.asking = null;
    });
    const over = answered.then(nothing, (error: GatewayError) => (unanswered.has(error.code) ? error : null));
    // After all that wait for it: they are called in the same turn, one after the other.
    void over.then(() =>
      queueMicrotask(() => {
        for (const { permits } of missing) permits.refused = null;
      }),
    );
    for (const { permits } of missing) permits.asking = over;
    return answered;
  }

  async #askNow(
    x: Exchange,
    missing: readonly Asked[],
    before: readonly Taken[],
    attempt: Attempt | null,
    expected: ExpectedTokens | null,
  ): Promise<void> {
    const askedAt = performance.now();
    const wanted = missing.map(({ rule, amount }) => wantedOf(rule, amount, expected));
    // Too little for this request: it counts as used here for as long as it is here.
    for (const { permits } of missing) if (permits.left > 0) this.#back.push(permits.empty());
    const held = x.get(takenSlot);
    const late = (granted: readonly Grant[] | LimitRefusal | null): void => {
      if (granted === null || 'refused' in granted) return;
      for (const [i, { taken, extra, slot }] of granted.entries()) {
        const { counter, windowMs } = missing[i]!.permits;
        this.#giveBack({ counter, windowMs, slot, amount: taken + extra });
      }
    };
    const answer = await this.host.shared
      .ask('limits-take', { wanted, back: this.#takeBack() }, { late })
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
      const { rule, permits, amount } = missing[answer.refused]!;
      // Requests under way may end at any time: until they are asked for again.
      const waitMs = rule.measure === 'concurrency' ? null : answer.waitMs;
      permits.refused = {
        needed: neededOf(rule, amount, expected),
        value: rule.value,
        refusal: answer,
        until: waitMs === null ? Number.POSITIVE_INFINITY : askedAt + waitMs,
      };
      throw this.#refuse(x, rule, answer);
    }
    for (const [i, grant] of answer.entries()) {
      const { rule, permits } = missing[i]!;
      const stale = permits.granted(grant, askedAt);
      if (stale !== null) this.#giveBack(stale);
      if (grant.extra > 0) this.#hold(permits);
      const { taken: amount, slot } = grant;
      held.taken.push({ permits, measure: rule.measure, amount, slot, attempt });
      if (!grant.isWithin) this.#wouldRefuse(x, rule);
    }
    // The client has gone while it waited, and what it held was settled: so is what has just come.
    if (held.isSettled) this.settle(x);
  }

  /** Gives back what was taken for a request that goes no further now. */
  #undo(x: Exchange, before: readonly Taken[]): void {
    if (before.length === 0) return;
    const { taken } = x.get(takenSlot);
    for (const one of before) this.#restore(one, one.amount);
    taken.splice(0, taken.length, ...taken.filter((one) => !before.includes(one)));
  }

  /** Gives back what the request has not used, and counts what it has used beyond. */
  settle(x: Exchange): void {
    const held = x.get(takenSlot);
    held.isSettled = true;
    if (held.taken.length === 0) return;
    const isSent = x.attempts.some(wasSent);
    for (const one of held.taken) {
      const { measure, attempt, amount } = one;
      if (measure === 'concurrency') this.#restore(one, amount);
      else if (attempt === null ? !isSent : !wasSent(attempt)) this.#restore(one, amount);
      else if (measure === 'tokens') {
        const used = usedTokens(attempt === null ? x.attempts : [attempt]);
        if (used !== null && used !== amount) this.#restore(one, amount - used);
      }
    }
    held.taken.length = 0;
  }

  #restore({ permits, slot }: Taken, amount: number): void {
    const { counter, windowMs } = permits;
    if (amount > 0 && permits.restore(amount, slot, performance.now())) this.#hold(permits);
    else this.#giveBack({ counter, windowMs, slot, amount });
  }

  #hold(permits: Permits): void {
    this.#table.hold(permits);
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
    this.#back.push(...this.#table.unused(performance.now(), idleMs));
    this.#send();
    if (this.#table.isHolding) this.#timer = setTimeout(() => this.#flush(), sweepMs).unref();
  }

  #send(): void {
    const back = this.#takeBack();
    if (back.length > 0) this.host.shared.send('limits-back', { back });
  }

  #recalled(counter: string): void {
    const permits = this.#table.find(counter);
    this.#back.push(permits?.empty() ?? { counter, windowMs: null, slot: 0, amount: 0 });
    this.#send();
  }

  #refuse(x: Exchange, rule: RateRule, refusal: Parameters<typeof refusalOf>[2]): GatewayError {
    count(this.#refused, rule);
    this.host.record(x, 'refused_by', described(rule));
    return refusalOf(x, rule, refusal);
  }

  #wouldRefuse(x: Exchange, rule: RateRule): void {
    count(this.#shadow, rule);
    const before = x.fields?.['limits']?.['shadow'];
    const all = before === undefined ? described(rule) : `${String(before)}, ${described(rule)}`;
    this.host.record(x, 'shadow', all.slice(0, longestField));
  }
}

const nothing = (): null => null;

/** The question itself had no answer: not a refusal. */
const unanswered: ReadonlySet<ErrorCode> = new Set(['store_unavailable', 'limits_unavailable']);

/** Where `max_tokens` is missing, one token is enough. */
const neededOf = ({ measure }: RateRule, amount: number, expected: ExpectedTokens | null): number =>
  measure !== 'tokens' || expected!.isBounded ? amount : Math.min(amount, 1);

const isRefusedToo = (refused: RefusedAmount, { shadow, value }: RateRule, needed: number): boolean =>
  !shadow && needed >= refused.needed && value <= refused.value;

const longestField = 256;

const wantedOf = (rule: RateRule, amount: number, expected: ExpectedTokens | null): Wanted => ({
  counter: rule.counter,
  windowMs: rule.unit === null ? null : rateWindows[rule.unit],
  value: rule.value,
  amount,
  isBounded: rule.measure !== 'tokens' || expected!.isBounded,
  shadow: rule.shadow,
});

const wasSent = ({ endedAt, status }: Attempt): boolean => endedAt !== null || status !== 0;

/** null: not known; then what was taken for it stays taken. */
function usedTokens(attempts: readonly Attempt[]): number | null {
  let sum = 0;
  for (const attempt of attempts) {
    if (!wasSent(attempt)) continue;
    const { usage, status } = attempt;
    if (usage !== null && usage.source !== 'none') sum += usage.input + usage.output;
    else if (status < 300) return null;
  }
  return sum;
}

const described = ({ of, name, measure, unit }: RateRule): string =>
  `${of} ${name} ${measure}${unit === null ? '' : ` ${unit}`}`.slice(0, longestField);

function count(counts: Map<string, number>, { of, measure }: RateRule): void {
  const key = `${of} ${measure}`;
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

const metricsOf = (name: string, counts: ReadonlyMap<string, number>) =>
  [...counts].map(([key, value]) => {
    const [on = '', type = ''] = key.split(' ');
    return { name, labels: { on, type }, value };
  });
