import type { GatewayError } from '../../../common/core/errors.js';
import { failure } from '../failure.js';
import type { InFlightRequest, Queue } from '../flight.js';
import { ReplyHeadReader } from '../reply/reply-head.js';
import type { RequestHead } from '../request-head.js';
import type { Destination, Dial } from './connect.js';
import { Connection, type ConnectionOwner } from './connection.js';
import type { IdleConnections } from './open-connections.js';
import { afterPoll } from './turn.js';
import { WaitingLine } from './waiting-line.js';

export interface PoolOptions {
  /** The limit of connections. */
  readonly connections: number;
  /** How long an unused one is kept at most. */
  readonly keepAliveMs: number;
  /** The same where the server does not announce how long it keeps it. */
  readonly unsaidKeepMs: number;
  /** The number of connections unused between two sweeps that are kept. */
  readonly maxUnused: number;
  /** Where the idle connections of many pools are counted together. */
  readonly idle: IdleConnections;
  /** The same for connections that are still opening and whose request has gone. */
  readonly spare: IdleConnections;
}

/** A server may close a connection a little before the announced time. */
const keepMarginMs = 2_000;

/** One tenant's connections to an origin, and the requests that wait for one, in order of arrival. */
export class Pool implements ConnectionOwner, Queue {
  readonly target: Destination;
  /** Until when its connections may be used; later ones need another `renew`. */
  usableUntil: number;
  /** Number of the sweep after which it last got a request. Belongs to Pools. */
  usedAt = 0;
  readonly #options: PoolOptions;
  #dial: Dial;
  readonly #head = new ReplyHeadReader();
  readonly #connections = new Set<Connection>();
  /** The most recently used one is taken first: it is the least likely to have been closed. */
  readonly #idle: Connection[] = [];
  /** Connections that are still opening, and the request that each was begun for. */
  readonly #opening = new Map<Connection, InFlightRequest>();
  /** Requests without a connection. */
  readonly #waiting = new WaitingLine<InFlightRequest>();
  #resting = 0;
  /** The connect timeout: that of the latest request. */
  #connectMs = 0;
  #refillDue = false;
  #closed = false;

  constructor(
    target: Destination,
    dial: Dial,
    options: PoolOptions,
    usableUntil: number = Number.POSITIVE_INFINITY,
  ) {
    this.target = target;
    this.#dial = dial;
    this.#options = options;
    this.usableUntil = usableUntil;
  }

  /** New connections use `dial` and may be used until `usableUntil`; existing ones keep their own limit. */
  renew(dial: Dial, usableUntil: number): void {
    this.#dial = dial;
    this.usableUntil = usableUntil;
  }

  get isEmpty(): boolean {
    return this.#connections.size === 0 && this.#waiting.size === 0;
  }

  get full(): boolean {
    return this.#opening.size === 0 && this.#connections.size >= this.#options.connections;
  }

  get busy(): boolean {
    return this.#waiting.size > 0 || this.#connections.size > this.#idle.length;
  }

