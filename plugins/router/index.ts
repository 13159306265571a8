import { type ErrorCode, GatewayError } from '../../src/core/errors.js';
import type { Exchange, Reply } from '../../src/core/exchange.js';
import { definePlugin, type Host } from '../../src/core/plugin.js';
import type { Retry, RouteNode, Target } from '../../src/core/target.js';
import { retryAfterMs } from './retry-after.js';

export interface RouterOptions {
  /** The first backoff; each further one is twice as long. Default 1000. */
  readonly backoffMs?: number;
}

/** Upstream tries of one request, all targets and retries together: one call must not become a storm. */
const maxTries = 10;
/** Waiting of one request, all retries together. */
const maxWaitMs = 60_000;

/** No connection came about: trying the same target again costs nothing. */
const neverConnected: ReadonlySet<ErrorCode> = new Set([
  'upstream_connect_failed',
  'upstream_connect_timeout',
]);
/** Nothing had left for the provider: a body that can be sent only once is still whole. */
const neverSent: ReadonlySet<ErrorCode> = new Set([
  ...neverConnected,
  'upstream_tls',
  'unknown_provider',
  'invalid_custom_host',
  'unsupported_by_provider',
  'virtual_key_expired',
  'virtual_key_exhausted',
  'integration_exhausted',
  'model_not_allowed',
]);

/** What one request has used up on its way through its config. */
interface Walk {
  readonly x: Exchange;
  tries: number;
  waitedMs: number;
  /** The request's own, to which a target's is added. */
  readonly metadata: Exchange['metadata'];
}

type Fallback = Extract<RouteNode, { kind: 'fallback' }>;

/** Asks the provider that the routing config chooses, or several in turn. */
export default definePlugin<RouterOptions>({
  name: 'router',
  options: {
    type: 'object',
    additionalProperties: false,
    properties: { backoffMs: { type: 'number', minimum: 0, maximum: maxWaitMs } },
  },
  setup(options, host) {
    const router = new Router(host, options.backoffMs ?? 1000);
    return { request: (x) => router.route(x) };
  },
});

class Router {
  constructor(
    readonly host: Host,
    readonly backoffMs: number,
  ) {}

  route(x: Exchange): Promise<Reply> {
    const node = this.#draw(x.config.root);
    if (node.kind === 'target' && node.target.retry === null && node.target.metadata === undefined) {
      x.target = node.target;
      return this.host.attempt(x, node.target);
    }
    const walk: Walk = { x, tries: 0, waitedMs: 0, metadata: x.metadata };
    return this.#node(walk, node, 0);
  }

