import { GatewayError } from '../../common/core/errors.js';
import type { Connection, ConnectionHandler } from './connections/connection.js';
import type { Waiter } from './connections/waiting-line.js';
import type { Deadlines, Timed } from './deadlines.js';
import { connectTimeout } from './failure.js';
import type { ReplyHeadReader } from './reply/reply-head.js';
import type { RequestHead } from './request-head.js';
import { Upload, type UploadWatcher } from './upload.js';
import type { UpstreamFlight, UpstreamHandler, UpstreamRequest } from './upstream.js';

type Phase =
  | 'connecting' // the request has no connection yet
  | 'sending' // the request is being written
  | 'awaiting-head'
  | 'awaiting-body' // the head was passed on, but no byte of the body yet
  | 'flowing'
  | 'done'; // end, error or cancel: the handler gets no more calls

/** The queue in which a request waits for a connection. */
export interface Queue {
  /** Are all connections that it may have in use? */
  readonly full: boolean;
  forget(flight: InFlightRequest): void;
}

/** One request in flight and its reply: its connection on one side, UpstreamHandler on the other. */
export class InFlightRequest implements UpstreamFlight, ConnectionHandler, Timed, Waiter, UploadWatcher {
  due = Number.POSITIVE_INFINITY;
  slot = -1;
  ahead: Waiter | null = null;
  behind: Waiter | null = null;
  waits = false;
  /** The connection that was opened for it. Belongs to the pool. */
  begun: Connection | null = null;
  /** Milliseconds that a connection begun for it may take. */
  readonly connectMs: number;
  readonly #request: UpstreamRequest;
  readonly #handler: UpstreamHandler;
  readonly #deadlines: Deadlines;
  /** Named in messages. */
  readonly #host: string;
  #head: RequestHead | null = null;
  #upload: Upload | null = null;
  #connection: Connection | null = null;
  #phase: Phase = 'connecting';
  #paused = false;
  /** The handler's `data` is running. */
  #telling = false;
  /** The whole reply was read while the handler was paused: `end` waits for it. */
  #ended = false;
  #bodyBytes = 0;
  #queue: Queue | null = null;
  #onDone: (() => void) | null = null;

  constructor(request: UpstreamRequest, handler: UpstreamHandler, deadlines: Deadlines, host: string) {
    this.#request = request;
    this.#handler = handler;
    this.#deadlines = deadlines;
    this.#host = host;
    this.connectMs = request.timeouts.connectMs;
    deadlines.watch(this, this.connectMs);
  }

  get sent(): boolean {
    return this.#phase !== 'connecting';
  }

  get done(): boolean {
    return this.#phase === 'done';
  }

  /** `listener` is called once, when it ends. */
  whenDone(listener: () => void): void {
    this.#onDone = listener;
  }

  /** Waits in `queue` for a connection, to which it is then to write `head`. */
  prepare(head: RequestHead, queue: Queue): void {
    const { body } = this.#request;
    this.#head = head;
    this.#queue = queue;
    if (body !== null && !Buffer.isBuffer(body)) this.#upload = new Upload(body, head.streamed, this);
  }

  /** Writes the request to a connection that is open and free. */
  leave(connection: Connection): void {
    const { method, body, timeouts } = this.#request;
    const { text, keep } = this.#head!;
    this.#queue = null;
    this.#connection = connection;
    this.#phase = 'sending';
    const upload = this.#upload;
    if (upload === null) {
      connection.carry(this, text, body as Buffer | null, method === 'HEAD', keep);
      this.#phase = 'awaiting-head';
      this.due = this.#deadlines.after(timeouts.headersMs);
      return;
    }
    this.due = Number.POSITIVE_INFINITY;
    connection.cork();
    connection.carry(this, text, null, method === 'HEAD', keep);
    try {
      upload.start(connection);
    } catch (thrown) {
      this.fail(GatewayError.from(thrown));
    }
    connection.uncork();
  }

