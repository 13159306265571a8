import { GatewayError } from '../../src/common/core/errors.js';
import type { Exchange, Reply } from '../../src/common/core/exchange.js';
import {
  type Hedge,
  type Retry,
  type RouteNode,
  type Target,
  targetOf,
} from '../../src/common/core/target.js';
import { retryAfterMs } from '../../src/common/http/retry-after.js';
import type { HostWith } from '../../src/common/plugin-host/plugin.js';
import type { Chooser, Sequence } from './balance/choose.js';
import { metered } from './balance/metered.js';
import type { Meters } from './balance/meters.js';
import type { OpenTargets, WorkerBreakers } from './health/breaker.js';
import {
  abandon,
  discard,
  errorIsRetried,
  errorMovesOn,
  isPast,
  isRepeatable,
  replayable,
  replyMovesOn,
} from './health/outcome.js';
import type { RetryBudget } from './health/retry-budget.js';
import type { Hedger, Race } from './hedge.js';
import type { Admission } from './limits/admission.js';
import type { Mirrors } from './mirror.js';
import { maxWaitMs } from './stage.js';

/** Upstream attempts of one request, all targets and retries together: one call must not cause a storm. */
const maxTries = 10;

/** The parts that every walk uses. */
export interface RouterDeps {
  readonly host: Pick<HostWith<'upstream'>, 'attempt' | 'random'>;
  readonly chooser: Chooser;
  readonly meters: Meters;
  readonly breakers: WorkerBreakers;
  readonly budget: RetryBudget;
  readonly hedger: Hedger;
  readonly mirrors: Mirrors;
  readonly admission: Admission;
  /** Milliseconds: the first backoff; each further one is twice as long. */
  readonly backoffMs: number;
}

/** In place of a reply: no target was called, since the breakers of all of them are open. */
export const unasked: Reply = Object.freeze({
  status: 0,
  headers: [],
  body: null,
  events: false,
  errorOrigin: null,
});

/** One request's way through its config, with its attempts and waits so far. */
export class Walk {
  #tries = 0;
  #waitedMs = 0;
  /** An answer that is not good enough, kept until another target is called. */
  #held: Reply | null = null;
  /** The probe number of the next attempt, if its target's breaker is open and this request may probe. */
  #probe: number | null = null;
  /** The request's own metadata, to which a target's is added. */
  readonly #metadata: Exchange['metadata'];
  /** Set where this is one side of a race. */
  readonly #around: Walk | null;
  /** The request's main walk, whose limit of attempts all sides share. */
  readonly #whole: Walk;

  /** `open`: the targets with open breakers; null: none. `around`: the walk of which this is one side. */
  constructor(
    readonly deps: RouterDeps,
    readonly x: Exchange,
    readonly open: OpenTargets | null,
    around: Walk | null = null,
  ) {
    this.#around = around;
    this.#whole = around === null ? this : around.#whole;
    this.#metadata = around === null ? x.metadata : around.#metadata;
  }

  /**
   * `ahead`: later targets of the fallbacks around this node; retries leave each of them one attempt. Resolves with
   * `unasked` if every target under the node has an open breaker.
   */
  node(node: RouteNode, ahead: number): Promise<Reply> {
    return this.open === null ? this.#node(node, ahead) : this.#passing(this.open, node, ahead);
  }

