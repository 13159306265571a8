import { LRUCache } from 'lru-cache';
import { type ErrorCode, GatewayError } from '../../src/core/errors.js';
import type { Exchange, Reply } from '../../src/core/exchange.js';
import type { Metric } from '../../src/core/metrics.js';
import type { Host } from '../../src/core/plugin.js';
import { retryAfterMs } from '../../src/core/retry-after.js';
import type { Concurrency, Target } from '../../src/core/target.js';
import { AdaptiveLimit } from './adaptive-limit.js';
import { whenEnded } from './ended.js';
import { FairQueue } from './fair-queue.js';

const maxUpstreams = 10_000;
/** Longest pause that an upstream may ask of everybody, and longest wait that a client is told of. */
const maxPauseMs = 60_000;

const timeouts: ReadonlySet<ErrorCode> = new Set([
  'upstream_connect_timeout',
  'upstream_headers_timeout',
  'upstream_first_token_timeout',
]);

/** One that waits for its turn. */
interface Waiter {
  readonly admit: () => void;
}

/** Lets requests through to upstreams as their limits allow, in a fair order. One a data worker. */
export class Admission {
  readonly #gates = new LRUCache<string, Gate>({
    max: maxUpstreams,
    // One that is forgotten while requests wait at it serves them to their end all the same.
    dispose: (gate) => this.#count(gate),
  });
  #refused = 0;

  constructor(readonly host: Pick<Host, 'workers' | 'weightOf' | 'upstreamKey'>) {}

  /** `ask` is one try of `target`. Rejects with `upstream_busy` where there will be no room for it in time. */
  async through(x: Exchange, target: Target, rule: Concurrency, ask: () => Promise<Reply>): Promise<Reply> {
    const gate = this.#gate(await this.host.upstreamKey(x, target), rule);
    await gate.enter(x, target, rule);
    const began = performance.now();
    let reply: Reply;
    try {
      reply = await ask();
    } catch (thrown) {
      const error = GatewayError.from(thrown);
      if (timeouts.has(error.code)) gate.limit.refused(performance.now());
      gate.leave();
      throw thrown;
    }
    gate.saw(reply, performance.now() - began);
    return whenEnded(reply, () => gate.leave());
  }

  #gate(upstream: string, { min, max }: Concurrency): Gate {
    const part = (whole: number): number => Math.max(1, Math.ceil(whole / this.host.workers));
    let gate = this.#gates.get(upstream);
    if (gate === undefined) {
      gate = new Gate(new AdaptiveLimit(part(min), part(max)), (workspace) => this.host.weightOf(workspace));
      this.#gates.set(upstream, gate);
    }
    // The upstream is one, whoever asks it: the bounds of the latest rule hold.
    gate.limit.bound(part(min), part(max));
    return gate;
  }

  #count(gate: Gate): void {
    this.#refused += gate.refused;
  }

  metrics(): Metric[] {
    let limit = 0;
    let inFlight = 0;
    let queued = 0;
    let refused = this.#refused;
    for (const gate of this.#gates.values()) {
      limit += gate.limit.now;
      inFlight += gate.inFlight;
      queued += gate.queued;
      refused += gate.refused;
    }
    const of = (name: string, value: number): Metric => ({
      name: `gateway_admission_${name}`,
      labels: {},
      value,
    });
    return [
      of('limit', limit),
      of('in_flight', inFlight),
      of('queued', queued),
      of('refused_total', refused),
    ];
  }
}

/** The way to one upstream. */
class Gate {
  inFlight = 0;
  refused = 0;
  readonly #queue: FairQueue<Waiter>;
  /** Monotonic milliseconds until which the upstream wants to be left alone. */
  #pausedUntil = 0;
  #resume: NodeJS.Timeout | null = null;
  /** Milliseconds between two answers that ended, on the whole. */
  #everyMs: number | null = null;
  #leftAt = 0;

