import { LRUCache } from 'lru-cache';
import { atMost } from '../../../src/common/bytes/lru.js';
import { type ErrorCode, GatewayError } from '../../../src/common/core/errors.js';
import type { Exchange, Reply } from '../../../src/common/core/exchange.js';
import type { Concurrency, Target } from '../../../src/common/core/target.js';
import { retryAfterMs } from '../../../src/common/http/retry-after.js';
import type { Metric } from '../../../src/common/plugin-host/metrics.js';
import type { HostWith } from '../../../src/common/plugin-host/plugin.js';
import { shortKey } from '../balance/identity.js';
import { whenEnded } from '../ended.js';
import { AdaptiveLimit } from './adaptive-limit.js';
import { FairQueue } from './fair-queue.js';

const maxUpstreams = 10_000;
/** Longest pause that an upstream may impose, and longest wait that is reported to a client. */
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
    ...atMost(maxUpstreams),
    // A gate that is forgotten while requests wait still serves them.
    dispose: (gate) => this.#count(gate),
  });
  #refused = 0;

  constructor(readonly host: Pick<HostWith<'node' | 'upstream'>, 'workers' | 'weightOf' | 'upstreamKey'>) {}

  /** `ask` is one attempt at `target`. Rejects with `upstream_busy` if there will be no room in time. */
  async through(x: Exchange, target: Target, rule: Concurrency, ask: () => Promise<Reply>): Promise<Reply> {
    const gate = this.#gate(shortKey(await this.host.upstreamKey(x, target)));
    const part = gate.part(x.principal.workspaceId ?? '', this.#share(rule.min), this.#share(rule.max));
    await gate.enter(x, part, target, rule);
    const began = performance.now();
    const leave = (): void => gate.leave(part, performance.now() - began);
    let reply: Reply;
    try {
      reply = await ask();
    } catch (thrown) {
      const error = GatewayError.from(thrown);
      if (timeouts.has(error.code)) gate.limit.refused(performance.now());
      leave();
      throw thrown;
    }
    gate.saw(reply, performance.now() - began);
    return whenEnded(reply, leave);
  }

  /** This worker's share of a number for all workers. */
  #share(whole: number): number {
    return Math.max(1, Math.ceil(whole / this.host.workers));
  }

  #gate(upstream: string): Gate {
    let gate = this.#gates.get(upstream);
    if (gate === undefined) {
      gate = new Gate((workspace) => this.host.weightOf(workspace));
      this.#gates.set(upstream, gate);
    }
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

/** A workspace's requests to an upstream, and its bounds. */
interface Part {
  readonly workspace: string;
  inFlight: number;
  /** From the config of its latest request; other workspaces' bounds do not apply. */
  min: number;
  max: number;
}

/** Admits requests to one upstream. */
class Gate {
  /** Within the widest bounds of all workspaces; in addition each workspace has its own. */
  readonly limit = new AdaptiveLimit(1, Number.POSITIVE_INFINITY);
  inFlight = 0;
  refused = 0;
  readonly #queue: FairQueue<Waiter>;
  readonly #parts = new Map<string, Part>();
  /** Monotonic milliseconds until which the upstream asked for a pause. */
  #pausedUntil = 0;
  #resume: NodeJS.Timeout | null = null;
  /** Average duration of a request in milliseconds. */
  #heldMs = 0;

  constructor(weightOf: (workspace: string) => number) {
    this.#queue = new FairQueue(weightOf);
  }

  get queued(): number {
    return this.#queue.size;
  }

