import { randomUUID } from 'node:crypto';
import type { Breaker } from '../../common/core/target.js';
import type { BreakerPlace, BreakerReport } from '../../common/ipc/breaker.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import type { Redis } from './redis.js';
import { redisScript } from './redis-script.js';

/** A decision of another node. */
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
  /** A request of another node is probing it. */
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
/** A hash of all open breakers, for nodes that start or were cut off. */
const hash = 'breakers';
/** Older entries were left by nodes that have ended. */
const staleMs = 3_600_000;
/** Milliseconds; a request may wait for this. */
const claimMs = 30;
/** Where Redis has lost everything, nodes write what they opened again, this long afterwards at most. */
const checkMs = 2000;
/** What this node opened, and what Redis has not taken yet: as many as there are breakers. */
const maxKept = 10_000;
/** Characters of a text in a message. */
const maxText = 8192;
/** A field of the hash that is gone with it. */
const generationField = 'generation';

/** Which generation of the hash this is; another one than before shows that Redis has lost it meanwhile. */
const generationScript = redisScript(`
local generation = redis.call('HGET', KEYS[1], ARGV[1])
if not generation then
  generation = ARGV[2]
  redis.call('HSET', KEYS[1], ARGV[1], generation)
end
return generation`);

/** A change that Redis has not taken. `at`: Unix milliseconds. */
type Unsent = Opened | { readonly t: 'closed'; readonly place: BreakerPlace; readonly at: number };

/**
 * The messages by which the nodes of a deployment share their circuit breakers, through Redis. While that is
 * unavailable each node uses its own, and sends its changes when Redis is back.
 */
export class BreakerNodes {
  readonly #node = randomUUID();
  readonly #redis: Redis;
  readonly #log: Logger;
  /** Those that this node opened last, by field. */
  readonly #own = new Map<string, Opened>();
  readonly #unsent = new Map<string, Unsent>();
  readonly #timer: NodeJS.Timeout;
  #generation: string | null = null;

  constructor(redis: Redis, log: Logger) {
    this.#redis = redis;
    this.#log = log;
    this.#timer = setInterval(() => {
      if (this.#own.size > 0 && redis.up) this.#check().catch((error: unknown) => this.#failed(error));
    }, checkMs);
    this.#timer.unref();
  }

  follow(news: NodeNews): void {
    this.#redis.subscribe(channel, (text) => this.#take(text, news));
    this.#redis.onUp(() => {
      this.#read(news)
        .then(() => this.#check())
        .catch((error: unknown) => this.#failed(error));
    });
  }

  close(): void {
    clearInterval(this.#timer);
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
    keep(this.#own, fieldOf(place), message);
    this.#send(message);
  }

  closed(place: BreakerPlace): void {
    this.#own.delete(fieldOf(place));
    this.#send({ t: 'closed', place, at: Date.now() });
  }

  /** May this node probe? Yes where Redis does not answer. */
  async claim(place: BreakerPlace, ms: number): Promise<boolean> {
    try {
      const set = await this.#redis.run(
        (commands) =>
          commands.set(probeKey(place), this.#node, {
            condition: 'NX',
            expiration: { type: 'PX', value: ms },
          }),
        claimMs,
      );
      if (set === null) return false;
      this.#publish({ t: 'probed', node: this.#node, place }).catch((error: unknown) => this.#failed(error));
    } catch (error) {
      this.#failed(error);
    }
    return true;
  }

  /** Returns a claimed probe that was not made. */
  release(place: BreakerPlace): void {
    this.#redis
      .run((commands) => commands.del(probeKey(place)))
      .catch((error: unknown) => this.#failed(error));
  }

  #publish(message: BreakerMessage): Promise<void> {
    return this.#redis.publish(channel, JSON.stringify(message));
  }

  /** What Redis does not take is sent when it is back, unless it has changed again by then. */
  #send(change: Unsent): void {
    const { place } = change;
    const field = fieldOf(place);
    keep(this.#unsent, field, change);
    const message: BreakerMessage = change.t === 'open' ? change : { t: 'closed', node: this.#node, place };
    const text = JSON.stringify(message);
    Promise.all([
      this.#redis.run<unknown>((commands) =>
        change.t === 'open' ? commands.hSet(hash, field, text) : commands.hDel(hash, field),
      ),
      this.#redis.run((commands) => commands.del(probeKey(place))),
      this.#redis.publish(channel, text),
    ]).then(
      () => {
        if (this.#unsent.get(field) === change) this.#unsent.delete(field);
      },
      (error: unknown) => this.#failed(error),
    );
  }

  /** That Redis is unavailable is in the log already. */
  #failed(error: unknown): void {
    if (this.#redis.up) this.#log.warn({ err: error }, 'circuit breakers are not shared with other nodes');
  }

  /** What others have changed, and then what this node has changed without Redis; the later change counts. */
  async #read(news: NodeNews): Promise<void> {
    const all = await this.#redis.run((commands) => commands.hGetAll(hash), 1000);
    for (const [field, text] of Object.entries(all)) {
      if (field === generationField) continue;
      const message = read(text);
      if (message?.t !== 'open' || Math.abs(Date.now() - message.until) >= staleMs) {
        await this.#redis.run((commands) => commands.hDel(hash, field));
        continue;
      }
      const unsent = this.#unsent.get(field);
      if (unsent !== undefined && changedAt(unsent) >= message.openedAt) continue;
      this.#unsent.delete(field);
      if (message.node !== this.#node) news.open(relative(message));
    }
    for (const change of [...this.#unsent.values()]) this.#send(change);
  }

  /** Writes again what this node opened, where Redis has lost it: flushed, evicted, started again without a file. */
  async #check(): Promise<void> {
    const generation = await this.#redis.script<string>(
      generationScript,
      [hash],
      [generationField, randomUUID()],
      1000,
    );
    const before = this.#generation;
    this.#generation = generation;
    if (before === null || before === generation) return;
    for (const [field, message] of this.#own) {
      if (Date.now() - message.until >= staleMs) this.#own.delete(field);
      else this.#send(message);
    }
  }

  #take(text: string, news: NodeNews): void {
    const message = read(text);
    if (message === null || message.node === this.#node) return;
    // Another node has decided: what this one decided before is no longer its to repeat.
    if (message.t !== 'probed') {
      this.#own.delete(fieldOf(message.place));
      this.#unsent.delete(fieldOf(message.place));
    }
    if (message.t === 'open') news.open(relative(message));
    else news[message.t](message.place);
  }
}

