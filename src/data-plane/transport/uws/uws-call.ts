import type { HttpResponse } from 'uWebSockets.js';
import { errorBody } from '../../../common/core/error-body.js';
import { GatewayError } from '../../../common/core/errors.js';
import type { HeaderList } from '../../../common/http/headers.js';
import { checkStatus, chunkedBody, headLength, isBodiless, unsaidBody } from '../framing.js';
import { headerLines, statusLine } from '../head-text.js';
import { lastChunk, lastChunkValue } from '../last-chunk.js';
import { textOfAddress } from '../peer-address.js';
import { deadReply, QueuedReply, type Wire } from '../reply.js';
import type { Call, ReplySink, Serving, Source } from '../transport.js';
import { type BodyReader, bodyTooLarge, Collector, type PausableBody, Uploader } from '../upload.js';
import { type Corked, corkClosing, corkReply, corkWhole } from './uws-cork.js';

/** A longer answer is written in parts, so that the rest need not be copied for a slow client. */
const wholeBytes = 256 * 1024;
/** Bytes of an unread body that are discarded to keep a connection; with more it is closed. */
const swallowBytes = 64 * 1024;
/** How long a closing connection waits for the client to have read its answer, upload unfinished or not. */
const lingerUploadMs = 1000;
const lingerMs = 50;

/**
 * Answers that are written while packets are read. A packet may have thousands of small requests: further answers of the turn wait
 * for its end, and uWebSockets closes a connection on which another request follows one without an answer.
 */
const mostInTurn = 50;
let answeredInTurn = 0;
const newTurn = (): void => {
  answeredInTurn = 0;
};

function mayAnswerAtOnce(): boolean {
  if (answeredInTurn === 0) setImmediate(newTurn);
  return ++answeredInTurn <= mostInTurn;
}

/** A call on a connection of uWebSockets.js. */
export class UwsCall implements Call, Wire, PausableBody, Corked {
  aborted = false;
  onAbort: (() => void) | null = null;
  /** null: answered, or the client has disconnected. Using it then throws. */
  #res: HttpResponse | null;
  /** Bytes of the body, or `chunkedBody`. */
  readonly #length: number;
  #reader: BodyReader | null = null;
  #taken = false;
  #limit = 0;
  #paused = false;
  #bodyDone: boolean;
  /** Is uWebSockets reading a packet of this connection? Then the connection is corked. */
  #inParser = true;
  #begun = false;
  #over = false;
  /** Was the handler notified that the connection is cut? */
  #notified = false;
  /** The connection may not carry another request. */
  #closing: boolean;
  #status = 0;
  #headers: HeaderList = [];
  #body: Buffer | string | null = null;
  #headWritten = false;
  #hasOnWritable = false;
  #reply: QueuedReply | null = null;
  #lingering: HttpResponse | null = null;
  #timer: NodeJS.Timeout | null = null;
  #address: string | null = null;

  constructor(
    readonly transport: Serving,
    res: HttpResponse,
    readonly method: string,
    readonly path: string,
    readonly query: string,
    readonly headers: HeaderList,
    length: number,
  ) {
    this.#res = res;
    this.#length = length === unsaidBody ? 0 : length;
    this.#bodyDone = this.#length === 0;
    // uWebSockets stops reading a head at a header without a name, and does not expose what follows: where a
    // length would be expected and there is none, it may be there.
    this.#closing = length === chunkedBody || length === unsaidBody;
  }

