import type { GatewayError } from '../core/errors.js';
import type { Dial, Target } from './connect.js';
import { Connection, type ConnectionOwner } from './connection.js';
import { failure } from './failure.js';
import type { Flight, Queue } from './flight.js';
import { ReplyHeadReader } from './reply-head.js';
import { afterPoll } from './turn.js';
import { WaitingLine } from './waiting-line.js';

export interface PoolOptions {
  /** How many connections there may be. */
  readonly connections: number;
  /** How long an unused one is kept. */
  readonly keepAliveMs: number;
}

/** A server may close a connection a little before it said it would. */
const keepMarginMs = 2_000;

/** One origin's connections, and the requests that wait for one, in the order in which they came. */
export class Pool implements ConnectionOwner, Queue {
  readonly target: Target;
  readonly #options: PoolOptions;
  readonly #dial: Dial;
  readonly #head = new ReplyHeadReader();
  readonly #connections = new Set<Connection>();
  /** The one used last is taken first: it is the least likely to be closed meanwhile. */
  readonly #idle: Connection[] = [];
  /** Connections that do not stand yet, and the request that each was begun for. */
  readonly #opening = new Map<Connection, Flight>();
  /** Requests without a connection. */
  readonly #waiting = new WaitingLine<Flight>();
  #resting = 0;
  /** How long a connection may take: the latest request's word counts. */
  #connectMs = 0;
  #refillDue = false;
  #closed = false;

  constructor(target: Target, dial: Dial, options: PoolOptions) {
    this.target = target;
    this.#dial = dial;
    this.#options = options;
  }

  get busy(): boolean {
    return this.#waiting.size > 0 || this.#connections.size > this.#idle.length;
  }

  send(flight: Flight): void {
    this.#connectMs = flight.connectMs;
    flight.waitIn(this);
    this.#waiting.push(flight);
    const connection = this.#takeIdle();
    if (connection === null) return this.#refill();
    // Its end, or bytes nobody asked for, may have come since anybody looked, and would be this request's.
    connection.state = 'resting';
    this.#resting += 1;
    afterPoll(connection, this.#rested);
  }

  forget(flight: Flight): void {
    this.#waiting.remove(flight);
  }

  /** Closes every connection; what is under way hears `error`. */
  close(error: GatewayError = failure('draining', '')): void {
    this.#closed = true;
    for (const flight of [...this.#waiting]) flight.fail(error);
    for (const connection of [...this.#connections]) connection.abort(error);
    this.#connections.clear();
    this.#opening.clear();
  }

  /** To be called every now and then: closes what has been idle for too long, and lets the process end beside the rest. */
  sweep(now: number): void {
    for (const connection of [...this.#idle]) {
      if (connection.idleUntil <= now) connection.destroy();
      else connection.reference(false);
    }
  }

  #takeIdle(): Connection | null {
    for (;;) {
      const connection = this.#idle.pop();
      if (connection === undefined) return null;
      if (connection.usable && connection.idleUntil > performance.now()) {
        connection.reference(true);
        return connection;
      }
      connection.destroy();
    }
  }

  /** Begins connections for those who wait and can expect none. */
  #refill(): void {
    this.#refillDue = false;
    if (this.#closed) return;
    for (const flight of this.#waiting) {
      if (this.#waiting.size <= this.#opening.size + this.#resting) return;
      if (this.#connections.size >= this.#options.connections) return;
      if (!flight.attended) this.#open(flight);
    }
  }

  #open(flight: Flight): void {
    flight.attended = true;
    const connection = new Connection(this.target, this.#dial, this.#head, this, this.#connectMs);
    this.#connections.add(connection);
    this.#opening.set(connection, flight);
  }

  /** Not at once: of a storm of cancels, nobody may be waiting when it is over. */
  #refillSoon(): void {
    if (this.#refillDue || this.#waiting.size === 0) return;
    this.#refillDue = true;
    setImmediate(() => this.#refill());
  }

  #leave(connection: Connection, flight: Flight): void {
    this.#waiting.remove(flight);
    flight.leave(connection);
  }

  /** For the request it was begun for, or for whoever has waited longest. */
  #use(connection: Connection, own: Flight | undefined): void {
    const next = own?.waits === true ? own : this.#waiting.first;
    if (next !== null) return this.#leave(connection, next);
    connection.state = 'idle';
    this.#idle.push(connection);
  }

  // ConnectionOwner

  stands(connection: Connection): void {
    const own = this.#opening.get(connection);
    this.#opening.delete(connection);
    connection.idleUntil = performance.now() + this.#options.keepAliveMs;
    this.#use(connection, own);
  }

  failed(connection: Connection, error: GatewayError): void {
    const own = this.#opening.get(connection);
    this.#opening.delete(connection);
    this.#connections.delete(connection);
    if (own?.waits === true) own.fail(error);
    this.#refillSoon();
  }

  released(connection: Connection): void {
    const { keepAliveMs } = this.#options;
    const keepMs =
      connection.keepMs === -1 ? keepAliveMs : Math.min(keepAliveMs, connection.keepMs - keepMarginMs);
    if (keepMs <= 0) return connection.destroy();
    connection.idleUntil = performance.now() + keepMs;
    this.#resting += 1;
    afterPoll(connection, this.#settled);
  }

  /** This turn's news came before the reply was over: whoever waits has to wait for the next. */
  readonly #settled = (connection: Connection): void => {
    if (this.#waiting.size > 0) afterPoll(connection, this.#rested);
    else this.#rested(connection);
  };

  readonly #rested = (connection: Connection): void => {
    this.#resting -= 1;
    if (connection.state === 'resting') this.#use(connection, undefined);
    else this.#refillSoon();
  };

  gone(connection: Connection): void {
    this.#connections.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
    this.#refillSoon();
  }
}
