import type { Sink, Source } from '../../common/bytes/body.js';
import { Pieces } from '../../common/bytes/pieces.js';
import { GatewayError } from '../../common/core/errors.js';

/** Receives a request body as it arrives. */
export interface BodyReader {
  /** The reader may keep the bytes. false: the limit is exceeded; only `fail` follows. */
  push(bytes: Buffer, last: boolean): boolean;
  /** No more bytes will come, for this reason. */
  fail(error: GatewayError): void;
}

/** The connection that sends a body. */
export interface PausableBody {
  pauseBody(): void;
  resumeBody(): void;
}

const empty = Buffer.alloc(0);

/** The error for a body longer than `limit` bytes. */
export function bodyTooLarge(limit: number): GatewayError {
  return new GatewayError('body_too_large', `The request body is longer than the limit of ${limit} bytes.`);
}

/** The whole body in one piece. Memory grows with the received bytes, not with the announced length. */
export class Collector implements BodyReader {
  #pieces: Pieces | null = null;
  #received = 0;
  readonly #limit: number;
  readonly #done: (error: GatewayError | null, bytes: Buffer) => void;

  constructor(limit: number, done: (error: GatewayError | null, bytes: Buffer) => void) {
    this.#limit = limit;
    this.#done = done;
  }

  push(bytes: Buffer, last: boolean): boolean {
    this.#received += bytes.length;
    if (this.#received > this.#limit) return false;
    if (last && this.#pieces === null) {
      this.#done(null, bytes);
      return true;
    }
    this.#pieces ??= new Pieces();
    this.#pieces.add(bytes);
    if (!last) return true;
    const whole = this.#pieces.bytes();
    this.#pieces = null;
    this.#done(null, whole);
    return true;
  }

  fail(error: GatewayError): void {
    this.#pieces = null;
    // Not for a client that disconnected: the call's `onAbort` has reported that.
    if (error.code !== 'client_gone') this.#done(error, empty);
  }
}

/**
 * The body as it arrives. The connection is not read before `start` nor while the sink is full; the rest of a packet
 * (at most half a megabyte) waits here.
 */
export class Uploader implements BodyReader, Source {
  #sink: Sink | null = null;
  /** The bytes that are being passed to the sink, from `#at` on. */
  #given: Buffer[] = [];
  #at = 0;
  readonly #waiting = new Pieces();
  #received = 0;
  #full = true;
  #last = false;
  #error: GatewayError | null = null;
  #over = false;
  readonly #limit: number;
  readonly #source: PausableBody;

  constructor(limit: number, source: PausableBody) {
    this.#limit = limit;
    this.#source = source;
  }

  start(sink: Sink): void {
    this.#sink = sink;
    this.resume();
  }

  resume(): void {
    if (this.#sink === null || this.#over) return;
    this.#full = false;
    this.#drain();
    if (!this.#full && !this.#over) this.#source.resumeBody();
  }

  cancel(): void {
    this.#over = true;
    this.#drop();
    // Discarded; otherwise the connection would see neither the end of the body nor a disconnect.
    this.#source.resumeBody();
  }

  push(bytes: Buffer, last: boolean): boolean {
    if (this.#over) return true;
    this.#received += bytes.length;
    if (this.#received > this.#limit) return false;
    if (last) this.#last = true;
    this.#waiting.add(bytes);
    this.#drain();
    if (!this.#isDrained()) this.#source.pauseBody();
    return true;
  }

  fail(error: GatewayError): void {
    if (this.#over) return;
    this.#error = error;
    this.#drop();
    this.#full = false;
    this.#drain();
  }

  #isDrained(): boolean {
    return this.#at === this.#given.length && this.#waiting.length === 0;
  }

  #drop(): void {
    this.#given = [];
    this.#at = 0;
    this.#waiting.take();
  }

  #drain(): void {
    const sink = this.#sink;
    if (sink === null) return;
    while (!this.#full && !this.#over) {
      if (this.#at === this.#given.length) {
        if (this.#waiting.length === 0) break;
        this.#given = this.#waiting.take();
        this.#at = 0;
      }
      if (!sink.data(this.#given[this.#at++]!)) {
        this.#full = true;
        this.#source.pauseBody();
      }
    }
    if (this.#over || !this.#isDrained()) return;
    if (this.#error !== null) {
      this.#over = true;
      sink.error(this.#error);
    } else if (this.#last) {
      this.#over = true;
      sink.end();
    }
  }
}