  part(workspace: string, min: number, max: number): Part {
    let part = this.#parts.get(workspace);
    if (part?.min === min && part.max === max) return part;
    part ??= { workspace, inFlight: 0, min, max };
    Object.assign(part, { min, max });
    this.#parts.set(workspace, part);
    const parts = [...this.#parts.values()];
    this.limit.bound(Math.max(...parts.map((one) => one.min)), Math.max(...parts.map((one) => one.max)));
    return part;
  }

  /** Resolves when it is this request's turn. */
  enter(x: Exchange, part: Part, target: Target, rule: Concurrency): Promise<void> {
    if (x.aborted !== null) return Promise.reject(x.aborted);
    const now = performance.now();
    const isFree = this.inFlight < this.limit.now && part.inFlight < part.max;
    if (this.#queue.size === 0 && isFree && now >= this.#pausedUntil) {
      this.#occupy(part);
      return Promise.resolve();
    }
    const waitMs = this.#expectedMs(part, now);
    const leftMs = (target.deadlineMs ?? Number.POSITIVE_INFINITY) - x.elapsedMs();
    const mostMs = Math.min(rule.maxWaitMs, leftMs);
    if (this.#queue.waiting(part.workspace) >= rule.queue || waitMs > mostMs) {
      return Promise.reject(this.#busy(waitMs));
    }
    return this.#wait(x, part, target.path, rule, mostMs);
  }

  #wait(x: Exchange, part: Part, path: string, { priority }: Concurrency, mostMs: number): Promise<void> {
    const began = performance.now();
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        admit: () => {
          x.decided({ kind: 'waited', target: path, ms: Math.round(performance.now() - began) });
          clearTimeout(late);
          off();
          this.#occupy(part);
          resolve();
        },
      };
      const giveUp = (error: GatewayError): void => {
        clearTimeout(late);
        this.#queue.remove(waiter, part.workspace, priority);
        reject(error);
      };
      const late = setTimeout(() => {
        off();
        giveUp(this.#busy(this.#expectedMs(part, performance.now())));
      }, mostMs);
      const off = x.onAbort(giveUp);
      this.#queue.add(waiter, part.workspace, priority);
      // Earlier ones may be waiting for room of their own workspaces.
      this.#admit();
    });
  }

  #occupy(part: Part): void {
    this.inFlight++;
    part.inFlight++;
  }

  /** Records how an answer began. */
  saw(reply: Reply, ms: number): void {
    if (reply.status === 429 || reply.status === 503) {
      this.limit.refused(performance.now());
      const asked = retryAfterMs(reply.headers, Date.now());
      if (asked !== null) this.#pausedUntil = performance.now() + Math.min(asked, maxPauseMs);
    } else if (reply.status < 500) {
      this.limit.answered(ms, this.inFlight);
    }
  }

  leave(part: Part, heldMs: number): void {
    this.inFlight--;
    part.inFlight--;
    this.#heldMs = this.#heldMs === 0 ? heldMs : this.#heldMs * 0.9 + heldMs * 0.1;
    this.#admit();
  }

  #admit(): void {
    if (performance.now() < this.#pausedUntil) return this.#resumeLater();
    while (this.inFlight < this.limit.now) {
      const waiter = this.#queue.next(this.#mayGo);
      if (waiter === null) return;
      waiter.admit();
    }
  }

  readonly #mayGo = (workspace: string): boolean => {
    const part = this.#parts.get(workspace);
    return part === undefined || part.inFlight < part.max;
  };

  /** After a pause there may be no request in flight whose end would wake the waiting ones. */
  #resumeLater(): void {
    const restMs = this.#pausedUntil - performance.now();
    if (this.#resume !== null || restMs <= 0) return;
    this.#resume = setTimeout(() => {
      this.#resume = null;
      this.#admit();
    }, restMs);
    this.#resume.unref();
  }

  /** Estimated wait of a new request in milliseconds. */
  #expectedMs({ workspace, inFlight, max }: Part, now: number): number {
    const ahead = this.#queue.ahead(workspace) + (this.inFlight < this.limit.now ? 0 : 1);
    const own = this.#queue.waiting(workspace) + (inFlight < max ? 0 : 1);
    const turns = Math.max(ahead / this.limit.now, own / max);
    return Math.max(0, this.#pausedUntil - now) + turns * this.#heldMs;
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