const changedAt = (change: Unsent): number => (change.t === 'open' ? change.openedAt : change.at);

/** Sets it; the entry that was set least recently makes room. */
function keep<T>(map: Map<string, T>, field: string, value: T): void {
  map.delete(field);
  map.set(field, value);
  if (map.size > maxKept) map.delete(map.keys().next().value!);
}

/** Another node's clock may be wrong: the wait is never longer than the cooldown. */
function relative({ until, ...opened }: Opened): OpenedElsewhere {
  return { ...opened, untilMs: Math.max(0, until - Date.now()) };
}

/** null: not a message of this version; another version may share the server. */
function read(text: string): BreakerMessage | null {
  try {
    const message = JSON.parse(text) as BreakerMessage;
    const { organisation, workspace, config, path } = message.place;
    if (![organisation, workspace, config, path, message.node].every(isText)) return null;
    if (message.t !== 'open') return message.t === 'probed' || message.t === 'closed' ? message : null;
    const { slug, provider, reason, rule, failures, requests, openedAt, until } = message;
    const isOpening =
      (slug === null || isText(slug)) &&
      [provider, reason].every(isText) &&
      [failures, requests, openedAt, until, rule.cooldownMs].every(Number.isFinite) &&
      [rule.failureThreshold, rule.failureThresholdPercentage, rule.minimumRequests].every(isNumberOrNone) &&
      (rule.failureStatusCodes ?? []).every(Number.isInteger);
    return isOpening ? message : null;
  } catch {
    return null;
  }
}

const isText = (value: unknown): boolean => typeof value === 'string' && value.length <= maxText;
/** A version that shares the server may not have it. */
const isNumberOrNone = (value: unknown): boolean => value == null || Number.isFinite(value);

const fieldOf = ({ organisation, workspace, config, path }: BreakerPlace): string =>
  [organisation, workspace, config, path].join('|');

const probeKey = (place: BreakerPlace): string => `breaker-probe:${fieldOf(place)}`;
