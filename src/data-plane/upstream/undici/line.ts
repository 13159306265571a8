import type { Socket } from 'node:net';
import type { buildConnector, Dispatcher, Client as UndiciClient } from 'undici';
import { ignoreContinue } from './parser-repairs.js';
import { Client } from './parts.js';
import { UndiciFlight } from './undici-flight.js';

/** undici's client of one connection, which assigns each flight its connection and can cut it. */
export class UndiciLine extends Client {
  readonly #current: { socket: Socket | null };

  constructor(origin: string | URL, options: UndiciClient.Options, connect: buildConnector.connector) {
    const current: { socket: Socket | null } = { socket: null };
    super(origin, {
      ...options,
      connect: (to, done) =>
        connect(to, (error, socket) => {
          current.socket = socket;
          if (error === null) done(null, socket);
          else done(error, null);
        }),
    });
    this.#current = current;
    this.on('connect', () => {
      if (current.socket !== null) ignoreContinue(current.socket);
    });
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (handler instanceof UndiciFlight) {
      // Cancelled while it waited in the pool's queue: no connection is opened for it. true: the line is still free.
      if (handler.done) return true;
      handler.line = this;
    }
    return super.dispatch(options, handler);
  }

  /**
   * Did the connection break instead of ending? undici takes a reset for the end of a body that ends with the
   * connection.
   */
  get broken(): boolean {
    return (this.#current.socket?.errored ?? null) !== null;
  }

  /**
   * Closes the connection under the request that runs on it. undici's own `abort` does too, and then connects again
   * for the request it has just aborted: a storm of cancels would become one of handshakes.
   */
  cut(): void {
    this.#current.socket?.destroy(new Error('cut by the gateway'));
  }
}
