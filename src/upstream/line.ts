import type { Socket } from 'node:net';
import type { buildConnector, Dispatcher, Client as UndiciClient } from 'undici';
import { passOverContinue } from './connect.js';
import { Flight } from './flight.js';
import { Client } from './undici.js';

/** undici's client of one connection, that tells each flight which connection it got and can cut it. */
export class Line extends Client {
  readonly #held: { socket: Socket | null };

  constructor(origin: string | URL, options: UndiciClient.Options, connect: buildConnector.connector) {
    const held: { socket: Socket | null } = { socket: null };
    super(origin, {
      ...options,
      connect: (to, done) =>
        connect(to, (error, socket) => {
          held.socket = socket;
          if (error === null) done(null, socket);
          else done(error, null);
        }),
    });
    this.#held = held;
    this.on('connect', () => {
      if (held.socket !== null) passOverContinue(held.socket);
    });
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (handler instanceof Flight) {
      // Cancelled while it waited in the pool's queue: no connection is made for it. true: the line is still free.
      if (handler.done) return true;
      handler.line = this;
    }
    return super.dispatch(options, handler);
  }

  /** Did the connection break, rather than end? undici takes a reset for the end of a body that ends with the connection. */
  get broken(): boolean {
    return (this.#held.socket?.errored ?? null) !== null;
  }

  /**
   * Closes the connection under the request that runs on it. undici's own `abort` does too, and then connects anew
   * for the request it has just aborted: a storm of cancels would become one of handshakes.
   */
  cut(): void {
    this.#held.socket?.destroy(new Error('cut by the gateway'));
  }
}
