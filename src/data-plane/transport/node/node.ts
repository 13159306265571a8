import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { GatewayError } from '../../../common/core/errors.js';
import type { HeaderList } from '../../../common/http/headers.js';
import { reportFull } from '../connection-limit.js';
import { checkHead, chunkedBody, unsaidBody } from '../framing.js';
import { fromWire } from '../latin1.js';
import { refusalOf } from '../refusal.js';
import type { Serving, Transport, TransportOptions } from '../transport.js';
import { NodeCall } from './node-call.js';

const headTimeoutMs = 10_000;
const keepAliveMs = 10_000;
/** Unanswered requests of a connection: Node parses all that were sent ahead. A connection with more is closed. */
const mostOwed = 50;
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
/**
 * Can several processes listen on one port? Node has SO_REUSEPORT since 22.12 and 23.1; with an older version this
 * transport runs with a single data worker.
 */
export const nodeTransportCanShare =
  major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);

class NodeTransport implements Transport, Serving {
  inFlight = 0;
  draining = false;
  readonly #server: Server;
  /** Connections whose further bytes must not be parsed as a request. */
  readonly #spent = new WeakSet<Duplex>();
  /** Unfinished answers of a connection: an error of the transport must not replace one. */
  readonly #owed = new WeakMap<Duplex, number>();
  #closed = false;

