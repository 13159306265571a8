import { GatewayError } from '../../src/core/errors.js';
import type { Exchange, Reply } from '../../src/core/exchange.js';
import type { Host } from '../../src/core/plugin.js';
import type { Retry, RouteNode, Target } from '../../src/core/target.js';
import type { Chooser, Sequence } from './choose.js';
import { metered } from './metered.js';
import type { Meters } from './meters.js';
import { abandon, errorIsRetried, errorMovesOn, replayable, replyMovesOn } from './outcome.js';
import { retryAfterMs } from './retry-after.js';

/** Upstream tries of one request, all targets and retries together: one call must not become a storm. */
const maxTries = 10;
/** Waiting of one request, all retries together. */
export const maxWaitMs = 60_000;

/** What every walk leans on. */
export interface Ground {
  readonly host: Host;
  readonly chooser: Chooser;
  readonly meters: Meters;
  /** Milliseconds: the first backoff; each further one is twice as long. */
  readonly backoffMs: number;
}

/** One request's way through its config, with what it has used up so far. */
export class Walk {
  #tries = 0;
  #waitedMs = 0;
  /** The request's own, to which a target's is added. */
  readonly #metadata: Exchange['metadata'];

  constructor(
    readonly ground: Ground,
    readonly x: Exchange,
  ) {
    this.#metadata = x.metadata;
  }

  /** `ahead`: later targets of the fallbacks around this node; retries leave each of them one try. */
  node(node: RouteNode, ahead: number): Promise<Reply> {
    const { x } = this;
    const { chooser } = this.ground;
    const at = settled(chooser, x, node);
    switch (at.kind) {
      case 'target':
        return this.#target(at.target, ahead);
      case 'fallback':
        return this.#inTurn(at.children, at.onStatusCodes, ahead);
      default:
        return this.#inTurn(chooser.inOrder(x, at), at.failover?.onStatusCodes ?? null, ahead);
    }
  }

  #target(target: Target, ahead: number): Promise<Reply> {
    const { x } = this;
    x.target = target;
    x.retries = 0;
    // What the request brings stays as it is: a config adds metadata, it does not replace any.
    x.metadata = target.metadata === undefined ? this.#metadata : { ...target.metadata, ...this.#metadata };
    this.#tries++;
    const { retry } = target;
    if (retry === null || retry.attempts === 0) return this.#attempt(target);
    return this.#retrying(target, retry, ahead);
  }

  #attempt(target: Target): Promise<Reply> {
    const { x } = this;
    const { host, meters } = this.ground;
    if (!x.config.metered) return host.attempt(x, target);
    return metered(meters, x, target, () => host.attempt(x, target));
  }

  async #inTurn(nodes: Sequence, onStatusCodes: readonly number[] | null, ahead: number): Promise<Reply> {
    const { x } = this;
    const last = nodes.length - 1;
    for (let i = 0; ; i++) {
      const end = i === last;
      let reply: Reply;
      try {
        reply = await this.node(nodes.at(i)!, ahead + last - i);
      } catch (thrown) {
        const error = x.aborted ?? GatewayError.from(thrown);
        if (end || this.#tries >= maxTries || !errorMovesOn(x, error, onStatusCodes)) throw error;
        continue;
      }
      const codes = x.target?.onStatusCodes ?? onStatusCodes;
      if (end || this.#tries >= maxTries || !replyMovesOn(x, reply, codes)) return reply;
      abandon(x, reply);
    }
  }

  async #retrying(target: Target, retry: Retry, ahead: number): Promise<Reply> {
    const { x } = this;
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
      const over = made === retry.attempts || this.#tries + ahead >= maxTries;
      const waitMs = over ? null : this.#wait(retry, made, reply);
      if (waitMs === null) {
        if (made === retry.attempts) x.retries = -1;
        if (reply === null) throw error;
        return reply;
      }
      if (reply !== null) abandon(x, reply);
      await pause(x, waitMs);
      this.#waitedMs += waitMs;
      this.#tries++;
    }
  }

  /** Milliseconds until the next retry; null where that is longer than a client should be kept. */
  #wait(retry: Retry, made: number, reply: Reply | null): number | null {
    const asked =
      retry.useRetryAfterHeader && reply !== null ? retryAfterMs(reply.headers, Date.now()) : null;
    // Full jitter: clients that failed together must not come back together.
    const { host, backoffMs } = this.ground;
    const waitMs = asked ?? host.random() * backoffMs * 2 ** made;
    return waitMs <= maxWaitMs - this.#waitedMs ? waitMs : null;
  }
}

/** A node at which something is tried: conditions and plain choices are behind it. */
export type Settled = Exclude<RouteNode, { kind: 'conditional' }>;

export function settled(chooser: Chooser, x: Exchange, node: RouteNode): Settled {
  let at = node;
  for (;;) {
    if (at.kind === 'conditional') at = chooser.branch(x, at);
    else if (at.kind === 'loadbalance' && at.failover === null) at = chooser.pick(x, at);
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
