import { createServer } from 'node:net';
import {
  type Server,
  type ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  status,
} from '@grpc/grpc-js';
import { ConnectionGate } from '../../../common/http/connection-gate.js';
import type { Logger } from '../../../common/plugin-host/plugin.js';

/** Needs no key and never ends. */
const healthWatch = '/grpc.health.v1.Health/Watch';

export interface GrpcListenerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Connections at once. */
  readonly maxConnections: number;
  /** For a connection's first request, and for each request to arrive whole. Milliseconds. */
  readonly requestMs: number;
  readonly log: Logger;
}

/**
 * Accepts the connections of a gRPC server. Its own listener has no limits and no handler for an error in accepting,
 * which would end the process.
 */
export class GrpcListener {
  readonly #gate: ConnectionGate;
  readonly #tcp = createServer({ noDelay: true });

  constructor(readonly options: GrpcListenerOptions) {
    const { maxConnections, requestMs, log } = options;
    this.#gate = new ConnectionGate({ listener: 'grpc', maxConnections, firstRequestMs: requestMs, log });
  }

  /** Reports to the gate when a request is complete and when it was answered; ends one that does not arrive in time. */
  readonly interceptor: ServerInterceptor = ({ path, requestStream }, call) => {
    // Streams that a caller without a key keeps open do not protect their connection.
    const isCounted = path !== healthWatch && !requestStream;
    const peer = call.getPeer();
    const gate = this.#gate;
    let hasArrived = false;
    let isRunning = false;
    const late = setTimeout(() => {
      intercepting.sendStatus({
        code: status.DEADLINE_EXCEEDED,
        details: 'The request took too long to arrive.',
      });
    }, this.options.requestMs);
    const end = (): void => {
      clearTimeout(late);
      if (isRunning) gate.requestEnded(peer);
      isRunning = false;
    };
    const arrived = (): void => {
      if (hasArrived) return;
      hasArrived = true;
      clearTimeout(late);
      gate.requestBegan(peer);
      isRunning = true;
      if (!isCounted) end();
    };
    const intercepting = new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMessage(message, receive) {
            if (requestStream) arrived();
            receive(message);
          },
          onReceiveHalfClose(halfClose) {
            arrived();
            halfClose();
          },
          onCancel: end,
        }),
      sendStatus(sent, next) {
        end();
        next(sent);
      },
    });
    return intercepting;
  };

  /** Resolves with the port once it is open. */
  listen(server: Server, credentials: ServerCredentials): Promise<number> {
    const { host, port, log } = this.options;
    const injector = server.createConnectionInjector(credentials);
    const tcp = this.#tcp;
    tcp.on('connection', (socket) => {
      socket.on('error', () => socket.destroy());
      if (this.#gate.admit(socket)) injector.injectConnection(socket);
    });
    return new Promise((bound, failed) => {
      const refused = (error: Error): void => failed(error);
      tcp.once('error', refused);
      tcp.listen({ host, port }, () => {
        tcp.off('error', refused);
        tcp.on('error', (error) =>
          log.warn({ err: error }, 'a connection to the admin port was not accepted'),
        );
        const address = tcp.address();
        bound(typeof address === 'object' && address !== null ? address.port : port);
      });
    });
  }

  /** Accepts no more connections; open ones are closed by the server. */
  close(): void {
    this.#tcp.close();
  }
}