  send(flight: InFlightRequest, head: RequestHead): void {
    this.#connectMs = flight.connectMs;
    flight.prepare(head, this);
    this.#waiting.push(flight);
    const connection = this.#takeIdle();
    if (connection === null) return this.#refill();
    // Its end, or unrequested bytes, may have come since the last check, and would be this request's.
    connection.state = 'resting';
    this.#resting += 1;
    afterPoll(connection, this.#rested);
  }

  forget(flight: InFlightRequest): void {
    this.#waiting.remove(flight);
    const { begun } = flight;
    flight.begun = null;
    // The next request may use it. But many cancelled requests must not each leave an open socket.
    if (begun !== null && this.#opening.has(begun)) this.#options.spare.add(begun);
  }

  /** Closes every connection; requests in flight get `error`. */
  close(error: GatewayError = failure('draining', '')): void {
    this.#closed = true;
    for (const flight of [...this.#waiting]) flight.fail(error);
    for (const connection of [...this.#connections]) connection.abort(error);
    this.#connections.clear();
    this.#opening.clear();
  }

  /** Call it regularly: closes connections idle for too long; the others no longer keep the process alive. */
  sweep(now: number): void {
    if (this.#idle.length === 0) return;
    let excess = this.#idle.length - this.#options.maxUnused;
    // Starts with the one unused for longest.
    for (const connection of [...this.#idle]) {
      const wasUnused = !connection.referenced;
      if (connection.idleUntil <= now || (wasUnused && excess > 0)) connection.destroy();
      else connection.reference(false);
      excess -= 1;
    }
  }

  #takeIdle(): Connection | null {
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined) return null;
      this.#options.idle.remove(connection);
      if (connection.usable && connection.idleUntil > performance.now()) {
        if (!connection.referenced) connection.reference(true);
        return connection;
      }
      connection.destroy();
    }
  }

  /** Opens connections for waiting requests that have none to expect. */
  #refill(): void {
    this.#refillDue = false;
    if (this.#closed) return;
    for (const flight of this.#waiting) {
      if (this.#waiting.size <= this.#opening.size + this.#resting) return;
      if (this.#connections.size >= this.#options.connections) return;
      if (flight.begun === null) this.#open(flight);
    }
  }

  #open(flight: InFlightRequest): void {
    const connection = new Connection(this.target, this.#dial, this.#head, this, this.#connectMs);
    flight.begun = connection;
    connection.usableUntil = this.usableUntil;
    this.#connections.add(connection);
    this.#options.idle.all.opened();
    this.#opening.set(connection, flight);
  }

  /** Not at once: after many cancels, no request may be left waiting. */
  #refillSoon(): void {
    if (this.#refillDue || this.#waiting.size === 0) return;
    this.#refillDue = true;
    setImmediate(() => this.#refill());
  }

  /** For the request it was begun for, or for the one that has waited longest. */
  #use(connection: Connection, begunFor: InFlightRequest | undefined): void {
    const own = begunFor?.waits === true ? begunFor : null;
    // Opened before the pool was renewed, perhaps to another address.
    if (
      own === null &&
      connection.usableUntil !== this.usableUntil &&
      connection.usableUntil <= performance.now()
    )
      return connection.destroy();
    const next = own ?? this.#waiting.first;
    if (next !== null) {
      this.#waiting.remove(next);
      next.leave(connection);
      return;
    }
    connection.state = 'idle';
    this.#idle.push(connection);
    this.#options.idle.add(connection);
  }

  /** When a connection that is free now is closed if nothing uses it. */
  #idleUntil(connection: Connection, keepMs: number): number {
    return Math.min(performance.now() + keepMs, connection.usableUntil);
  }

  // ConnectionOwner

  opened(connection: Connection): void {
    const own = this.#opening.get(connection);
    this.#opening.delete(connection);
    this.#options.spare.remove(connection);
    connection.idleUntil = this.#idleUntil(connection, this.#options.unsaidKeepMs);
    this.#use(connection, own);
  }

  failed(connection: Connection, error: GatewayError): void {
    const own = this.#opening.get(connection);
    this.#opening.delete(connection);
    this.#options.spare.remove(connection);
    this.#connections.delete(connection);
    this.#options.idle.all.closed();
    if (own?.waits === true) own.fail(error);
    this.#refillSoon();
  }

  released(connection: Connection): void {
    const { keepAliveMs, unsaidKeepMs } = this.#options;
    const keepMs =
      connection.keepMs === -1 ? unsaidKeepMs : Math.min(keepAliveMs, connection.keepMs - keepMarginMs);
    if (keepMs <= 0) return connection.destroy();
    connection.idleUntil = this.#idleUntil(connection, keepMs);
    this.#resting += 1;
    afterPoll(connection, this.#settled);
  }

  /** This turn's events came before the reply was over: waiting requests have to wait for the next. */
  readonly #settled = (connection: Connection): void => {
    if (this.#waiting.size > 0) afterPoll(connection, this.#rested);
    else this.#rested(connection);
  };

  readonly #rested = (connection: Connection): void => {
    this.#resting -= 1;
    if (connection.state !== 'resting') this.#refillSoon();
    else if (connection.hasUnsent) connection.destroy();
    else this.#use(connection, undefined);
  };

  gone(connection: Connection): void {
    this.#connections.delete(connection);
    this.#options.idle.all.closed();
    if (this.#opening.delete(connection)) {
      this.#options.spare.remove(connection);
    } else {
      const at = this.#idle.indexOf(connection);
      if (at !== -1) this.#idle.splice(at, 1);
      this.#options.idle.remove(connection);
    }
    this.#refillSoon();
  }
}