  /** Ends the flight from this side, and closes its connection. */
  fail(error: GatewayError): void {
    if (this.#phase === 'done') return;
    this.#connection?.destroy();
    this.#finish();
    this.#handler.error(error);
  }

  // UpstreamFlight

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (this.#phase !== 'flowing' || this.#telling) return;
    if (this.#ended) return this.#end();
    this.due = this.#deadlines.after(this.#request.timeouts.idleMs);
    this.#connection?.resume();
  }

  cancel(): void {
    if (this.#phase === 'done') return;
    this.#connection?.destroy();
    this.#finish();
  }

  // Timed

  late(): void {
    const { timeouts } = this.#request;
    switch (this.#phase) {
      case 'connecting':
        return this.fail(
          connectTimeout(this.#host, timeouts.connectMs, this.#queue?.full === true ? 'pool' : 'open'),
        );
      case 'sending':
        return this.#late(
          'upstream_headers_timeout',
          'took nothing of the request',
          timeouts.headersMs,
          'headers',
        );
      case 'awaiting-head':
        return this.#late(
          'upstream_headers_timeout',
          'did not begin to answer',
          timeouts.headersMs,
          'headers',
        );
      case 'awaiting-body':
        return this.#late(
          'upstream_first_token_timeout',
          'sent no byte of its answer',
          timeouts.firstTokenMs,
          'first_token',
        );
      case 'flowing':
        return this.#late('upstream_idle_timeout', 'fell silent in its answer', timeouts.idleMs, 'idle');
      default:
    }
  }

  /** `wait`: of the settings `…_timeout_ms`. */
  #late(code: GatewayError['code'], what: string, ms: number, wait: string): void {
    const setting = `${wait}_timeout_ms`;
    this.fail(new GatewayError(code, `${this.#host} ${what} within ${ms} ms (${setting}).`));
  }

  // UploadWatcher: an upstream that does not read is late, a client that does not send is not.

  uploadHeld(): void {
    if (this.#phase === 'sending') this.due = this.#deadlines.after(this.#request.timeouts.headersMs);
  }

  uploadWanted(): void {
    if (this.#phase === 'sending') this.due = Number.POSITIVE_INFINITY;
  }

  uploadEnded(): void {
    if (this.#phase !== 'sending') return;
    this.#phase = 'awaiting-head';
    this.due = this.#deadlines.after(this.#request.timeouts.headersMs);
  }

  uploadFailed(error: GatewayError): void {
    this.fail(error);
  }

  // ConnectionHandler

  get written(): boolean {
    return this.#upload === null || this.#upload.ended;
  }

  get paused(): boolean {
    return this.#paused;
  }

  drained(): void {
    this.#upload?.drained();
  }

  replyBegan({ status, headers, length }: ReplyHeadReader): void {
    const { maxBodyBytes, timeouts, method } = this.#request;
    if (maxBodyBytes > 0 && length > maxBodyBytes && method !== 'HEAD') return this.fail(this.#tooLarge());
    this.#phase = 'awaiting-body';
    this.due = this.#deadlines.after(timeouts.firstTokenMs);
    if (method === 'HEAD' && length !== -1) headers.push('content-length', String(length));
    // Refused during the upload: sending the rest would be useless.
    if (status >= 400) this.#upload?.halt();
    try {
      this.#handler.head(status, headers);
    } catch (thrown) {
      this.fail(GatewayError.from(thrown));
    }
  }

  replyCame(chunk: Buffer): void {
    const { maxBodyBytes, timeouts } = this.#request;
    this.#bodyBytes += chunk.length;
    if (maxBodyBytes > 0 && this.#bodyBytes > maxBodyBytes) return this.fail(this.#tooLarge());
    this.#phase = 'flowing';
    this.due = this.#deadlines.after(timeouts.idleMs);
    // Set before the call, since the handler may resume before it returns.
    this.#paused = true;
    this.#telling = true;
    let more = true;
    try {
      more = this.#handler.data(chunk);
    } catch (thrown) {
      this.fail(GatewayError.from(thrown));
    }
    this.#telling = false;
    if (more) this.#paused = false;
    // While the reader is paused, the upstream has no deadline.
    else if (this.#paused) this.due = Number.POSITIVE_INFINITY;
  }

  replyEnded(): void {
    this.#connection = null;
    if (!this.#paused) return this.#end();
    this.#ended = true;
    this.#upload?.halt();
  }

  replyBroke(error: GatewayError): void {
    this.#connection = null;
    this.fail(error);
  }

  #end(): void {
    if (this.#phase === 'done') return;
    this.#finish();
    try {
      this.#handler.end();
    } catch (thrown) {
      this.#handler.error(GatewayError.from(thrown));
    }
  }

  #finish(): void {
    this.#phase = 'done';
    this.#connection = null;
    this.#deadlines.unwatch(this);
    this.#upload?.halt();
    this.#queue?.forget(this);
    this.#onDone?.();
  }

  #tooLarge(): GatewayError {
    const { maxBodyBytes } = this.#request;
    return new GatewayError(
      'upstream_too_large',
      `${this.#host} answered with more than ${maxBodyBytes} bytes.`,
    );
  }
}