  constructor(readonly options: TransportOptions) {
    const server = createServer({
      maxHeaderSize: options.maxHeaderBytes,
      insecureHTTPParser: false,
      joinDuplicateHeaders: false,
      // checkHead reports it instead, in JSON.
      requireHostHeader: false,
      keepAliveTimeout: keepAliveMs,
      headersTimeout: headTimeoutMs,
      connectionsCheckingInterval: 1000,
    });
    // Node silently drops headers above this number; checkHead refuses them.
    server.maxHeadersCount = 0;
    if (options.maxConnections !== undefined) {
      const full = reportFull(options.maxConnections, options.onProblem);
      server.maxConnections = options.maxConnections;
      server.on('drop', full);
    }
    server.on('request', (req, res) => this.#request(req, res, false));
    server.on('checkContinue', (req, res) => this.#request(req, res, true));
    server.on('checkExpectation', (req, res) => this.#request(req, res, false));
    server.on('clientError', (error, socket) => this.#unreadable(error, socket));
    server.on('connect', (_req, socket) => {
      this.#refuse(socket, new GatewayError('method_not_allowed', 'The method CONNECT is not served here.'));
    });
    this.#server = server;
  }

  async listen(host: string, port: number, shared: boolean, isFirst = false): Promise<number> {
    if (shared && isFirst) {
      const probe = new NetServer();
      await new Promise<void>((bound, reject) =>
        probe.once('error', reject).listen({ host, port, exclusive: true }, bound),
      );
      await new Promise((closed) => probe.close(closed));
    }
    return this.#bind(host, port, shared);
  }

  #bind(host: string, port: number, shared: boolean): Promise<number> {
    return new Promise((resolve, reject) => {
      if (shared && !nodeTransportCanShare) {
        reject(
          new Error('This Node cannot share a port between processes: use 22.12 or later, or one worker.'),
        );
        return;
      }
      this.#server.once('error', reject);
      const where = shared ? { host, port, reusePort: true } : { host, port, exclusive: true };
      this.#server.listen(where, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (error) => this.options.onProblem(error, 'listener'));
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  announceDrain(): void {
    this.draining = true;
  }

  drain(): void {
    this.draining = true;
    if (!this.#server.listening) return;
    // Not the close of http.Server: that cuts idle connections, on which a request may be arriving.
    NetServer.prototype.close.call(this.#server);
  }

  close(): void {
    this.drain();
    if (this.#closed) return;
    this.#closed = true;
    this.#server.closeAllConnections();
    // Ends the timer that checks for slow clients.
    this.#server.close(ignore);
  }

  #request(req: IncomingMessage, res: ServerResponse, wantsContinue: boolean): void {
    const socket = req.socket;
    if (this.#spent.has(socket)) {
      // After a chunked body or a refusal: never served. The answer before it closes the connection.
      res.on('error', ignore);
      return;
    }
    const owed = (this.#owed.get(socket) ?? 0) + 1;
    if (owed > mostOwed) {
      res.on('error', ignore);
      // With what was written to it.
      this.#spent.add(socket);
      setImmediate(() => socket.destroySoon());
      return;
    }
    this.#owed.set(socket, owed);
    res.on('close', () => this.#owed.set(socket, (this.#owed.get(socket) ?? 1) - 1));
    if (res.socket !== null) {
      this.#take(req, res, wantsContinue);
      return;
    }
    // Sent ahead: its turn comes after the answers before it. Until then, Node would not report that the client has left.
    res.on('error', ignore);
    // In a turn of its own: a packet may have hundreds of them.
    res.once('socket', () =>
      setImmediate(() => {
        if (!socket.destroyed && !this.#spent.has(socket)) this.#take(req, res, wantsContinue);
      }),
    );
  }

  #take(req: IncomingMessage, res: ServerResponse, wantsContinue: boolean): void {
    const { socket } = req;
    let call: NodeCall;
    let path = '/';
    const headers = req.rawHeaders;
    const list: HeaderList = new Array(headers.length);
    try {
      for (let i = 0; i < headers.length; i += 2) {
        list[i] = headers[i]!.toLowerCase();
        list[i + 1] = fromWire(headers[i + 1]!);
      }
      if (req.httpVersion !== '1.1')
        throw new GatewayError('bad_framing', 'The only HTTP version served here is 1.1.');
      const url = req.url ?? '';
      const mark = url.indexOf('?');
      path = mark < 0 ? url : url.slice(0, mark);
      const query = mark < 0 ? '' : url.slice(mark + 1);
      const said = checkHead(req.method ?? '', path, query, list);
      const length = said === unsaidBody ? 0 : said;
      if (length === chunkedBody) this.#spent.add(socket);
      call = new NodeCall(this, req, res, path, query, list, length);
    } catch (thrown) {
      const error = GatewayError.from(thrown);
      this.options.onProblem(error, 'refused request');
      this.#spent.add(socket);
      res.on('error', ignore);
      const { headers, body } = refusalOf(this.options, error, path, list);
      res.writeHead(error.status, [...headers, 'Connection', 'close']);
      res.end(body);
      return;
    }
    this.inFlight++;
    if (wantsContinue) res.writeContinue();
    try {
      this.options.handler(call);
    } catch (thrown) {
      call.failed(thrown, 'handler');
    }
    call.settle();
  }

  #unreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
    const code = error.code ?? '';
    if (code === 'HPE_INVALID_EOF_STATE' || !(code.startsWith('HPE_') || code.startsWith('ERR_HTTP_'))) {
      // The client disconnected during the request; the call, if any, gets its own 'close'.
      socket.destroy();
      return;
    }
    const message =
      code === 'HPE_HEADER_OVERFLOW'
        ? `The request line and headers are longer than ${this.options.maxHeaderBytes} bytes.`
        : code === 'ERR_HTTP_REQUEST_TIMEOUT'
          ? 'The request did not arrive in time.'
          : 'The request cannot be read as HTTP/1.1.';
    const refusal = new GatewayError('bad_framing', message, { cause: error });
    this.options.onProblem(refusal, 'refused request');
    this.#refuse(socket, refusal);
  }

  /** Refuses a request without a ServerResponse. */
  #refuse(socket: Duplex, error: GatewayError): void {
    if (!socket.writable || (this.#owed.get(socket) ?? 0) > 0 || this.#spent.has(socket)) {
      socket.destroy();
      return;
    }
    this.#spent.add(socket);
    const { headers, body } = refusalOf(this.options, error, '/', []);
    const lines = headers.map((text, i) => (i % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
    socket.on('error', ignore);
    socket.end(
      `HTTP/1.1 ${error.status} ${error.status === 405 ? 'Method Not Allowed' : 'Bad Request'}\r\n` +
        `${lines}Connection: close\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      () => socket.destroy(),
    );
  }
}

function ignore(): void {}

/** HTTP/1.1 with Node's own parser, for platforms without a binary of uWebSockets.js. */
export async function createNodeTransport(options: TransportOptions): Promise<Transport> {
  return new NodeTransport(options);
}
