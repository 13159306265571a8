import type { Dispatcher } from 'undici';
import { GatewayError } from '../../../common/core/errors.js';
import type { Deadlines, Timed } from '../deadlines.js';
import { connectTimeout, failure } from '../failure.js';
import { maxReplyHeaderLines } from '../reply/reply-head.js';
import type { UpstreamFlight, UpstreamHandler, UpstreamRequest } from '../upstream.js';
import { fromUndici } from './undici-failure.js';
import { replyHeaders } from './undici-headers.js';
import { type StreamWatcher, UploadStream } from './upload-stream.js';

type Phase =
  | 'connecting' // the request has no connection yet
  | 'sending' // the request is being written
  | 'awaiting-head'
  | 'awaiting-body' // the head was passed on, but no byte of the body yet
  | 'flowing'
  | 'done'; // end, error or cancel: the handler is not called again

/** Thrown into undici to return a connection of a cancelled request; never reported. */
const notNeeded = new Error('the request was cancelled before it was sent');

/**
 * undici may not be resumed while its (one) parser runs, and a handler can resume another flight from within its own
 * callback. Above 0: such a callback is running.
 */
let insideParser = 0;

/**
 * One request on its way and its reply: undici's handler (the older callbacks, which cost no object and no header map
 * per reply) on one side, UpstreamHandler on the other.
 */
export class UndiciFlight implements UpstreamFlight, Dispatcher.DispatchHandler, Timed, StreamWatcher {
  due = Number.POSITIVE_INFINITY;
  slot = -1;
  readonly upload: UploadStream | null;
  /** Set by the line when it starts this request. */
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
  readonly #onDone: (() => void)[] = [];

  /** Are all connections that it may have in use? */
  #isQueueFull: () => boolean = () => false;

  constructor(request: UpstreamRequest, handler: UpstreamHandler, deadlines: Deadlines, host: string) {
    this.#request = request;
    this.#handler = handler;
    this.#deadlines = deadlines;
    this.#host = host;
    const { body } = request;
    this.upload = body === null || Buffer.isBuffer(body) ? null : new UploadStream(body, this);
    deadlines.watch(this, request.timeouts.connectMs);
  }

  get sent(): boolean {
    return this.#phase !== 'connecting';
  }

  get connectMs(): number {
    return this.#request.timeouts.connectMs;
  }

  /** The body, unless it arrives over time. */
  get bytes(): Buffer | null {
    return this.upload === null ? (this.#request.body as Buffer | null) : null;
  }

  get done(): boolean {
    return this.#phase === 'done';
  }

  /** `listener` is called once, when it ends. */
  whenDone(listener: () => void): void {
    this.#onDone.push(listener);
  }

  waitIn(isFull: () => boolean): void {
    this.#isQueueFull = isFull;
  }

  /** Ends the flight from this side, and closes its connection. */
  fail(error: GatewayError): void {
    if (this.#phase === 'done') return;
    this.#break(error);
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
        error = connectTimeout(this.#host, timeouts.connectMs, this.#isQueueFull() ? 'pool' : 'open');
        break;
      case 'sending':
        error = this.#timeout(
          'upstream_headers_timeout',
          'took nothing of the request',
          timeouts.headersMs,
          'headers',
        );
        break;
      case 'awaiting-head':
        error = this.#timeout(
          'upstream_headers_timeout',
          'did not begin to answer',
          timeouts.headersMs,
          'headers',
        );
        break;
      case 'awaiting-body':
        error = this.#timeout(
          'upstream_first_token_timeout',
          'sent no byte of its answer',
          timeouts.firstTokenMs,
          'first_token',
        );
        break;
      case 'flowing':
        error = this.#timeout('upstream_idle_timeout', 'fell silent in its answer', timeouts.idleMs, 'idle');
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
    // The answer follows after 100, 102 and 103. 101 was not requested.
    if (status < 200 && status !== 101) return true;
    if (status === 101 || raw.length > 2 * maxReplyHeaderLines) {
      this.#break(failure('upstream_invalid_response', this.#host));
      return true;
    }
    const { maxBodyBytes, timeouts, method } = this.#request;
    const { headers, length } = replyHeaders(raw);
    if (maxBodyBytes > 0 && method !== 'HEAD' && length > maxBodyBytes) {
      this.#break(this.#tooLarge());
      return true;
    }
    this.#resume = resume;
    this.#phase = 'awaiting-body';
    this.due = this.#deadlines.after(timeouts.firstTokenMs);
    // Refused during the upload: sending the rest would be useless. undici closes the connection at the end.
    if (status >= 400) this.upload?.halt();
    if (method === 'HEAD' && length !== -1) headers.push('content-length', String(length));
    insideParser += 1;
    try {
      this.#handler.head(status, headers);
    } catch (thrown) {
      this.#break(GatewayError.from(thrown));
    } finally {
      insideParser -= 1;
    }
    return true;
  }

  onData(chunk: Buffer): boolean {
    // A resumed parser reports the rest of a body that ends with the connection even if there is none.
    if (this.#phase === 'done' || chunk.length === 0) return true;
    const { maxBodyBytes, timeouts } = this.#request;
    this.#bodyBytes += chunk.length;
    if (maxBodyBytes > 0 && this.#bodyBytes > maxBodyBytes) {
      this.#break(this.#tooLarge());
      return true;
    }
    this.#phase = 'flowing';
    this.due = this.#deadlines.after(timeouts.idleMs);
    // Set before the call, since the handler may resume before it returns.
    this.#paused = true;
    insideParser += 1;
    let more = true;
    try {
      more = this.#handler.data(chunk);
    } catch (thrown) {
      this.#break(GatewayError.from(thrown));
    } finally {
      insideParser -= 1;
    }
    if (more || !this.#paused) {
      this.#paused = false;
      return true;
    }
    // While the reader is paused, the upstream has no deadline.
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
    this.#handler.error(fromUndici(thrown, this.#host, headSeen));
  }

  #resumeParser(): void {
    if (!this.#paused && this.#phase === 'flowing') this.#resume?.();
  }

  #break(error: GatewayError): void {
    this.#cut();
    this.#finish();
    this.#handler.error(error);
  }

  /** Before `onConnect`, the line may be busy with another request, which must not be cut. */
  #cut(): void {
    if (this.#phase !== 'connecting') this.line?.cut();
  }

  #finish(): void {
    this.#phase = 'done';
    this.#deadlines.unwatch(this);
    this.upload?.halt();
    for (const listener of this.#onDone) listener();
  }

  /** `wait`: of the settings `…_timeout_ms`. */
  #timeout(code: GatewayError['code'], what: string, ms: number, wait: string): GatewayError {
    return new GatewayError(code, `${this.#host} ${what} within ${ms} ms (${wait}_timeout_ms).`);
  }

  #tooLarge(): GatewayError {
    const { maxBodyBytes } = this.#request;
    return new GatewayError(
      'upstream_too_large',
      `${this.#host} answered with more than ${maxBodyBytes} bytes.`,
    );
  }
}
