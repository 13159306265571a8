import { constants, type Http2Session } from 'node:http2';
import { createServer } from 'node:net';
import {
  type Metadata,
  type Responder,
  type Server,
  type ServerCredentials,
  type ServerInterceptor,
  status,
} from '@grpc/grpc-js';
import { ConnectionGate } from '../../../common/http/connection-gate.js';
import type { Logger } from '../../../common/plugin-host/plugin.js';
import { HeldBytes, type HeldBytesOptions, type Holder } from './held-bytes.js';
import { type CallOnWire, HeldCall } from './held-call.js';
import { MessageDecoder } from './message-decoder.js';
import { beginInTurns } from './stream-turns.js';

/** Needs no key and never ends. */
const healthWatch = '/grpc.health.v1.Health/Watch';
/** Bytes of a message of a client. */
export const longestMessage = 4 * 1024 * 1024;
/** Bytes of requests that are arriving or being answered, and of answers that are not read yet. */
const mostHeld = { all: 128 * 1024 * 1024, perRequest: 4 * longestMessage };

/** Streams that a connection may begin in one turn of the event loop: more than it may have at a time, since it may reset them. */
const mostInTurn = 200;

const bytesOf = (metadata: Metadata): number => {
  let bytes = 0;
  for (const [name, values] of Object.entries(metadata.toHttp2Headers()))
    bytes += name.length + String(values).length;
  return bytes;
};

export interface GrpcListenerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Connections at once. */
  readonly maxConnections: number;
  /** For a connection's first request, and for each request to arrive whole. Milliseconds. */
  readonly requestMs: number;
  /** Bytes that all streams hold together, and one request. */
  readonly held?: HeldBytesOptions;
  readonly log: Logger;
}

/**
 * Accepts the connections of a gRPC server. Its own listener has no limits and no handler for an error in accepting,
 * which would end the process.
 */
export class GrpcListener {
  readonly #gate: ConnectionGate;
  readonly #held: HeldBytes;
  /** Streams of each connection that have begun in this turn. */
  readonly #begun = new Map<Http2Session, number>();
  /** Connections that are to be closed. */
  readonly #ending: Http2Session[] = [];
  readonly #tcp = createServer({ noDelay: true });

  constructor(readonly options: GrpcListenerOptions) {
    const { maxConnections, requestMs, held = mostHeld, log } = options;
    this.#held = new HeldBytes(held);
    this.#gate = new ConnectionGate({ listener: 'grpc', maxConnections, firstRequestMs: requestMs, log });
  }

  /** Bytes that requests and unread answers hold. */
  get heldBytes(): number {
    return this.#held.all;
  }

  /** Counts what a call holds until its stream is closed. */
  #hold(wire: CallOnWire, requestStream: boolean): Holder {
    const { stream } = wire;
    const held = this.#held;
    const holder = held.begin(() => {
      decoder.drop();
      // Not while Node reads the connection. Where nothing can be sent, closing alone does not end it.
      setImmediate(() => {
        stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
        setImmediate(() => stream.destroy());
      });
    });
    const decoder = new MessageDecoder({
      longest: longestMessage,
      isUnary: !requestStream,
      take: (bytes) => held.take(holder, bytes),
      onTinyFrames: () => setImmediate(() => stream.session?.destroy()),
    });
    wire.decoder = decoder;
    stream.once('close', () => held.end(holder));
    return holder;
  }

  /** Closes a connection that begins streams only to reset them: each takes some of the processor. */
  #began(session: Http2Session): void {
    if (this.#begun.size === 0) setImmediate(() => this.#begun.clear());
    const count = (this.#begun.get(session) ?? 0) + 1;
    this.#begun.set(session, count);
    if (count !== mostInTurn + 1) return;
    // Not while Node reads it.
    if (this.#ending.push(session) === 1) setImmediate(() => this.#endOne());
  }

  /** One in a turn: its streams, of which there may be a thousand, end with it. */
  #endOne(): void {
    this.#ending.shift()?.destroy();
    if (this.#ending.length > 0) setImmediate(() => this.#endOne());
  }

  /**
   * Reports to the gate when a request is complete and when it was answered; ends one that does not arrive in time, and limits
   * what all of them hold.
   */
  readonly interceptor: ServerInterceptor = ({ path, requestStream }, call) => {
    // Streams that a caller without a key keeps open do not protect their connection.
    const isCounted = path !== healthWatch && !requestStream;
    const peer = call.getPeer();
    const gate = this.#gate;
    const held = this.#held;
    const wire = call as unknown as CallOnWire;
    const holder = this.#hold(wire, requestStream);
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
      if (!requestStream) held.enter(holder, 'running');
      clearTimeout(late);
      gate.requestBegan(peer);
      isRunning = true;
      if (!isCounted) end();
    };
    const responder: Responder = {
      start: (next) =>
        next({
          onReceiveMetadata(metadata, receive) {
            held.hold(holder, bytesOf(metadata));
            receive(metadata);
          },
          onReceiveMessage(message, receive) {
            if (requestStream) arrived();
            intercepting.readNext();
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
        held.enter(holder, 'unread');
        next(sent);
      },
    };
    const intercepting = new HeldCall(wire, {
      ...{ held, holder, longest: longestMessage, requestStream, responder },
    });
    return intercepting;
  };

  /** Resolves with the port once it is open. */
  listen(server: Server, credentials: ServerCredentials): Promise<number> {
    const { host, port, log } = this.options;
    const injector = server.createConnectionInjector(credentials);
    beginInTurns(server, ({ session }) => {
      if (session !== undefined) this.#began(session);
    });
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