  /** `ahead`: later targets of the fallbacks around this node; retries leave each of them one try. */
  #node(walk: Walk, node: RouteNode, ahead: number): Promise<Reply> {
    const drawn = this.#draw(node);
    return drawn.kind === 'target'
      ? this.#target(walk, drawn.target, ahead)
      : this.#fallback(walk, drawn, ahead);
  }

  #draw(node: RouteNode): Exclude<RouteNode, { kind: 'loadbalance' }> {
    let at = node;
    while (at.kind === 'loadbalance') at = at.children[weighted(at.cumulativeWeights, this.host.random())]!;
    return at;
  }

  #target(walk: Walk, target: Target, ahead: number): Promise<Reply> {
    const { x } = walk;
    x.target = target;
    x.retries = 0;
    // What the request brings stays as it is: a config adds metadata, it does not replace any.
    x.metadata = target.metadata === undefined ? walk.metadata : { ...target.metadata, ...walk.metadata };
    walk.tries++;
    const { retry } = target;
    if (retry === null || retry.attempts === 0) return this.host.attempt(x, target);
    return this.#retrying(walk, target, retry, ahead);
  }

  async #fallback(walk: Walk, node: Fallback, ahead: number): Promise<Reply> {
    const { x } = walk;
    const { children, onStatusCodes } = node;
    const last = children.length - 1;
    for (let i = 0; ; i++) {
      const end = i === last;
      let reply: Reply;
      try {
        reply = await this.#node(walk, children[i]!, ahead + last - i);
      } catch (thrown) {
        const error = x.aborted ?? GatewayError.from(thrown);
        if (end || walk.tries >= maxTries || !errorMovesOn(x, error, onStatusCodes)) throw error;
        continue;
      }
      if (end || walk.tries >= maxTries || !replyMovesOn(x, reply, onStatusCodes)) return reply;
      abandon(x, reply);
    }
  }

  async #retrying(walk: Walk, target: Target, retry: Retry, ahead: number): Promise<Reply> {
    const { x } = walk;
    for (let made = 0; ; made++) {
      x.retries = made;
      let reply: Reply | null = null;
      let error: GatewayError | null = null;
      try {
        reply = await this.host.attempt(x, target);
        if (!replayable(x) || !retry.onStatusCodes.includes(reply.status)) return reply;
      } catch (thrown) {
        error = x.aborted ?? GatewayError.from(thrown);
        if (!errorIsRetried(x, error, retry)) throw error;
      }
      const over = made === retry.attempts || walk.tries + ahead >= maxTries;
      const waitMs = over ? null : this.#wait(walk, retry, made, reply);
      if (waitMs === null) {
        if (made === retry.attempts) x.retries = -1;
        if (reply === null) throw error;
        return reply;
      }
      if (reply !== null) abandon(x, reply);
      await pause(x, waitMs);
      walk.waitedMs += waitMs;
      walk.tries++;
    }
  }

  /** Milliseconds until the next retry; null where that is longer than a client should be kept. */
  #wait(walk: Walk, retry: Retry, made: number, reply: Reply | null): number | null {
    const asked =
      retry.useRetryAfterHeader && reply !== null ? retryAfterMs(reply.headers, Date.now()) : null;
    // Full jitter: clients that failed together must not come back together.
    const waitMs = asked ?? this.host.random() * this.backoffMs * 2 ** made;
    return waitMs <= maxWaitMs - walk.waitedMs ? waitMs : null;
  }
}

/** The first child whose running sum lies above the drawn share; one of weight 0 adds nothing and is never it. */
function weighted(sums: readonly number[], random: number): number {
  const last = sums.length - 1;
  const total = sums[last]!;
  const drawn = random * total;
  for (let i = 0; i < last; i++) if (drawn < sums[i]! || sums[i] === total) return i;
  return last;
}

/** A body that streams in can be sent once; one that was collected, or none, as often as needed. */
function replayable(x: Exchange): boolean {
  return x.request.stream === null;
}

function replyMovesOn(x: Exchange, reply: Reply, onStatusCodes: readonly number[] | null): boolean {
  if (
    onStatusCodes === null ? reply.status >= 200 && reply.status < 300 : !onStatusCodes.includes(reply.status)
  ) {
    return false;
  }
  return replayable(x);
}

function errorMovesOn(x: Exchange, error: GatewayError, onStatusCodes: readonly number[] | null): boolean {
  if (x.aborted !== null || !(replayable(x) || neverSent.has(error.code))) return false;
  return error.fallback || (onStatusCodes?.includes(error.status) ?? false);
}

function errorIsRetried(x: Exchange, error: GatewayError, retry: Retry): boolean {
  if (x.aborted !== null) return false;
  if (neverConnected.has(error.code)) return true;
  if (!replayable(x)) return false;
  return retry.resend === true && error.blame === 'upstream' && retry.onStatusCodes.includes(error.status);
}

/** Lets go of an answer that the client will not get; ends the walk where nobody waits for another. */
function abandon(x: Exchange, reply: Reply): void {
  const { body } = reply;
  if (body !== null && typeof body !== 'string' && !Buffer.isBuffer(body)) body.cancel();
  if (x.aborted !== null) throw x.aborted;
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
