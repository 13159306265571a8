import { createHash } from 'node:crypto';
import type { Secret } from '../../common/access/secret.js';
import type { Metric } from '../../common/plugin-host/metrics.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import { parseRedisUrl, type RedisAddress } from '../../common/settings/redis-address.js';
import { RefusedStart } from '../store/files/refused-start.js';
import { NewsQueue } from './news-queue.js';
import { openLink, type RedisCommands, type RedisLink } from './redis-link.js';
import { type RedisScript, runScript } from './redis-script.js';

export interface RedisOptions {
  readonly url: Secret;
  /** Before every key and channel: `headgate:<deployment>:`. */
  readonly prefix: string;
  /** Of one answer: a longer one ends the connection. 8 MiB unless given. */
  readonly maxReplyBytes?: number;
  readonly log: Logger;
}

/**
 * Milliseconds that a command may take where the caller gives none. A request waits no longer than 50 ms for Redis; the
 * rest is for the way from a data worker to this process and back.
 */
export const commandMs = 40;
/** Every server is asked this often whether it answers. Milliseconds. */
const probeMs = 500;
/** A probe that takes longer than this shows that requests would wait for nothing. */
const slowMs = 200;
/** After this long without an answer the connections are replaced. */
const silentMs = 2000;
const openMs = 1500;
/** After a command was late, this long nothing is sent for requests: one that sends several waits for one of them. */
const lateMs = 250;
const maxBackoffMs = 1000;
/** The log has at most one line in this time for each direction. */
const logMs = 10_000;

/**
 * What the nodes of a deployment share, where there is a Redis. It is never needed: a caller whose command fails goes on
 * with the state of its own node, and a command that is not answered soon fails. While Redis does not answer, all
 * commands fail at once. A cluster counts as away while any of its masters is.
 */
export class Redis {
  /** Of one answer. */
  readonly maxReplyBytes: number;
  readonly #address: RedisAddress;
  readonly #log: Logger;
  readonly #prefix: string;
  readonly #channels = new Map<string, ((text: string) => void)[]>();
  readonly #onUp: (() => void)[] = [];
  readonly #news = new NewsQueue();
  /** Fails the commands that wait for an answer. */
  readonly #waiting = new Set<(error: Error) => void>();
  #link: RedisLink | null = null;
  #timer: NodeJS.Timeout | null = null;
  #up = false;
  #closed = false;
  /** When the open probe began; null: none is open. Milliseconds, monotonic. */
  #probeSince: number | null = null;
  #lateAt = Number.NEGATIVE_INFINITY;
  #warnedAt = Number.NEGATIVE_INFINITY;
  #warned = false;
  #tries = 0;

  constructor({ url, prefix, maxReplyBytes = 8 * 1024 * 1024, log }: RedisOptions) {
    try {
      this.#address = parseRedisUrl(url.reveal());
    } catch (error) {
      throw new RefusedStart(`redis_url${(error as Error).message}`);
    }
    this.#log = log;
    this.#prefix = prefix;
    this.maxReplyBytes = maxReplyBytes;
    void this.#open();
  }

  /** Does it answer, as far as is known? */
  get up(): boolean {
    return this.#up;
  }

