import { LRUCache } from 'lru-cache';
import { atMost } from '../../../src/common/bytes/lru.js';
import type { Exchange } from '../../../src/common/core/exchange.js';
import type { Target } from '../../../src/common/core/target.js';
import { modelKey, targetName } from './identity.js';

/** Milliseconds in which what was seen loses two thirds of its weight. */
const decayMs = 10_000;
/** Milliseconds that a failure counts for at least: a target that refuses at once is not a quick one. */
const failureMs = 1000;
const maxMeters = 10_000;

/** What one data worker has seen of a target. */
export class Meter {
  /** Requests under way, until their answers have ended. */
  inFlight = 0;
  #ms: number | null = null;
  #at = 0;

  /**
   * Peaks count at once and fade; what is quicker than before is believed slowly. Milliseconds to the first token; null:
   * nothing was seen yet.
   */
  get latencyMs(): number | null {
    return this.#ms;
  }

  observe(ms: number, now: number): void {
    if (this.#ms === null || ms >= this.#ms) this.#ms = ms;
    else {
      const kept = Math.exp(-(now - this.#at) / decayMs);
      this.#ms = this.#ms * kept + ms * (1 - kept);
    }
    this.#at = now;
  }

  failed(ms: number, now: number): void {
    this.observe(Math.max(ms, failureMs, 2 * (this.#ms ?? 0)), now);
  }

  /** It was given up: it would have taken longer than this. */
  outlasted(ms: number, now: number): void {
    if (ms > (this.#ms ?? 0)) this.observe(ms, now);
  }

  /**
   * What a further request may wait: one that queues, or calls a target without measurements, as long as that.
   * Measurements fade without calls: a target that was slow once is tried again.
   */
  load(now: number): number {
    if (this.#ms === null) return failureMs * this.inFlight;
    return this.#ms * Math.exp((this.#at - now) / decayMs) * (this.inFlight + 1);
  }
}

/** A target's meters as the tenant that asked it last has them. */
interface Known {
  readonly workspaceId: string | null;
  readonly plain: Meter;
  readonly streams: Meter;
}

/** The meters of this worker's targets, by tenant. Streams are metered apart: their first token comes sooner. */
export class Meters {
  readonly #kept = new LRUCache<string, Known>(atMost(maxMeters));
  /** By the target itself: to make its key costs more than all the rest. */
  readonly #last = new WeakMap<Target, Known>();
  readonly #outputs = new LRUCache<string, number>(atMost(maxMeters));

  of(x: Exchange, target: Target): Meter {
    const { workspaceId } = x.principal;
    let known = this.#last.get(target);
    if (known === undefined || known.workspaceId !== workspaceId) {
      const key = `${workspaceId}\n${targetName(target)}`;
      known = this.#kept.get(key) ?? { workspaceId, plain: new Meter(), streams: new Meter() };
      this.#kept.set(key, known);
      this.#last.set(target, known);
    }
    return x.streaming ? known.streams : known.plain;
  }

  /** Tokens that answers to such requests had of late; null: none was seen. */
  expectedOutput(x: Exchange): number | null {
    return this.#outputs.get(outputKey(x)) ?? null;
  }

  sawOutput(x: Exchange): void {
    const output = x.answeredBy?.usage?.output;
    if (output === undefined) return;
    const key = outputKey(x);
    const before = this.#outputs.get(key);
    this.#outputs.set(key, before === undefined ? output : before * 0.9 + output * 0.1);
  }
}

const outputKey = (x: Exchange): string => `${x.principal.workspaceId}\n${x.endpoint.name}\n${modelKey(x)}`;
