import type { Sink, Source } from '../core/body.js';
import { GatewayError } from '../core/errors.js';

/** Takes a request body as it comes. */
export interface BodyReader {
  /** The bytes are the reader's to keep. false: the limit is passed, `fail` follows and nothing else. */
  push(bytes: Buffer, last: boolean): boolean;
  /** No more will come, and that is why. */
  fail(error: GatewayError): void;
}

/** The connection a body comes from. */
export interface Faucet {
  pauseBody(): void;
  resumeBody(): void;
}

const empty = Buffer.alloc(0);

/** The error for a body longer than `limit` bytes. */
export function bodyTooLarge(limit: number): GatewayError {
  return new GatewayError('body_too_large', `The request body is longer than the limit of ${limit} bytes.`);
}

/** The whole body in one piece. Memory grows with what has come, not with what the client says will come. */
export class Collector implements BodyReader {
  #chunks: Buffer[] | null = null;
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
    if (last && this.#chunks === null) {
      this.#done(null, bytes);
      return true;
    }
    this.#chunks ??= [];
    if (bytes.length > 0) this.#chunks.push(bytes);
    if (!last) return true;
    const chunks = this.#chunks;
    this.#chunks = null;
    this.#done(null, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, this.#received));
    return true;
  }

  fail(error: GatewayError): void {
    this.#chunks = null;
    // Nobody is told of a client that left: the call's `onAbort` has said it.
    if (error.code !== 'client_gone') this.#done(error, empty);
  }
}

/**
 * The body as it comes. The connection is not read before `start` nor while the sink is full; what one packet held
 * besides (half a megabyte at most) waits here.
 */
export class Uploader implements BodyReader, Source {
  #sink: Sink | null = null;
  #waiting: Buffer[] = [];
  #received = 0;
  #full = true;
  #last = false;
  #error: GatewayError | null = null;
  #over = false;
  readonly #limit: number;
  readonly #faucet: Faucet;

  constructor(limit: number, faucet: Faucet) {
    this.#limit = limit;
    this.#faucet = faucet;
  }

  start(sink: Sink): void {
    this.#sink = sink;
    this.resume();
  }

  resume(): void {
    if (this.#sink === null || this.#over) return;
    this.#full = false;
    this.#drain();
    if (!this.#full && !this.#over) this.#faucet.resumeBody();
  }

  cancel(): void {
    this.#over = true;
    this.#waiting = [];
    // Swallowed, or else the connection would see neither the body's end nor the client's.
    this.#faucet.resumeBody();
  }

  push(bytes: Buffer, last: boolean): boolean {
    if (this.#over) return true;
    this.#received += bytes.length;
    if (this.#received > this.#limit) return false;
    if (last) this.#last = true;
    if (bytes.length > 0) this.#waiting.push(bytes);
    this.#drain();
    if (this.#waiting.length > 0) this.#faucet.pauseBody();
    return true;
  }

  fail(error: GatewayError): void {
    if (this.#over) return;
    this.#error = error;
    this.#waiting = [];
    this.#full = false;
    this.#drain();
  }

  #drain(): void {
    const sink = this.#sink;
    if (sink === null) return;
    while (this.#waiting.length > 0 && !this.#full && !this.#over) {
      if (!sink.data(this.#waiting.shift()!)) {
        this.#full = true;
        this.#faucet.pauseBody();
      }
    }
    if (this.#over || this.#waiting.length > 0) return;
    if (this.#error !== null) {
      this.#over = true;
      sink.error(this.#error);
    } else if (this.#last) {
      this.#over = true;
      sink.end();
    }
  }
}