  async #passing(open: OpenTargets, node: RouteNode, ahead: number): Promise<Reply> {
    const { breakers } = this.deps;
    // Chooses again if another request is probing the first choice.
    for (let i = 0; i <= open.size && breakers.available(this.x, node); i++) {
      const reply = await this.#node(node, ahead);
      if (reply !== unasked) return reply;
    }
    return unasked;
  }

  #node(node: RouteNode, ahead: number): Promise<Reply> {
    const { x } = this;
    const { chooser } = this.deps;
    const at = settled(chooser, x, node);
    switch (at.kind) {
      case 'target': {
        const target = targetOf(x.config, at);
        return this.open?.has(at.path) ? this.#probing(target, ahead) : this.#target(target, ahead);
      }
      case 'fallback':
        return this.#inTurn(at, at.children, at.onStatusCodes, ahead);
      default: {
        const order = chooser.inOrder(x, at);
        if (at.failover !== null) return this.#inTurn(at, order, at.failover.onStatusCodes, ahead);
        return this.#mayRace(at, order, 0, null, ahead)?.answer ?? this.node(order.at(0)!, ahead);
      }
    }
  }

  async #probing(target: Target, ahead: number): Promise<Reply> {
    const probe = await this.deps.breakers.claim(this.x, target);
    if (probe === null) return unasked;
    this.#probe = probe === 0 ? null : probe;
    this.x.decided({ kind: 'probe', target: target.path });
    return this.#target(target, ahead);
  }

  #target(target: Target, ahead: number): Promise<Reply> {
    const { x } = this;
    x.target = target;
    x.retries = 0;
    // The request's metadata stays: a config adds metadata, and replaces none.
    x.metadata = target.metadata === undefined ? this.#metadata : { ...target.metadata, ...this.#metadata };
    this.#letGo();
    this.#whole.#tries++;
    const { retry, mirror } = target;
    const answer =
      retry === null || retry.attempts === 0 ? this.#attempt(target) : this.#retrying(target, retry, ahead);
    if (mirror !== null && this.#whole.#tries === 1) this.deps.mirrors.copy(x, mirror);
    return answer;
  }

  /** Another target is called: the buffered answer is not needed. */
  #letGo(): void {
    if (this.#held !== null) discard(this.#held);
    this.#held = null;
    if (this.#around !== null) this.#around.#letGo();
  }

  #attempt(target: Target): Promise<Reply> {
    const { x, deps } = this;
    const probe = this.#probe;
    this.#probe = null;
    if (!x.config.metered) return ask(deps, x, target, probe);
    return metered(deps.meters, x, target, () => ask(deps, x, target, probe));
  }

  /** null: no race for this request. Separate from `#race`, whose closures are expensive even if none is created. */
  #mayRace(
    at: Hedged,
    nodes: Sequence,
    index: number,
    onStatusCodes: readonly number[] | null,
    ahead: number,
  ): Race | null {
    if (at.hedge === null || index + 1 >= nodes.length || !isRepeatable(this.x)) return null;
    return this.#race(at.path, at.hedge, nodes, index, onStatusCodes, ahead);
  }

  /** Calls two nodes for one answer, the second only if the first is late. */
  #race(
    path: string,
    hedge: Hedge,
    nodes: Sequence,
    index: number,
    onStatusCodes: readonly number[] | null,
    ahead: number,
  ): Race {
    const { x, deps, open } = this;
    return deps.hedger.race({
      x,
      hedge,
      path,
      opens: index === 0,
      first: nodes.at(index)!,
      second: () => {
        const second = nodes.at(index + 1)!;
        return open?.has(second.path) === true ? null : second;
      },
      ask: (side, node) => new Walk(deps, side, open, this).node(node, ahead),
      isGood: (side, reply) =>
        reply !== unasked && !replyMovesOn(side, reply, side.target?.onStatusCodes ?? onStatusCodes),
    });
  }

  async #inTurn(
    at: Hedged,
    nodes: Sequence,
    onStatusCodes: readonly number[] | null,
    ahead: number,
  ): Promise<Reply> {
    const { x } = this;
    const last = nodes.length - 1;
    let failed: Reply | GatewayError = unasked;
    for (let i = 0; i <= last; ) {
      const left = ahead + last - i;
      const race = this.#mayRace(at, nodes, i, onStatusCodes, left);
      try {
        const reply = await (race === null ? this.node(nodes.at(i)!, left) : race.answer);
        if (reply === unasked) continue;
        const codes = x.target?.onStatusCodes ?? onStatusCodes;
        if (this.#isOver() || !replyMovesOn(x, reply, codes)) return reply;
        failed = this.#held = reply;
        if (i + (race?.asked ?? 1) <= last) movedOn(x, reply.status);
        if (x.aborted !== null) abandon(x, reply);
      } catch (thrown) {
        failed = x.aborted ?? GatewayError.from(thrown);
        const codes = x.target?.onStatusCodes ?? onStatusCodes;
        if (this.#isOver() || !errorMovesOn(x, failed, codes)) throw failed;
        if (i + (race?.asked ?? 1) <= last) movedOn(x, failed.code);
      } finally {
        i += race?.asked ?? 1;
      }
    }
    if (failed instanceof GatewayError) throw failed;
    return failed;
  }

  /** Has the request used all its attempts, or all its time? */
  #isOver(): boolean {
    const { target } = this.x;
    return this.#whole.#tries >= maxTries || (target !== null && isPast(this.x, target));
  }

  async #retrying(target: Target, retry: Retry, ahead: number): Promise<Reply> {
    const { x } = this;
    const { budget } = this.deps;
    const tenant = x.principal.workspaceId ?? x.principal.organisationId;
    budget.request(tenant);
    for (let made = 0; ; made++) {
      x.retries = made;
      let reply: Reply | null = null;
      let error: GatewayError | null = null;
      try {
        reply = await this.#attempt(target);
        if (!replayable(x) || !retry.onStatusCodes.includes(reply.status)) return reply;
      } catch (thrown) {
        error = x.aborted ?? GatewayError.from(thrown);
        if (!errorIsRetried(x, error, retry)) throw error;
      }
      const over = made === retry.attempts || this.#whole.#tries + ahead >= maxTries;
      const wait = over ? 'tries' : this.#wait(target, retry, made, reply);
      if (typeof wait === 'string' || !budget.retry(tenant)) {
        const why = typeof wait === 'string' ? wait : 'budget';
        x.decided({ kind: 'no_retry', target: target.path, why });
        if (made === retry.attempts) x.retries = -1;
        if (reply === null) throw error;
        return reply;
      }
      if (reply !== null) abandon(x, reply);
      x.decided({
        kind: 'retry',
        target: target.path,
        because: reply?.status ?? error?.code ?? 0,
        ms: Math.round(wait),
      });
      await pause(x, wait);
      this.#whole.#waitedMs += wait;
      this.#whole.#tries++;
    }
  }

  /** Milliseconds until the next retry, or the reason why there is none. */
  #wait(target: Target, retry: Retry, made: number, reply: Reply | null): number | 'breaker' | 'time' {
    const { host, backoffMs, breakers } = this.deps;
    if (breakers.isOpen(this.x, target)) return 'breaker';
    const asked =
      retry.useRetryAfterHeader && reply !== null ? retryAfterMs(reply.headers, Date.now()) : null;
    // Full jitter: clients that failed at the same time must not return at the same time.
    const waitMs = asked ?? host.random() * backoffMs * 2 ** made;
    if (target.deadlineMs !== null && this.x.elapsedMs() + waitMs >= target.deadlineMs) return 'time';
    return waitMs <= maxWaitMs - this.#whole.#waitedMs ? waitMs : 'time';
  }
}

