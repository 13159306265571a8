import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import { errorBody } from '../core/error-body.js';
import { GatewayError } from '../core/errors.js';
import type { HeaderList } from '../core/headers.js';
import { checkHead, checkStatus, chunkedBody, headLength, isBodiless, unsaidBody } from './framing.js';
import { headerLines, sameName, statusLine } from './head-text.js';
import { textOfAddress } from './peer-address.js';
import { refusalOf } from './refusal.js';
import { deadReply, QueuedReply, type Wire } from './reply.js';
import type { Call, Refusal, ReplySink, Source, Transport, TransportOptions } from './transport.js';
import { type BodyReader, bodyTooLarge, Collector, type Faucet, Uploader } from './upload.js';

/** What the package has at run time and its types leave out. */
interface NativeModule {
  App(): TemplatedApp & {
    listen(
      host: string,
      port: number,
      options: number,
      done: (socket: us_listen_socket | false) => void,
    ): void;
  };
  us_listen_socket_close(socket: us_listen_socket): void;
  us_socket_local_port(socket: us_listen_socket): number;
  _cfg(key: string): void;
}

const exclusivePort = 1;
/** An answer this long is handed over in parts, so that the rest need not be copied for a slow client. */
const wholeBytes = 256 * 1024;
/** What of an unread body may still be swallowed to keep a connection, rather than close it. */
const swallowBytes = 64 * 1024;
/** How long a closing connection waits for the client to have read its answer, upload unfinished or not. */
const lingerUploadMs = 1000;
const lingerMs = 50;

/**
 * The end of a chunked body, by hand: `end('', true)` would write `Connection: close` into the middle of it.
 * `writeHeader` joins name and value by ": ", so there has to be a trailer field; RFC 9112 §7.1.2 allows any.
 */
const lastChunk = '\r\n0\r\nx-end';
const lastChunkValue = '1\r\n';

/**
 * More than uWebSockets holds back while it reads a packet (16 KiB). Behind a refused head in the same packet there
 * may be another request, which it would serve: the refusal has to be on the wire and the socket closed before that.
 */
const padding = ' '.repeat(16 * 1024);

let list: HeaderList = [];
/** The head before this one: clients say the same again and again, mostly in the same place. */
let before: HeaderList = [];

/**
 * The native part makes two new strings for each header. Where the head before had the same at this place, those stand
 * for them: V8 has their hashes already, and compares them with what was looked up before by their address.
 */
const copyHeader = (name: string, value: string): void => {
  const at = list.length;
  if (at < before.length && before[at] === name) {
    list.push(before[at]!, before[at + 1] === value ? before[at + 1]! : value);
  } else {
    list.push(sameName(name), value);
  }
};

/** What `cork` shall run: kept here, since it runs before `cork` returns, so that no call needs a closure. */
let corkedReply: QueuedReply | null = null;
let corkedFlush: ((reply: QueuedReply) => void) | null = null;
let corkedCall: UwsCall | null = null;

