import { LRUCache } from 'lru-cache';
import { atMost } from '../../../src/common/bytes/lru.js';
import type { Exchange } from '../../../src/common/core/exchange.js';
import type { Target } from '../../../src/common/core/target.js';
import { modelKey, targetName } from './identity.js';

/** Milliseconds in which a measurement loses two thirds of its weight. */
const decayMs = 10_000;
/** Milliseconds that a failure counts as at least: a target that refuses at once is not fast. */
const failureMs = 1000;
const maxMeters = 10_000;

/** One data worker's measurements of a target. */
export class Meter {
  /** Requests under way, until their answers have ended. */
  inFlight = 0;
  #ms: number | null = null;
  #at = 0;

  /**
   * Milliseconds to the first token. Increases count at once and fade; decreases count gradually. null:
   * no measurement yet.
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
   * The expected wait of a further request, in a queue or at a target without measurements.
   * Measurements fade without calls: a target that was slow once is tried again.
   */
  load(now: number): number {
    if (this.#ms === null) return failureMs * this.inFlight;
    return this.#ms * Math.exp((this.#at - now) / decayMs) * (this.inFlight + 1);
  }
}

/** A target's meters for the tenant that called it last. */
interface Known {
  readonly workspaceId: string | null;
  readonly plain: Meter;
  readonly streams: Meter;
}

/** The meters of this worker's targets, by tenant. Streams are measured separately: their first token comes sooner. */
export class Meters {
  readonly #kept = new LRUCache<string, Known>(atMost(maxMeters));
  /** By the target itself: computing its key takes longer than everything else. */
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

  /** Average tokens of recent answers to such requests; null: there were none. */
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