/** One attempt at `target`, when there is room at its upstream. `probe`: the number of its probe; null: none. */
export function ask(deps: RouterDeps, x: Exchange, target: Target, probe: number | null): Promise<Reply> {
  const { concurrency } = target;
  // A probe is the only request that its target gets.
  if (concurrency === null || probe !== null) return judged(deps, x, target, probe);
  return deps.admission.through(x, target, concurrency, () => judged(deps, x, target, probe));
}

/** One attempt at `target`, reported to its breaker. */
function judged(
  { host, breakers }: RouterDeps,
  x: Exchange,
  target: Target,
  probe: number | null,
): Promise<Reply> {
  const { breaker } = target;
  const attempt = host.attempt(x, target);
  // Tokens that the gateway counts itself are no evidence about a target.
  if (breaker === null || x.endpoint.counts === true) return attempt;
  return breakers.judge(x, target, breaker, probe, attempt);
}

function movedOn(x: Exchange, because: number | string): void {
  if (x.target !== null) x.decided({ kind: 'moved_on', target: x.target.path, because });
}

/** A strategy that may call two targets at a time. */
interface Hedged {
  readonly path: string;
  readonly hedge: Hedge | null;
}

/** A node with attempts: conditions and plain choices are already resolved. */
export type Settled = Exclude<RouteNode, { kind: 'conditional' }>;

export function settled(chooser: Chooser, x: Exchange, node: RouteNode): Settled {
  let at = node;
  for (;;) {
    if (at.kind === 'conditional') at = chooser.branch(x, at);
    else if (at.kind === 'loadbalance' && at.failover === null && at.hedge === null) at = chooser.pick(x, at);
    else return at;
  }
}

/** Waits, or rejects as soon as the exchange is aborted. */
function pause(x: Exchange, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      off();
      resolve();
    }, ms);
    const off = x.onAbort((reason) => {
      clearTimeout(timer);
      reject(reason);
    });
  });
}
