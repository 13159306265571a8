import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { errorBody } from '../core/error-body.js';
import { GatewayError } from '../core/errors.js';
import { type HeaderList, isHeaderName, isHeaderValue } from '../core/headers.js';
import {
  checkHead,
  checkStatus,
  chunkedBody,
  headLength,
  isBodiless,
  isOwnedHeader,
  unsaidBody,
} from './framing.js';
import { refusalOf } from './refusal.js';
import { deadReply, QueuedReply, type Wire } from './reply.js';
import type { Call, ReplySink, Source, Transport, TransportOptions } from './transport.js';
import { type BodyReader, bodyTooLarge, Collector, type Faucet, Uploader } from './upload.js';

/** What of an unread body may still be swallowed to keep a connection, rather than close it. */
const swallowBytes = 64 * 1024;
/** An answer this long is written in parts, so that a client which takes none of it is noticed. */
const wholeBytes = 256 * 1024;
/** How long a client that is still sending may take to read its answer before the connection is closed. */
const lingerUploadMs = 1000;
const headTimeoutMs = 10_000;
const keepAliveMs = 10_000;
const empty = Buffer.alloc(0);

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
/**
 * Can several processes listen on one port here? Node learnt SO_REUSEPORT in 22.12 and 23.1; under an older one this
 * transport runs with a single data worker.
 */
export const nodeTransportCanShare =
  major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);

