import type { Dispatcher } from 'undici';
import { GatewayError } from '../core/errors.js';
import type { Deadlines, Timed } from './deadlines.js';
import { failure, fromTransport } from './failure.js';
import { maxReplyHeaderLines, readReplyHeaders, replyLength } from './reply-head.js';
import { Upload, type UploadWatcher } from './upload.js';
import type { UpstreamFlight, UpstreamHandler, UpstreamRequest } from './upstream.js';

type Phase =
  | 'connecting' // no connection has been given to this request yet
  | 'sending' // the request is being written
  | 'awaiting-head'
  | 'awaiting-body' // head given, no byte of the body yet
  | 'flowing'
  | 'done'; // end, error or cancel: the handler hears nothing more

/** Thrown into undici to give back a connection that a cancelled request would have got; never seen by anyone. */
const notNeeded = new Error('the request was cancelled before it was sent');

/**
 * undici may not be resumed while its (one) parser runs, and a handler can resume another flight from within its own
 * callback. More than 0: we are inside such a callback.
 */
let insideParser = 0;

/**
 * One request on its way and its reply: undici's handler (the older callbacks, which cost no object and no header map
 * per reply) on one side, UpstreamHandler on the other.
 */
export class Flight implements UpstreamFlight, Dispatcher.DispatchHandler, Timed, UploadWatcher {
  due = Number.POSITIVE_INFINITY;
  slot = -1;
  readonly upload: Upload | null;
  /** Set by the line when it takes this request. */
  line: { cut(): void; readonly broken: boolean } | null = null;
  readonly #request: UpstreamRequest;
  readonly #handler: UpstreamHandler;
  readonly #deadlines: Deadlines;
  /** Named in messages. */
  readonly #host: string;
  #phase: Phase = 'connecting';
  #resume: (() => void) | null = null;
  #paused = false;
  #bodyBytes = 0;
  /** What is to be closed with this flight: the client of an unpooled connection. */
  #onDone: (() => void) | null = null;

  constructor(request: UpstreamRequest, handler: UpstreamHandler, deadlines: Deadlines, host: string) {
    this.#request = request;
    this.#handler = handler;
    this.#deadlines = deadlines;
    this.#host = host;
    const { body } = request;
    this.upload = body === null || Buffer.isBuffer(body) ? null : new Upload(body, this);
    deadlines.watch(this);
    this.due = deadlines.after(request.timeouts.connectMs);
  }

  get sent(): boolean {
    return this.#phase !== 'connecting';
  }

  get done(): boolean {
    return this.#phase === 'done';
  }

  whenDone(close: () => void): void {
    this.#onDone = close;
  }