class UwsCall implements Call, Wire, Faucet {
  aborted = false;
  onAbort: (() => void) | null = null;
  /** null: answered, or the client has gone. Touching it then throws. */
  #res: HttpResponse | null;
  /** Bytes of the body, or `chunkedBody`. */
  readonly #length: number;
  #reader: BodyReader | null = null;
  #taken = false;
  #limit = 0;
  #paused = false;
  #bodyDone: boolean;
  /** Is uWebSockets reading this connection's packet now? It has corked it then. */
  #inParser = true;
  #begun = false;
  #over = false;
  /** Does the handler know that the connection is cut? */
  #told = false;
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
    readonly transport: UwsTransport,
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
    // uWebSockets stops reading a head at a header without a name, and shows nobody what stands behind it: where a
    // length would be expected and there is none, it may be there.
    this.#closing = length === chunkedBody || length === unsaidBody;
  }

  /** Asked for seldom, and a system call each time: so only when it is, and while the connection is there. */
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
    // What stands behind it in the same packet must find this call pending, or else it would be served.
    if (this.#closing) setImmediate(writeClosing, this);
    else if (this.#inParser) this.writeWhole(this.transport.draining);
    else this.#cork();
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

  // What follows is for this file and for the parts the call is made of.

  /** The handler has returned. */
  settle(): void {
    this.#inParser = false;
    // Nobody wants the body, but its end has to be known: only then may the connection carry another request.
    if (!this.#bodyDone && !this.#taken) this.#take(null, Number.POSITIVE_INFINITY);
  }

  /** The handler, or what it left behind, has thrown. */
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

  /** uWebSockets says that the connection has ended: nothing of `res` may be touched from here on. */
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
      if (!this.#told) this.onAbort?.();
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
    this.#res.onData((chunk, last) => this.#data(chunk, last));
    // Not now: nobody expects to be called back before `collect` has returned.
    if (this.#length > limit) process.nextTick(refuseLength, this);
  }

  #data(chunk: ArrayBuffer, last: boolean): void {
    if (last) {
      this.#bodyDone = true;
      this.resumeBody();
      if (this.#lingering !== null) setImmediate(closeLingering, this);
    }
    const reader = this.#reader;
    if (this.#res === null || reader === null) return;
    if (last) this.#reader = null;
    // uWebSockets takes the chunk back when this returns.
    const bytes = Buffer.allocUnsafe(chunk.byteLength);
    bytes.set(new Uint8Array(chunk));
    this.#inParser = true;
    try {
      if (!reader.push(bytes, last)) {
        this.#reader = reader;
        this.tooLarge();
      }
    } catch (thrown) {
      this.failed(thrown, 'body');
    }
    this.#inParser = false;
  }

  /** Writes the whole answer; `#res` must be corked. */
  writeWhole(close: boolean): void {
    const res = this.#res;
    if (res === null) return;
    const body = this.#body;
    this.head();
    if (this.method === 'HEAD' || isBodiless(this.#status)) {
      const length = this.method === 'HEAD' ? headLength(this.#headers, body) : null;
      // Not as an argument of endWithoutBody: that would have it wait for a body which never comes.
      if (length !== null) res.writeHeader('Content-Length', length);
      if (close) {
        // The empty line by hand: endWithoutBody closes only where it may write a length of its own.
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

  #cork(): void {
    corkedCall = this;
    this.#res?.cork(writeCorkedCall);
  }

  writeClosing(): void {
    if (this.#res === null) return;
    corkedCall = this;
    this.#res.cork(writeCorkedClosing);
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

  /** Closes once the client has had time to read its answer, which is complete but for uWebSockets. */
  #linger(res: HttpResponse): void {
    this.#finished();
    this.#lingering = res;
    this.#timer = setTimeout(closeLingering, this.#bodyDone ? lingerMs : lingerUploadMs, this);
  }

  closeLingering(): void {
    this.#lingering?.close();
  }

  // Wire: what a QueuedReply writes with.

  together(flush: (reply: QueuedReply) => void, reply: QueuedReply): void {
    if (this.#res === null) return;
    corkedReply = reply;
    corkedFlush = flush;
    corkedCall = this;
    this.#res.cork(writeCorkedReply);
  }

  head(): void {
    const res = this.#res;
    if (res === null || this.#headWritten) return;
    this.#headWritten = true;
    const { onProblem } = this.transport.options;
    const status = checkStatus(this.#status, onProblem);
    // `writeStatus` ends what it is given with a line's end and looks at nothing, so one call takes the whole head: each
    // call into native code costs more than the bytes it carries.
    res.writeStatus(statusLine(status) + headerLines(this.#headers, onProblem));
  }

  write(piece: Buffer | string): boolean {
    const res = this.#res;
    if (res === null) return true;
    if (!this.#headWritten) {
      this.head();
      if (this.#closing) res.writeHeader('Connection', 'close');
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

  cut(told: boolean): void {
    const res = this.#res;
    if (res === null) return;
    this.#told = told;
    this.gone();
    this.#lingering = res;
    // Not now: what was written in this turn may be corked still, and would be lost.
    setImmediate(closeLingering, this);
  }
}

function refuseLength(call: UwsCall): void {
  call.tooLarge();
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

function runCorked(run: (call: UwsCall) => void): void {
  const call = corkedCall;
  corkedCall = null;
  if (call === null) return;
  try {
    run(call);
  } catch (thrown) {
    call.transport.options.onProblem(thrown, 'write');
  }
}

const writeCorkedCall = (): void => runCorked((call) => call.writeWhole(call.transport.draining));
const writeCorkedClosing = (): void => runCorked((call) => call.writeWhole(true));
const writeCorkedReply = (): void =>
  runCorked(() => {
    if (corkedReply !== null) corkedFlush?.(corkedReply);
  });

/** Refuses a request whose head is in doubt, and with it everything that the connection carries behind it. */
function refuse(res: HttpResponse, error: GatewayError, { headers, body }: Refusal): void {
  res.writeStatus(statusLine(error.status));
  for (let i = 0; i < headers.length; i += 2) res.writeHeader(headers[i]!, headers[i + 1]!);
  res.writeHeader('Connection', 'close');
  res.write(body + padding);
  res.writeHeader(lastChunk, lastChunkValue);
  res.close();
}

class UwsTransport implements Transport {
  inFlight = 0;
  draining = false;
  readonly #app: ReturnType<NativeModule['App']>;
  #socket: us_listen_socket | null = null;

  constructor(
    readonly uws: NativeModule,
    readonly options: TransportOptions,
  ) {
    this.#app = uws.App();
    this.#app.any('/*', (res, req) => this.#request(res, req));
  }

  async listen(host: string, port: number, shared: boolean): Promise<number> {
    let wanted = port;
    if (shared && port === 0) {
      // The native part does not share a port that the system chose: let it choose, then ask for that one.
      const chosen = await this.#bind(host, 0, false);
      wanted = this.uws.us_socket_local_port(chosen);
      this.uws.us_listen_socket_close(chosen);
    }
    this.#socket = await this.#bind(host, wanted, shared);
    return this.uws.us_socket_local_port(this.#socket);
  }

  #bind(host: string, port: number, shared: boolean): Promise<us_listen_socket> {
    return new Promise((resolve, reject) => {
      this.#app.listen(host, port, shared ? 0 : exclusivePort, (socket) => {
        if (socket !== false) {
          resolve(socket);
          return;
        }
        const error: NodeJS.ErrnoException = new Error(
          `Cannot listen on ${host}:${port}: another process has the port, or the address is not this machine's.`,
        );
        error.code = 'EADDRINUSE';
        reject(error);
      });
    });
  }

  drain(): void {
    this.draining = true;
    if (this.#socket !== null) this.uws.us_listen_socket_close(this.#socket);
    this.#socket = null;
  }

  close(): void {
    this.drain();
    this.#app.close();
  }

  #request(res: HttpResponse, req: HttpRequest): void {
    let call: UwsCall | null = null;
    let path = '/';
    res.onAborted(() => call?.gone());
    try {
      list = [];
      req.forEach(copyHeader);
      before = list;
      const method = req.getCaseSensitiveMethod();
      path = req.getUrl();
      // Without "?" the native part answers undefined, whatever its types say.
      const query = req.getQuery() ?? '';
      const length = checkHead(method, path, query, list);
      call = new UwsCall(this, res, method, path, query, list, length);
    } catch (thrown) {
      const error = GatewayError.from(thrown);
      this.options.onProblem(error, 'refused request');
      refuse(res, error, refusalOf(this.options, error, path));
      return;
    }
    this.inFlight++;
    try {
      this.options.handler(call);
    } catch (thrown) {
      call.failed(thrown, 'handler');
    }
    call.settle();
  }
}

/**
 * HTTP/1.1 by uWebSockets.js. Its limit on header bytes is read from the environment once, when it is first loaded:
 * a second transport in the same process shares the first one's.
 */
export async function createUwsTransport(options: TransportOptions): Promise<Transport> {
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(options.maxHeaderBytes);
  const uws = (await import('uWebSockets.js')) as unknown as NativeModule;
  // Or else every answer says which server made it.
  uws._cfg('silent');
  return new UwsTransport(uws, options);
}
