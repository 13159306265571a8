import type { Socket } from 'node:net';
import type { Logger } from '../plugin-host/plugin.js';

export interface ConnectionGateOptions {
  /** Names the listener in the log. */
  readonly listener: string;
  /** Connections at once. */
  readonly maxConnections: number;
  /** A new connection that has not sent a complete request after this long is closed. Milliseconds. */
  readonly firstRequestMs: number;
  readonly log: Logger;
}

interface Connection {
  readonly socket: Socket;
  /** Runs until the first complete request; null from then on. */
  timer: NodeJS.Timeout | null;
  /** Requests that are being answered. */
  running: number;
}

/** A listener at its limit is reported no more often than this. Milliseconds. */
const reportEveryMs = 60_000;

/**
 * Limits the connections of a listener that callers without a key can reach. At the limit a new connection takes the
 * place of the oldest one that has not sent a request yet, else of the one that is idle for longest: connections that
 * are only kept open cannot lock other callers out.
 */
export class ConnectionGate {
  /** By remote address and port. Idle ones are in the order of their last request. */
  readonly #connections = new Map<string, Connection>();
  #closed = 0;
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor(readonly options: ConnectionGateOptions) {}

  /** Connections that are open. */
  get size(): number {
    return this.#connections.size;
  }

  /** Admits a new connection. false: it was closed, because every other one is being answered. */
  admit(socket: Socket): boolean {
    const peer = peerOf(socket);
    // Without an address the peer has already disconnected.
    if (peer === null || (this.size >= this.options.maxConnections && !this.#makeRoom())) {
      socket.destroy();
      return false;
    }
    const timer = setTimeout(() => socket.destroy(), this.options.firstRequestMs);
    timer.unref();
    const connection: Connection = { socket, timer, running: 0 };
    this.#connections.set(peer, connection);
    socket.once('close', () => {
      if (connection.timer !== null) clearTimeout(connection.timer);
      if (this.#connections.get(peer) === connection) this.#connections.delete(peer);
    });
    return true;
  }

  /** A complete request has arrived from `address:port`. */
  requestBegan(peer: string): void {
    const connection = this.#connections.get(peer);
    if (connection === undefined) return;
    connection.running++;
    if (connection.timer === null) return;
    clearTimeout(connection.timer);
    connection.timer = null;
  }

  /** That request was answered, or its caller has disconnected. */
  requestEnded(peer: string): void {
    const connection = this.#connections.get(peer);
    if (connection === undefined || connection.running === 0) return;
    connection.running--;
    this.#connections.delete(peer);
    this.#connections.set(peer, connection);
  }

  #makeRoom(): boolean {
    this.#report();
    let idle: string | null = null;
    for (const [peer, { timer, running }] of this.#connections) {
      if (timer !== null) return this.#close(peer);
      if (running === 0) idle ??= peer;
    }
    return idle !== null && this.#close(idle);
  }

  #close(peer: string): true {
    const connection = this.#connections.get(peer);
    this.#connections.delete(peer);
    connection?.socket.destroy();
    return true;
  }

  #report(): void {
    this.#closed++;
    if (performance.now() - this.#reportedAt < reportEveryMs) return;
    this.#reportedAt = performance.now();
    const { listener, maxConnections, log } = this.options;
    log.warn(
      { listener, maxConnections, closed: this.#closed },
      'this listener has as many connections as it may have: idle ones are closed for new ones',
    );
    this.#closed = 0;
  }
}

/** `address:port`; null once the peer has disconnected. */
export function peerOf({ remoteAddress, remotePort }: Socket): string | null {
  return remoteAddress === undefined ? null : `${remoteAddress}:${remotePort}`;
}