  constructor(
    readonly limit: AdaptiveLimit,
    weightOf: (workspace: string) => number,
  ) {
    this.#queue = new FairQueue(weightOf);
  }

  get queued(): number {
    return this.#queue.size;
  }

  /** Resolves when it is this request's turn. */
  enter(x: Exchange, target: Target, rule: Concurrency): Promise<void> {
    if (x.aborted !== null) return Promise.reject(x.aborted);
    const workspace = x.principal.workspaceId ?? '';
    const now = performance.now();
    if (this.#queue.size === 0 && this.inFlight < this.limit.now && now >= this.#pausedUntil) {
      this.inFlight++;
      this.#queue.passed(workspace);
      return Promise.resolve();
    }
    const waitMs = this.#expectedMs(now);
    const leftMs = (target.deadlineMs ?? Number.POSITIVE_INFINITY) - x.elapsedMs();
    const mostMs = Math.min(rule.maxWaitMs, leftMs);
    if (this.#queue.size >= rule.queue || waitMs > mostMs) return Promise.reject(this.#busy(waitMs));
    return this.#wait(x, workspace, target.path, rule, mostMs);
  }

  #wait(
    x: Exchange,
    workspace: string,
    path: string,
    { priority }: Concurrency,
    mostMs: number,
  ): Promise<void> {
    const began = performance.now();
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        admit: () => {
          x.decided({ kind: 'waited', target: path, ms: Math.round(performance.now() - began) });
          clearTimeout(late);
          off();
          resolve();
        },
      };
      const giveUp = (error: GatewayError): void => {
        clearTimeout(late);
        this.#queue.remove(waiter, workspace, priority);
        reject(error);
      };
      const late = setTimeout(() => {
        off();
        giveUp(this.#busy(this.#expectedMs(performance.now())));
      }, mostMs);
      const off = x.onAbort(giveUp);
      this.#queue.add(waiter, workspace, priority);
      this.#resumeLater();
    });
  }

  /** How an answer began. */
  saw(reply: Reply, ms: number): void {
    if (reply.status === 429 || reply.status === 503) {
      this.limit.refused(performance.now());
      const asked = retryAfterMs(reply.headers, Date.now());
      if (asked !== null) this.#pausedUntil = performance.now() + Math.min(asked, maxPauseMs);
    } else if (reply.status < 500) {
      this.limit.answered(ms, this.inFlight);
    }
  }

  leave(): void {
    this.inFlight--;
    const now = performance.now();
    if (this.#leftAt > 0) {
      const every = now - this.#leftAt;
      this.#everyMs = this.#everyMs === null ? every : this.#everyMs * 0.9 + every * 0.1;
    }
    this.#leftAt = now;
    this.#admit();
  }

  #admit(): void {
    if (performance.now() < this.#pausedUntil) return this.#resumeLater();
    while (this.inFlight < this.limit.now) {
      const waiter = this.#queue.next();
      if (waiter === null) return;
      this.inFlight++;
      waiter.admit();
    }
  }

  /** After a pause nobody's end may be there to wake those that wait. */
  #resumeLater(): void {
    const restMs = this.#pausedUntil - performance.now();
    if (this.#resume !== null || restMs <= 0) return;
    this.#resume = setTimeout(() => {
      this.#resume = null;
      this.#admit();
    }, restMs);
    this.#resume.unref();
  }

  /** Milliseconds that one who comes now is likely to wait, as far as can be known. */
  #expectedMs(now: number): number {
    const behind = this.inFlight < this.limit.now ? this.#queue.size : this.#queue.size + 1;
    return Math.max(0, this.#pausedUntil - now) + behind * (this.#everyMs ?? 0);
  }

  #busy(waitMs: number): GatewayError {
    this.refused++;
    const waitFor = Math.min(maxPauseMs, Math.max(1000, waitMs));
    return new GatewayError(
      'upstream_busy',
      'The provider of this target has all the requests that it takes well, and too many wait for it: try again later.',
      { retryAfterMs: waitFor },
    );
  }
}