/** Node reads and writes headers as latin1; HTTP libraries send UTF-8 there, if they send more than ASCII at all. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is the whole of ASCII.
const notAscii = /[^\x00-\x7f]/;
const fromWire = (value: string): string =>
  notAscii.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value;
const toWire = (value: string): string =>
  notAscii.test(value) ? Buffer.from(value, 'utf8').toString('latin1') : value;

class NodeCall implements Call, Wire, Faucet {
  aborted = false;
  onAbort: (() => void) | null = null;
  readonly method: string;
  readonly remoteAddress: string;
  #begun = false;
  #over = false;
  #told = false;
  #taken = false;
  #reader: BodyReader | null = null;
  #limit = 0;
  #closing: boolean;
  #reply: QueuedReply | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(
    readonly transport: NodeTransport,
    readonly req: IncomingMessage,
    readonly res: ServerResponse,
    readonly path: string,
    readonly query: string,
    readonly headers: HeaderList,
    readonly length: number,
  ) {
    this.method = req.method ?? '';
    const address = req.socket.remoteAddress ?? '';
    this.remoteAddress = address.startsWith('::ffff:') ? address.slice(7) : address;
    this.#closing = length === chunkedBody;
    res.on('close', () => this.gone());
    res.on('drain', () => this.#reply?.writable());
    // A broken connection is told by 'close'; unheard, these would end the process.
    res.on('error', ignore);
    req.on('error', ignore);
  }

  collect(limit: number, done: (error: GatewayError | null, bytes: Buffer) => void): void {
    this.#take(new Collector(limit, done), limit);
  }

  stream(limit: number): Source {
    const uploader = new Uploader(limit, this);
    this.#take(uploader, limit);
    return uploader;
  }

  answer(status: number, headers: HeaderList, body: Buffer | string | null): void {
    if (this.#over || this.#begun) return;
    this.#begun = true;
    const { res } = this;
    const uploading = this.#isUploading();
    const closing = this.#head(status, headers, uploading);
    const bodiless = this.method === 'HEAD' || isBodiless(status);
    if (bodiless) {
      const length = this.method === 'HEAD' ? headLength(headers, body) : null;
      if (length !== null) res.setHeader('Content-Length', length);
      this.#end(null);
      return;
    }
    const bytes = body === null ? empty : typeof body === 'string' ? Buffer.from(body) : body;
    res.setHeader('Content-Length', bytes.length);
    if (!closing || !uploading) {
      if (bytes.length <= wholeBytes) {
        this.#end(bytes);
        return;
      }
      this.#reply = new QueuedReply(this, this.transport.options.writeTimeoutMs, ignore);
      this.#reply.data(bytes);
      this.#reply.end();
      return;
    }
    // A socket closed on a client that is still sending is reset, and the answer lost with it.
    res.write(bytes);
    this.req.resume();
    this.req.once('end', () => this.#end(null));
    this.#timer = setTimeout(() => this.#end(null), lingerUploadMs);
  }

  begin(status: number, headers: HeaderList, resume: () => void): ReplySink {
    if (this.#over || this.#begun) return deadReply;
    if (this.method === 'HEAD' || isBodiless(status)) {
      this.answer(status, headers, null);
      return deadReply;
    }
    this.#begun = true;
    this.#closing ||= this.transport.draining;
    this.#head(status, headers, this.#isUploading());
    this.#reply = new QueuedReply(this, this.transport.options.writeTimeoutMs, resume);
    return this.#reply;
  }

  /** The handler has returned. */
  settle(): void {
    if (!this.#taken) this.req.resume();
  }

  failed(thrown: unknown, what: string): void {
    this.transport.options.onProblem(thrown, what);
    if (this.#over) return;
    if (this.#begun) {
      this.#reply?.stop();
      this.cut(false);
      return;
    }
    this.answer(500, ['content-type', 'application/json'], errorBody(GatewayError.from(thrown), null));
  }

  gone(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#over) return;
    this.#over = true;
    this.transport.inFlight--;
    this.#reply?.stop();
    // The answer is in the socket: the call ended well.
    if (this.res.writableFinished) return;
    this.aborted = true;
    try {
      if (!this.#told) this.onAbort?.();
      this.#reader?.fail(new GatewayError('client_gone', 'The client closed the connection.'));
    } catch (thrown) {
      this.transport.options.onProblem(thrown, 'onAbort');
    }
  }

  pauseBody(): void {
    this.req.pause();
  }

  resumeBody(): void {
    this.req.resume();
  }

  #isUploading(): boolean {
    return this.length !== 0 && !this.req.complete;
  }

  #take(reader: BodyReader, limit: number): void {
    if (this.#taken) throw new Error('The body of this call has been taken already.');
    this.#taken = true;
    if (this.#over) return;
    this.#reader = reader;
    this.#limit = limit;
    this.req.on('data', (chunk: Buffer) => this.#push(chunk, false));
    this.req.on('end', () => this.#push(empty, true));
    if (this.length > limit) process.nextTick(() => this.#tooLarge());
  }

  #push(bytes: Buffer, last: boolean): void {
    const reader = this.#reader;
    if (reader === null) return;
    if (last) this.#reader = null;
    try {
      if (!reader.push(bytes, last)) {
        this.#reader = reader;
        this.#tooLarge();
      }
    } catch (thrown) {
      this.failed(thrown, 'body');
    }
  }

  #tooLarge(): void {
    const reader = this.#reader;
    if (reader === null || this.#over) return;
    this.#reader = null;
    this.#closing = true;
    this.resumeBody();
    try {
      reader.fail(bodyTooLarge(this.#limit));
    } catch (thrown) {
      this.failed(thrown, 'body');
    }
  }

  /** Sets status and headers. Will the connection be closed after this answer? */
  #head(status: number, headers: HeaderList, uploading: boolean): boolean {
    const { res } = this;
    const { onProblem } = this.transport.options;
    res.statusCode = checkStatus(status, onProblem);
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i]!;
      const value = headers[i + 1]!;
      if (isOwnedHeader(name)) continue;
      // The value stays out of the report: it may be a secret.
      if (!isHeaderName(name) || !isHeaderValue(value)) onProblem(new Error(name), 'invalid answer header');
      else res.appendHeader(name, toWire(value));
    }
    const closing =
      this.#closing ||
      this.transport.draining ||
      (uploading && (this.length === chunkedBody || this.length > swallowBytes));
    if (closing) res.setHeader('Connection', 'close');
    return closing;
  }

  #end(bytes: Buffer | null): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.res.writableEnded || this.res.destroyed) return;
    if (bytes === null) this.res.end();
    else this.res.end(bytes);
  }

  // Wire: what a QueuedReply writes with.

  together(flush: (reply: QueuedReply) => void, reply: QueuedReply): void {
    if (this.#over) return;
    // Not the answer's own cork: from Node 22 on, a write refused under it may never be followed by a 'drain'.
    const { socket } = this.req;
    socket.cork();
    try {
      flush(reply);
    } catch (thrown) {
      this.failed(thrown, 'write');
    }
    socket.uncork();
  }

  write(piece: Buffer | string): boolean {
    return this.res.write(piece);
  }

  finish(): void {
    this.#end(null);
  }

  cut(told: boolean): void {
    this.#told = told;
    this.req.socket.destroy();
  }
}

function ignore(): void {}

class NodeTransport implements Transport {
  inFlight = 0;
  draining = false;
  readonly #server: Server;
  /** Connections whose next bytes may not be read as a request. */
  readonly #spent = new WeakSet<Duplex>();
  /** Answers still owed on a connection: an error page of ours must not take the place of one. */
  readonly #owed = new WeakMap<Duplex, number>();
  #closed = false;

  constructor(readonly options: TransportOptions) {
    const server = createServer({
      maxHeaderSize: options.maxHeaderBytes,
      insecureHTTPParser: false,
      joinDuplicateHeaders: false,
      // Said by checkHead instead, in JSON.
      requireHostHeader: false,
      keepAliveTimeout: keepAliveMs,
      headersTimeout: headTimeoutMs,
      connectionsCheckingInterval: 1000,
    });
    // Node drops silently what is over this; checkHead refuses it.
    server.maxHeadersCount = 0;
    server.on('request', (req, res) => this.#request(req, res, false));
    server.on('checkContinue', (req, res) => this.#request(req, res, true));
    server.on('checkExpectation', (req, res) => this.#request(req, res, false));
    server.on('clientError', (error, socket) => this.#unreadable(error, socket));
    server.on('connect', (_req, socket) => {
      this.#refuse(socket, new GatewayError('method_not_allowed', 'The method CONNECT is not served here.'));
    });
    this.#server = server;
  }

  listen(host: string, port: number, shared: boolean): Promise<number> {
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

  drain(): void {
    this.draining = true;
    if (!this.#server.listening) return;
    // Not the close of http.Server: that cuts idle connections, on which a request may be under way.
    NetServer.prototype.close.call(this.#server);
  }

  close(): void {
    this.drain();
    if (this.#closed) return;
    this.#closed = true;
    this.#server.closeAllConnections();
    // Ends the timer that looks for slow clients.
    this.#server.close(ignore);
  }

  #request(req: IncomingMessage, res: ServerResponse, wantsContinue: boolean): void {
    const socket = req.socket;
    if (this.#spent.has(socket)) {
      // Behind a chunked body or a refusal: never served. The answer before it closes the connection.
      res.on('error', ignore);
      return;
    }
    this.#owed.set(socket, (this.#owed.get(socket) ?? 0) + 1);
    res.on('close', () => this.#owed.set(socket, (this.#owed.get(socket) ?? 1) - 1));
    let call: NodeCall;
    let path = '/';
    try {
      const headers = req.rawHeaders;
      const list: HeaderList = new Array(headers.length);
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
      const { headers, body } = refusalOf(this.options, error, path);
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
      // The client left in mid-request; the call, if there was one, hears of it by its own 'close'.
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

  /** Refuses where there is no ServerResponse to do it with. */
  #refuse(socket: Duplex, error: GatewayError): void {
    if (!socket.writable || (this.#owed.get(socket) ?? 0) > 0 || this.#spent.has(socket)) {
      socket.destroy();
      return;
    }
    this.#spent.add(socket);
    const body = errorBody(error, null);
    socket.on('error', ignore);
    socket.end(
      `HTTP/1.1 ${error.status} ${error.status === 405 ? 'Method Not Allowed' : 'Bad Request'}\r\n` +
        'Content-Type: application/json\r\nConnection: close\r\n' +
        `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      () => socket.destroy(),
    );
  }
}

/** HTTP/1.1 by Node's own parser, for where uWebSockets.js has no binary. */
export async function createNodeTransport(options: TransportOptions): Promise<Transport> {
  return new NodeTransport(options);
}
