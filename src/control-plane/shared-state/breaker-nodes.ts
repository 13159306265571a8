import { randomUUID } from 'node:crypto';
import type { Breaker } from '../../common/core/target.js';
import type { BreakerPlace, BreakerReport } from '../../common/ipc/breaker.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import type { Redis } from './redis.js';

/** What another node decided. */
export interface OpenedElsewhere {
  readonly place: BreakerPlace;
  readonly slug: string | null;
  readonly provider: string;
  readonly rule: Breaker;
  readonly reason: string;
  readonly failures: number;
  readonly requests: number;
  /** Unix milliseconds, by that node's clock. */
  readonly openedAt: number;
  /** Milliseconds from now until a request may probe. */
  readonly untilMs: number;
}

/** Messages from other nodes. */
export interface NodeNews {
  open(opened: OpenedElsewhere): void;
  /** A request of another node probes it. */
  probed(place: BreakerPlace): void;
  closed(place: BreakerPlace): void;
}

interface Opened extends Omit<OpenedElsewhere, 'untilMs'> {
  readonly t: 'open';
  readonly node: string;
  /** Unix milliseconds, by that node's clock. */
  readonly until: number;
}

type BreakerMessage =
  | Opened
  | { readonly t: 'probed' | 'closed'; readonly node: string; readonly place: BreakerPlace };

const channel = 'breakers';
/** A hash of all that are open: a node that starts, or was cut off, reads what it missed. */
const hash = 'breakers';
/** Older entries were left by nodes that have ended. */
const staleMs = 3_600_000;
/** A request may wait for this. */
const claimMs = 30;

/**
 * The messages by which the nodes of a deployment share their circuit breakers, through Redis. While that is
 * unavailable each node uses its own.
 */
export class BreakerNodes {
  readonly #node = randomUUID();
  readonly #redis: Redis;
  readonly #log: Logger;

  constructor(redis: Redis, log: Logger) {
    this.#redis = redis;
    this.#log = log;
  }

  follow(news: NodeNews): void {
    this.#redis.subscribe(channel, (text) => this.#take(text, news));
    this.#redis.onUp(() => {
      this.#read(news).catch((error: unknown) => this.#failed(error));
    });
  }

  opened({ state: _, nextProbeAt: until, ...report }: BreakerReport, rule: Breaker): void {
    const { organisation, workspace, config, path, slug, provider, reason, failures, requests, openedAt } =
      report;
    const place = { organisation, workspace, config, path };
    const message: Opened = {
      t: 'open',
      node: this.#node,
      place,
      slug,
      provider,
      rule,
      reason,
      failures,
      requests,
      openedAt,
      until,
    };
    const text = JSON.stringify(message);
    this.#send([
      this.#redis.run((client) => client.hSet(hash, fieldOf(place), text)),
      this.#redis.run((client) => client.del(probeKey(place))),
      this.#redis.publish(channel, text),
    ]);
  }

  closed(place: BreakerPlace): void {
    this.#send([
      this.#redis.run((client) => client.hDel(hash, fieldOf(place))),
      this.#redis.run((client) => client.del(probeKey(place))),
      this.#publish({ t: 'closed', node: this.#node, place }),
    ]);
  }

  /** May this node probe? Yes where Redis does not answer. */
  async claim(place: BreakerPlace, ms: number): Promise<boolean> {
    try {
      const set = await this.#redis.run(
        (client) =>
          client.set(probeKey(place), this.#node, {
            condition: 'NX',
            expiration: { type: 'PX', value: ms },
          }),
        claimMs,
      );
      if (set === null) return false;
      this.#send([this.#publish({ t: 'probed', node: this.#node, place })]);
    } catch (error) {
      this.#failed(error);
    }
    return true;
  }

  /** A probe was claimed and not made. */
  release(place: BreakerPlace): void {
    this.#send([this.#redis.run((client) => client.del(probeKey(place)))]);
  }

  #publish(message: BreakerMessage): Promise<void> {
    return this.#redis.publish(channel, JSON.stringify(message));
  }

  #send(sent: readonly Promise<unknown>[]): void {
    for (const one of sent) one.catch((error: unknown) => this.#failed(error));
  }

  /** That Redis is away is in the log already. */
  #failed(error: unknown): void {
    if (this.#redis.up) this.#log.warn({ err: error }, 'circuit breakers are not shared with other nodes');
  }

  async #read(news: NodeNews): Promise<void> {
    const all = await this.#redis.run((client) => client.hGetAll(hash), 1000);
    for (const [field, text] of Object.entries(all)) {
      const message = read(text);
      if (message?.t === 'open' && Math.abs(Date.now() - message.until) < staleMs)
        news.open(relative(message));
      else await this.#redis.run((client) => client.hDel(hash, field));
    }
  }

  #take(text: string, news: NodeNews): void {
    const message = read(text);
    if (message === null || message.node === this.#node) return;
    if (message.t === 'open') news.open(relative(message));
    else news[message.t](message.place);
  }
}

/** Another node's clock may be wrong: the wait is never longer than the cooldown. */
function relative({ until, ...opened }: Opened): OpenedElsewhere {
  return { ...opened, untilMs: Math.max(0, until - Date.now()) };
}

/** null: not a message of this version; another version may share the server. */
function read(text: string): BreakerMessage | null {
  try {
    const message = JSON.parse(text) as BreakerMessage;
    if (typeof message.place.path !== 'string') return null;
    if (message.t === 'open') return typeof message.rule.cooldownMs === 'number' ? message : null;
    return message.t === 'probed' || message.t === 'closed' ? message : null;
  } catch {
    return null;
  }
}

const fieldOf = ({ organisation, workspace, config, path }: BreakerPlace): string =>
  [organisation, workspace, config, path].join('|');

const probeKey = (place: BreakerPlace): string => `breaker-probe:${fieldOf(place)}`;