  metrics(): Metric[] {
    return [{ name: 'gateway_redis_up', labels: {}, value: this.#up ? 1 : 0 }];
  }

  /** Runs a command; keys get their prefix by themselves. Rejects where no answer came within `ms`. */
  run<T>(command: (commands: RedisCommands) => Promise<T>, ms = commandMs): Promise<T> {
    const link = this.#link;
    if (!this.#up || link === null) return Promise.reject(new Error('Redis is away'));
    return new Promise((resolve, reject) => {
      let isSettled = false;
      const settle = (): void => {
        isSettled = true;
        clearTimeout(late);
        this.#waiting.delete(fail);
      };
      const fail = (error: Error): void => {
        settle();
        reject(error);
      };
      const late = setTimeout(() => {
        // Where this process was busy, the answer may have arrived: it is read before the next turn.
        setImmediate(() => {
          if (isSettled) return;
          this.#lateAt = performance.now();
          this.#isDown(new Error(`Redis did not answer within ${ms} ms`));
        });
      }, ms);
      this.#waiting.add(fail);
      try {
        command(link.commands).then((value) => {
          settle();
          resolve(value);
        }, fail);
      } catch (error) {
        fail(error as Error);
      }
    });
  }

  /** Runs a Lua script as one atomic step. Several keys need one hash tag, so that a cluster has them on one server. */
  script<T>(script: RedisScript, keys: readonly string[], args: readonly string[], ms?: number): Promise<T> {
    return this.run((commands) => runScript<T>(commands, script, keys, args), ms);
  }

  /** Reaches every node that subscribes, this one included. Rejects as `run` does. */
  async publish(channel: string, text: string): Promise<void> {
    await this.run((commands) => commands.publish(this.#prefix + channel, text));
  }

  /** From now on, through every reconnection. What was published while Redis was away is lost. */
  subscribe(channel: string, listener: (text: string) => void): void {
    const listeners = this.#channels.get(channel);
    if (listeners !== undefined) {
      listeners.push(listener);
      return;
    }
    this.#channels.set(channel, [listener]);
    const link = this.#link;
    // Without its subscriptions a link is of no use: another one is opened.
    if (link !== null) this.#listen(link, channel).catch((error: unknown) => this.#lost(link, error));
  }

  /**
   * Calls `listener` each time that Redis answers again, after the subscriptions are in place; at once if it answers now.
   * It may be called once too often.
   */
  onUp(listener: () => void): void {
    this.#onUp.push(listener);
    if (this.#up) listener();
  }

  close(): void {
    this.#closed = true;
    this.#isDown(new Error('closed'));
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#link?.close();
    this.#link = null;
  }

  #listen(link: RedisLink, channel: string): Promise<void> {
    const hear = (text: string): void => {
      try {
        for (const listener of this.#channels.get(channel) ?? []) listener(text);
      } catch (error) {
        // Thrown in a turn of its own it would end the process.
        this.#lost(link, error);
      }
    };
    return link.subscribe(channel, (text) => {
      if (!this.#news.add(hear, text)) this.#lost(link, new Error('Redis sent too many messages at once'));
    });
  }

  async #open(): Promise<void> {
    let link: RedisLink | null = null;
    let lost: unknown = null;
    const onLost = (error: unknown): void => {
      lost = error;
      if (link !== null) this.#lost(link, error);
    };
    try {
      const [address, prefix, maxReplyBytes] = [this.#address, this.#prefix, this.maxReplyBytes];
      link = await openLink({ address, prefix, maxReplyBytes, openMs, onLost });
      // One that is added meanwhile comes last.
      for (const channel of this.#channels.keys()) await this.#listen(link, channel);
      if (lost !== null) throw lost;
      if (this.#closed) return link.close();
    } catch (error) {
      link?.close();
      link = null;
      this.#isDown(error);
      this.#after(backoff(this.#tries++), () => void this.#open());
      return;
    }
    this.#link = link;
    this.#probeSince = null;
    this.#isUp();
    this.#after(probeMs, () => this.#probe(link));
  }

  /** The connections are gone: new ones, to another server if Sentinels or a cluster name another. */
  #lost(link: RedisLink, error: unknown): void {
    if (this.#link !== link || this.#closed) return;
    this.#link = null;
    this.#isDown(error);
    link.close();
    this.#after(backoff(this.#tries++), () => void this.#open());
  }

  #probe(link: RedisLink): void {
    if (this.#link !== link) return;
    this.#after(probeMs, () => this.#probe(link));
    const now = performance.now();
    if (this.#probeSince !== null) {
      if (now - this.#probeSince >= silentMs)
        this.#lost(link, new Error(`Redis has not answered for ${silentMs} ms`));
      else if (now - this.#probeSince >= slowMs)
        this.#isDown(new Error(`Redis did not answer within ${slowMs} ms`));
      return;
    }
    this.#probeSince = now;
    link.probe().then(
      () => {
        if (this.#link !== link) return;
        this.#probeSince = null;
        // Not earlier: a server that answers and then fails is not tried again at once.
        this.#tries = 0;
        const took = performance.now() - now;
        if (took <= commandMs && now - this.#lateAt >= lateMs) this.#isUp();
        else if (took > slowMs) this.#isDown(new Error(`Redis did not answer within ${slowMs} ms`));
      },
      (error: unknown) => this.#lost(link, error),
    );
  }

  #after(ms: number, then: () => void): void {
    if (this.#closed) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(then, ms);
    this.#timer.unref();
  }

  #isUp(): void {
    if (this.#up || this.#closed) return;
    this.#up = true;
    if (this.#warned || this.#warnedAt === Number.NEGATIVE_INFINITY)
      this.#log.info({}, 'Redis answers: what nodes share is shared');
    this.#warned = false;
    for (const listener of this.#onUp) listener();
  }

  #isDown(error: unknown): void {
    this.#up = false;
    const reason = error instanceof Error ? error : new Error(String(error));
    for (const fail of [...this.#waiting]) fail(reason);
    const now = performance.now();
    if (this.#closed || this.#warned || now - this.#warnedAt < logMs) return;
    this.#warned = true;
    this.#warnedAt = now;
    this.#log.warn({ err: reason }, 'Redis is away: this node goes by itself until it answers');
  }
}

/** Milliseconds until the next try: nodes that lost Redis together do not come back together. */
function backoff(tries: number): number {
  return Math.min(100 * 2 ** Math.min(tries, 10), maxBackoffMs) * (0.5 + Math.random() / 2);
}

/** `headgate:<8 hex digits>:`. One deployment has one pepper, whichever of its nodes asks. */
export function redisPrefix(pepper: Buffer): string {
  return `headgate:${createHash('sha256').update('redis\n').update(pepper).digest('hex').slice(0, 8)}:`;
}
