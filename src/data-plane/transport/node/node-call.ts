import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorBody } from '../../../common/core/error-body.js';
import { GatewayError } from '../../../common/core/errors.js';
import { type HeaderList, isHeaderName, isHeaderValue } from '../../../common/http/headers.js';
import { checkStatus, chunkedBody, headLength, isBodiless, isOwnedHeader } from '../framing.js';
import { badHeader } from '../head-text.js';
import { toWire } from '../latin1.js';
import { deadReply, QueuedReply, type Wire } from '../reply.js';
import type { Call, ReplySink, Serving, Source } from '../transport.js';
import { type BodyReader, bodyTooLarge, Collector, type PausableBody, Uploader } from '../upload.js';

/** Bytes of an unread body that are discarded to keep a connection; with more it is closed. */
const swallowBytes = 64 * 1024;
/** A longer answer is written in parts, so that a client that reads none of it is noticed. */
const wholeBytes = 256 * 1024;
/** How long a client that is still sending may take to read its answer before the connection is closed. */
const lingerUploadMs = 1000;
const empty = Buffer.alloc(0);

/** A call on a connection of Node's own server. */
export class NodeCall implements Call, Wire, PausableBody {
  aborted = false;
  onAbort: (() => void) | null = null;
  readonly method: string;
  readonly remoteAddress: string;
  #begun = false;
  #over = false;
  #notified = false;
  #taken = false;
  #reader: BodyReader | null = null;
  #limit = 0;
  #closing: boolean;
  #reply: QueuedReply | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(
    readonly transport: Serving,
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
    // A broken connection is reported by 'close'; without a listener, these would end the process.
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
    // The whole answer is in the socket: the call has succeeded.
    if (this.res.writableFinished) return;
    this.aborted = true;
    try {
      if (!this.#notified) this.onAbort?.();
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

  /** Sets status and headers. Returns whether the connection is closed after this answer. */
  #head(status: number, headers: HeaderList, uploading: boolean): boolean {
    const { res } = this;
    const { onProblem } = this.transport.options;
    res.statusCode = checkStatus(status, onProblem);
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i]!;
      const value = headers[i + 1]!;
      if (isOwnedHeader(name)) continue;
      // The value stays out of the report: it may be a secret.
      if (!isHeaderName(name) || !isHeaderValue(value))
        onProblem(badHeader(name, headers), 'invalid answer header');
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

  // Wire, for QueuedReply.

  together(flush: (reply: QueuedReply) => void, reply: QueuedReply): void {
    if (this.#over) return;
    // Not the answer's own cork: from Node 22 on, a write that returned false under it may never be followed by a
    // 'drain'.
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

  cut(notified: boolean): void {
    this.#notified = notified;
    this.req.socket.destroy();
  }
}

function ignore(): void {}