  /** For what fails before undici has the request. */
  fail(error: GatewayError): void {
    if (this.#phase === 'done') return;
    this.#finish();
    this.#handler.error(error);
  }

  // UpstreamFlight

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (this.#phase !== 'flowing') return;
    this.due = this.#deadlines.after(this.#request.timeouts.idleMs);
    if (insideParser > 0) queueMicrotask(() => this.#resumeParser());
    else this.#resumeParser();
  }

  cancel(): void {
    if (this.#phase === 'done') return;
    this.#cut();
    this.#finish();
  }

  // Timed

  late(): void {
    const { timeouts } = this.#request;
    let error: GatewayError;
    switch (this.#phase) {
      case 'connecting':
        error = this.#timeout('upstream_connect_timeout', 'gave no connection', timeouts.connectMs);
        break;
      case 'sending':
        error = this.#timeout('upstream_headers_timeout', 'took nothing of the request', timeouts.headersMs);
        break;
      case 'awaiting-head':
        error = this.#timeout('upstream_headers_timeout', 'did not begin to answer', timeouts.headersMs);
        break;
      case 'awaiting-body':
        error = this.#timeout(
          'upstream_first_token_timeout',
          'sent no byte of its answer',
          timeouts.firstTokenMs,
        );
        break;
      case 'flowing':
        error = this.#timeout('upstream_idle_timeout', 'fell silent in its answer', timeouts.idleMs);
        break;
      default:
        return;
    }
    this.#break(error);
  }

  // UploadWatcher: an upstream that does not read is late, a client that does not send is not.

  uploadHeld(): void {
    if (this.#phase === 'sending') this.due = this.#deadlines.after(this.#request.timeouts.headersMs);
  }

  uploadWanted(): void {
    if (this.#phase === 'sending') this.due = Number.POSITIVE_INFINITY;
  }

  // undici's handler

  onConnect(): void {
    if (this.#phase === 'done') throw notNeeded;
    this.#phase = 'sending';
    this.due = Number.POSITIVE_INFINITY;
  }

  onRequestSent(): void {
    if (this.#phase !== 'sending') return;
    this.#phase = 'awaiting-head';
    this.due = this.#deadlines.after(this.#request.timeouts.headersMs);
  }

  onHeaders(status: number, raw: Buffer[], resume: () => void): boolean {
    if (this.#phase === 'done') return true;
    // 100, 102 and 103 announce; the answer follows. 101 was not asked for.
    if (status < 200 && status !== 101) return true;
    if (status === 101 || raw.length > 2 * maxReplyHeaderLines) {
      this.#break(failure('upstream_invalid_response', this.#host));
      return true;
    }
    const { maxBodyBytes, timeouts } = this.#request;
    if (maxBodyBytes > 0 && this.#request.method !== 'HEAD' && (replyLength(raw) ?? 0) > maxBodyBytes) {
      this.#break(this.#tooLarge());
      return true;
    }
    this.#resume = resume;
    this.#phase = 'awaiting-body';
    this.due = this.#deadlines.after(timeouts.firstTokenMs);
    // A refusal while we still upload: the rest would be sent for nothing. undici closes the connection at the end.
    if (status >= 400) this.upload?.halt();
    insideParser += 1;
    try {
      this.#handler.head(status, readReplyHeaders(raw));
    } finally {
      insideParser -= 1;
    }
    return true;
  }

  onData(chunk: Buffer): boolean {
    // A resumed parser reports the rest of a body that ends with the connection even where there is none.
    if (this.#phase === 'done' || chunk.length === 0) return true;
    const { maxBodyBytes, timeouts } = this.#request;
    this.#bodyBytes += chunk.length;
    if (maxBodyBytes > 0 && this.#bodyBytes > maxBodyBytes) {
      this.#break(this.#tooLarge());
      return true;
    }
    this.#phase = 'flowing';
    this.due = this.#deadlines.after(timeouts.idleMs);
    // Set before the call: the handler may resume before it returns.
    this.#paused = true;
    insideParser += 1;
    let more: boolean;
    try {
      more = this.#handler.data(chunk);
    } finally {
      insideParser -= 1;
    }
    if (more || !this.#paused) {
      this.#paused = false;
      return true;
    }
    // While the reader pauses, the upstream owes us nothing.
    this.due = Number.POSITIVE_INFINITY;
    return false;
  }

  onComplete(): void {
    if (this.#phase === 'done') return;
    const broken = this.line?.broken === true;
    this.#finish();
    if (broken) return this.#handler.error(failure('upstream_truncated', this.#host));
    insideParser += 1;
    try {
      this.#handler.end();
    } catch (thrown) {
      this.#handler.error(GatewayError.from(thrown));
    } finally {
      insideParser -= 1;
    }
  }

  onError(thrown: Error): void {
    if (this.#phase === 'done') return;
    const headSeen = this.#phase === 'awaiting-body' || this.#phase === 'flowing';
    this.#cut();
    this.#finish();
    this.#handler.error(fromTransport(thrown, this.#host, headSeen));
  }

  #resumeParser(): void {
    if (!this.#paused && this.#phase === 'flowing') this.#resume?.();
  }

  /** Ends the flight by our own decision: the connection goes with it. */
  #break(error: GatewayError): void {
    this.#cut();
    this.#finish();
    this.#handler.error(error);
  }

  /** Before `onConnect`, the line may be busy with another request: then there is nothing of ours to cut. */
  #cut(): void {
    if (this.#phase !== 'connecting') this.line?.cut();
  }

  #finish(): void {
    this.#phase = 'done';
    this.#deadlines.unwatch(this);
    this.upload?.halt();
    this.#onDone?.();
  }

  #timeout(code: GatewayError['code'], what: string, ms: number): GatewayError {
    return new GatewayError(code, `${this.#host} ${what} within ${ms} ms.`);
  }

  #tooLarge(): GatewayError {
    const { maxBodyBytes } = this.#request;
    return new GatewayError(
      'upstream_too_large',
      `${this.#host} answered with more than ${maxBodyBytes} bytes.`,
    );
  }
}
