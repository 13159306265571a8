import type { buildConnector, Client } from 'undici';
import type { Destination } from '../connections/connect.js';
import { maxReplyHeaderBytes } from '../reply/reply-head.js';
import { methodsWithBody } from '../request-head.js';
import type { ConnectWait } from './connector.js';
import { UndiciLine } from './line.js';
import { UndiciPool } from './parts.js';
import type { UndiciFlight } from './undici-flight.js';
import type { OutgoingHeaders } from './undici-headers.js';

export interface KeptPoolOptions {
  readonly connections: number;
  /** How long an unused connection is kept at most; 0: each carries one request. Milliseconds. */
  readonly keepAliveMs: number;
  /** The same where the server does not announce how long it keeps it. */
  readonly unsaidKeepMs: number;
  /** A connection was opened, or closed. */
  readonly counted: (change: 1 | -1) => void;
}

/** Makes the connector of a pool, which reads its connect timeout from `wait`. */
export type MakeConnector = (wait: ConnectWait) => buildConnector.connector;

/** The gateway has its own timeouts: undici's count in whole seconds, and go on while a reader is paused. */
const clientOptions: Client.Options = {
  headersTimeout: 0,
  bodyTimeout: 0,
  maxHeaderSize: maxReplyHeaderBytes,
};

/** One tenant's connections to an origin with one account. */
export class KeptPool {
  /** Until when its connections may be used; then it has to be renewed. */
  usableUntil: number;
  /** Number of the sweep after which it last got a request. Belongs to Pools. */
  usedAt = 0;
  readonly #wait: ConnectWait = { connectMs: 0 };
  readonly #options: KeptPoolOptions;
  #pool: InstanceType<typeof UndiciPool>;
  #inFlight = 0;

  constructor(
    readonly target: Destination,
    connector: MakeConnector,
    options: KeptPoolOptions,
    usableUntil = Number.POSITIVE_INFINITY,
  ) {
    this.#options = options;
    this.usableUntil = usableUntil;
    this.#pool = this.#open(connector);
  }

  get busy(): boolean {
    return this.#inFlight > 0;
  }

  get isEmpty(): boolean {
    return !this.busy && this.#pool.stats.connected === 0;
  }

  /** Later requests use new connections; those in flight finish on theirs. */
  renew(connector: MakeConnector, usableUntil: number): void {
    void this.#pool.close();
    this.#pool = this.#open(connector);
    this.usableUntil = usableUntil;
  }

  send(flight: UndiciFlight, method: string, path: string, { headers }: OutgoingHeaders): void {
    this.#wait.connectMs = flight.connectMs;
    this.#inFlight += 1;
    const pool = this.#pool;
    flight.waitIn(() => pool.stats.running >= this.#options.connections);
    flight.whenDone(() => {
      this.#inFlight -= 1;
    });
    const body = flight.upload ?? flight.bytes;
    // `connection: close` after requests whose end some servers are known to misread.
    const reset = method === 'HEAD' || (body !== null && !methodsWithBody.has(method));
    pool.dispatch({ path, method, headers, body, reset }, flight);
  }

  /** undici closes idle connections by itself. */
  sweep(now: number): void {
    if (this.usableUntil <= now && !this.busy) this.close();
  }

  close(): void {
    void this.#pool.destroy();
  }

  #open(connector: MakeConnector): InstanceType<typeof UndiciPool> {
    const { connections, keepAliveMs, unsaidKeepMs, counted } = this.#options;
    const isKept = keepAliveMs > 0;
    const options: Client.Options = {
      ...clientOptions,
      // 0: `connection: close`.
      pipelining: isKept ? 1 : 0,
      ...(isKept ? { keepAliveTimeout: unsaidKeepMs, keepAliveMaxTimeout: keepAliveMs } : {}),
    };
    const connect = connector(this.#wait);
    const { secure, host } = this.target;
    return new UndiciPool(`${secure ? 'https' : 'http'}://${host}`, {
      connections,
      factory: (to) => new UndiciLine(to, options, connect),
    })
      .on('connect', () => counted(1))
      .on('disconnect', () => counted(-1));
  }
}
