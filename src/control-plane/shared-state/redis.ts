import { createHash } from 'node:crypto';
import { createClient } from 'redis';
import type { Secret } from '../../common/access/secret.js';
import type { Logger } from '../../common/plugin-host/plugin.js';
import { RefusedStart } from '../store/files/refused-start.js';

export interface RedisOptions {
  readonly url: Secret;
  /** Before every key and channel: `headgate:<deployment>:`. */
  readonly prefix: string;
  readonly log: Logger;
}

/** Milliseconds that a command may take by default. Callers wait for Redis no longer than this. */
const commandMs = 100;
const connectMs = 1000;
/** A connection that is asked this often whether it lives … */
const pingMs = 1000;
/** … and sends nothing for this long is replaced. */
const silentMs = 3000;
/** Commands that wait to be written or answered; more are refused. */
const maxQueue = 10_000;
const maxBackoffMs = 5000;

function connection({ url, prefix }: RedisOptions) {
  try {
    return createClient({
      url: url.reveal(),
      keyPrefix: prefix,
      disableOfflineQueue: true,
      commandsQueueMaxLength: maxQueue,
      maintNotifications: 'disabled',
      pingInterval: pingMs,
      socket: { connectTimeout: connectMs, socketTimeout: silentMs, reconnectStrategy: backoff },
    });
  } catch {
    // The parser's own message may quote the URL, password and all.
    throw new RefusedStart(
      'redis_url: is no URL that can be read: write redis://user:password@host:port/database.',
    );
  }
}

/** Milliseconds until the next try: nodes that lost Redis together do not come back together. */
function backoff(tries: number): number {
  return Math.min(100 * 2 ** Math.min(tries, 10), maxBackoffMs) * (0.5 + Math.random() / 2);
}

export type RedisClient = ReturnType<typeof connection>;

/**
 * What the nodes of a deployment share, where there is a Redis. It is never required: when a command fails, the caller
 * continues without it, and one that gets no answer fails soon. While nothing is answered, all fail at once.
 */
export class Redis {
  readonly #client: RedisClient;
  readonly #subscriber: RedisClient;
  readonly #log: Logger;
  readonly #prefix: string;
  readonly #onUp: (() => void)[] = [];
  #up = false;
  #neverUp = true;
  #closed = false;

  constructor(options: RedisOptions) {
    this.#log = options.log;
    this.#prefix = options.prefix;
    this.#client = connection(options);
    this.#subscriber = connection(options);
    this.#client.on('ready', () => this.#isUp());
    this.#client.on('ping-interval', () => this.#isUp());
    this.#client.on('error', (error: unknown) => this.#isDown(error));
    // Both connect to one server: its errors are reported by the other connection.
    this.#subscriber.on('error', () => {});
    // Messages sent before the subscription was renewed are lost.
    this.#subscriber.on('ready', () => this.#up && this.#tellUp());
    for (const client of [this.#client, this.#subscriber]) client.connect().catch(() => {});
  }

  /** Does it answer, as far as is known? */
  get up(): boolean {
    return this.#up;
  }

  /** Runs a command; keys get their prefix by themselves. Rejects where no answer came within `ms`. */
  run<T>(command: (client: RedisClient) => Promise<T>, ms = commandMs): Promise<T> {
    if (!this.#up) return Promise.reject(new Error('Redis is away'));
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        const error = new Error(`Redis did not answer within ${ms} ms`);
        this.#isDown(error);
        reject(error);
      }, ms);
      command(this.#client)
        .then(resolve, reject)
        .finally(() => clearTimeout(late));
    });
  }

  /** Sends to every subscribed node, this one included. Rejects as `run` does. */
  async publish(channel: string, text: string): Promise<void> {
    await this.run((client) => client.publish(this.#prefix + channel, text));
  }

  /** Subscribes from now on, through every reconnection. Messages sent while Redis was unavailable are lost. */
  subscribe(channel: string, listener: (text: string) => void): void {
    const subscribe = (): void => {
      this.#subscriber.off('ready', subscribe);
      this.#subscriber.subscribe(this.#prefix + channel, listener).catch(() => {
        // The connection broke meanwhile.
        this.#subscriber.on('ready', subscribe);
      });
    };
    if (this.#subscriber.isReady) subscribe();
    else this.#subscriber.on('ready', subscribe);
  }

  /** Calls `listener` each time that Redis is there, or there again; at once if it is. Once too often does no harm. */
  onUp(listener: () => void): void {
    this.#onUp.push(listener);
    if (this.#up) listener();
  }

  close(): void {
    this.#closed = true;
    this.#up = false;
    for (const client of [this.#client, this.#subscriber]) client.destroy();
  }

  #isUp(): void {
    if (this.#up || this.#closed) return;
    this.#up = true;
    this.#log.info({}, 'Redis answers: what nodes share is shared');
    this.#tellUp();
  }

  #tellUp(): void {
    for (const listener of this.#onUp) listener();
  }

  #isDown(error: unknown): void {
    if (this.#closed) return;
    const first = this.#up || this.#neverUp;
    this.#up = false;
    this.#neverUp = false;
    if (first) this.#log.warn({ err: error }, 'Redis is away: this node goes by itself until it answers');
  }
}

/** `headgate:<8 hex digits>:`. One deployment has one pepper, whichever of its nodes asks. */
export function redisPrefix(pepper: Buffer): string {
  return `headgate:${createHash('sha256').update('redis\n').update(pepper).digest('hex').slice(0, 8)}:`;
}