  /** Rarely needed, and a system call each time: so only on request, and while the connection is open. */
  get remoteAddress(): string {
    if (this.#address === null) this.#address = this.#res === null ? '' : textOfAddress(this.#res);
    return this.#address;
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
    if (this.#res === null || this.#begun) return;
    this.#begun = true;
    this.#status = status;
    this.#headers = headers;
    this.#body = body;
    if (!this.#bodyDone && (this.#length === chunkedBody || this.#length > swallowBytes))
      this.#closing = true;
    // What follows in the same packet must find this call pending, or else it would be served.
    if (this.#closing) setImmediate(writeClosing, this);
    else if (this.#inParser && mayAnswerAtOnce()) this.writeWhole(this.transport.draining);
    else if (this.#inParser) setImmediate(writeCorked, this);
    else this.writeCorked();
  }

  begin(status: number, headers: HeaderList, resume: () => void): ReplySink {
    if (this.#res === null || this.#begun) return deadReply;
    if (this.method === 'HEAD' || isBodiless(status)) {
      this.answer(status, headers, null);
      return deadReply;
    }
    this.#begun = true;
    this.#status = status;
    this.#headers = headers;
    if (this.transport.draining || (!this.#bodyDone && this.#length > swallowBytes)) this.#closing = true;
    this.#reply = new QueuedReply(this, this.transport.options.writeTimeoutMs, resume);
    return this.#reply;
  }

  // The methods below are for this file and for the parts of a call.

  /** The handler has returned. */
  settle(): void {
    this.#inParser = false;
    // The body is not needed, but its end has to be known: only then may the connection carry another request.
    if (!this.#bodyDone && !this.#taken) this.#take(null, Number.POSITIVE_INFINITY);
  }

  /** The handler, or a task that it started, has thrown. */
  failed(thrown: unknown, what: string): void {
    this.transport.options.onProblem(thrown, what);
    if (this.#res === null) return;
    if (this.#begun) {
      this.#reply?.stop();
      this.cut(false);
      return;
    }
    this.answer(500, ['content-type', 'application/json'], errorBody(GatewayError.from(thrown), null));
  }

  /** uWebSockets reports that the connection has ended: `res` must not be used from now on. */
  gone(): void {
    this.#res = null;
    this.#lingering = null;
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#over) return;
    this.#over = true;
    this.aborted = true;
    this.transport.inFlight--;
    this.#reply?.stop();
    try {
      if (!this.#notified) this.onAbort?.();
      this.#reader?.fail(new GatewayError('client_gone', 'The client closed the connection.'));
    } catch (thrown) {
      this.transport.options.onProblem(thrown, 'onAbort');
    }
  }

  tooLarge(): void {
    const reader = this.#reader;
    if (reader === null || this.#res === null) return;
    this.#reader = null;
    this.#closing = true;
    this.resumeBody();
    try {
      reader.fail(bodyTooLarge(this.#limit));
    } catch (thrown) {
      this.failed(thrown, 'body');
    }
  }

  pauseBody(): void {
    if (this.#paused || this.#bodyDone || this.#res === null) return;
    this.#paused = true;
    this.#res.pause();
  }

  resumeBody(): void {
    if (!this.#paused || this.#res === null) return;
    this.#paused = false;
    this.#res.resume();
  }

  #take(reader: BodyReader | null, limit: number): void {
    if (this.#taken) throw new Error('The body of this call has been taken already.');
    this.#taken = true;
    this.#limit = limit;
    if (this.#res === null) return;
    this.#reader = reader;
    this.#res.onData((chunk, last) => {
      if (last) {
        this.#bodyDone = true;
        if (this.#paused) this.resumeBody();
        if (this.#lingering !== null) setImmediate(closeLingering, this);
      }
      const taker = this.#reader;
      if (this.#res === null || taker === null) return;
      if (last) this.#reader = null;
      // uWebSockets takes the chunk back when this returns.
      const bytes = Buffer.allocUnsafe(chunk.byteLength);
      bytes.set(new Uint8Array(chunk));
      this.#inParser = true;
      try {
        if (!taker.push(bytes, last)) {
          this.#reader = taker;
          this.tooLarge();
        }
      } catch (thrown) {
        this.failed(thrown, 'body');
      }
      this.#inParser = false;
    });
    // Not now: the caller does not expect the callback before `collect` has returned.
    if (this.#length > limit) process.nextTick(refuseLength, this);
  }

  /** Writes the whole answer; `#res` must be corked. */
  writeWhole(close: boolean): void {
    const res = this.#res;
    if (res === null) return;
    const body = this.#body;
    this.head();
    if (this.method === 'HEAD' || isBodiless(this.#status)) {
      const length = this.method === 'HEAD' ? headLength(this.#headers, body) : null;
      // Not as an argument of endWithoutBody, which would then wait for a body that never comes.
      if (length !== null) res.writeHeader('Content-Length', length);
      if (close) {
        // The empty line is written here: endWithoutBody closes only if it may write a length itself.
        res.writeHeader('Connection', 'close\r\n');
        this.#linger(res);
      } else {
        this.#finished();
        res.endWithoutBody();
      }
    } else if (close && !this.#bodyDone) {
      // A socket closed on a client that is still sending is reset, and the answer lost with it.
      res.writeHeader('Connection', 'close');
      if (body !== null && body.length > 0) res.write(body);
      else res.write('\n');
      res.writeHeader(lastChunk, lastChunkValue);
      this.#linger(res);
    } else if (!close && body !== null && body.length > wholeBytes) {
      this.#writeLarge(res, typeof body === 'string' ? Buffer.from(body) : body);
    } else {
      this.#finished();
      res.end(body ?? '', close);
    }
  }

  writeCorked(): void {
    if (this.#res !== null) corkWhole(this.#res, this);
  }

  writeClosing(): void {
    if (this.#res !== null) corkClosing(this.#res, this);
  }

  #finished(): void {
    this.#over = true;
    this.#res = null;
    this.transport.inFlight--;
  }

  #writeLarge(res: HttpResponse, body: Buffer): void {
    const total = body.length;
    if (res.tryEnd(body, total)[1]) {
      this.#finished();
      return;
    }
    this.#timer = setTimeout(cutStalled, this.transport.options.writeTimeoutMs, this);
    res.onWritable((offset) => {
      if (this.#res === null) return true;
      this.#timer?.refresh();
      const [ok, done] = res.tryEnd(body.subarray(offset), total);
      if (done) {
        if (this.#timer !== null) clearTimeout(this.#timer);
        this.#finished();
      }
      return ok;
    });
  }

  /** Closes once the client has had time to read its answer, which is complete except for uWebSockets. */
  #linger(res: HttpResponse): void {
    this.#finished();
    this.#lingering = res;
    this.#timer = setTimeout(closeLingering, this.#bodyDone ? lingerMs : lingerUploadMs, this);
  }

  closeLingering(): void {
    this.#lingering?.close();
  }

  // Wire, for QueuedReply.

  together(flush: (reply: QueuedReply) => void, reply: QueuedReply): void {
    if (this.#res !== null) corkReply(this.#res, this, flush, reply);
  }

  head(): void {
    const res = this.#res;
    if (res === null || this.#headWritten) return;
    this.#headWritten = true;
    const { onProblem } = this.transport.options;
    const status = checkStatus(this.#status, onProblem);
    // `writeStatus` only appends a line end to its text, so one call writes the whole head: each
    // call into native code costs more than the bytes it carries.
    res.writeStatus(statusLine(status) + headerLines(this.#headers, onProblem));
  }

  write(piece: Buffer | string): boolean {
    const res = this.#res;
    if (res === null) return true;
    if (!this.#headWritten) {
      this.head();
      res.writeHeader('Connection', this.#closing ? 'close' : 'keep-alive');
    }
    if (res.write(piece)) return true;
    if (!this.#hasOnWritable) {
      this.#hasOnWritable = true;
      res.onWritable(() => {
        try {
          this.#reply?.writable();
        } catch (thrown) {
          this.failed(thrown, 'resume');
        }
        return true;
      });
    }
    return false;
  }

  finish(): void {
    const res = this.#res;
    if (res === null) return;
    if (!this.#headWritten) {
      this.#body = null;
      this.writeWhole(this.#closing);
    } else if (this.#closing) {
      res.writeHeader(lastChunk, lastChunkValue);
      this.#linger(res);
    } else {
      this.#finished();
      res.end();
    }
  }

  cut(notified: boolean): void {
    const res = this.#res;
    if (res === null) return;
    this.#notified = notified;
    this.gone();
    this.#lingering = res;
    // Not now: bytes written in this turn may still be corked, and would be lost.
    setImmediate(closeLingering, this);
  }
}

function refuseLength(call: UwsCall): void {
  call.tooLarge();
}

function writeCorked(call: UwsCall): void {
  call.writeCorked();
}

function writeClosing(call: UwsCall): void {
  call.writeClosing();
}

function closeLingering(call: UwsCall): void {
  call.closeLingering();
}

function cutStalled(call: UwsCall): void {
  call.cut(false);
}
