import { type Flushable, flushAfterRead } from '../../common/bytes/read-turn.js';
import type { GatewayError } from '../../common/core/errors.js';
import type { ReplySink } from './transport.js';

/** Large chunks are written in pieces, so that the progress of a slow client is visible. */
const pieceBytes = 64 * 1024;
/** Bytes that may wait in one turn before the source is paused. */
const highWater = 256 * 1024;

/** The write functions of a connection that a reply uses. */
export interface Wire {
  /** Runs `flush` so that its writes are sent together. */
  together(flush: (reply: QueuedReply) => void, reply: QueuedReply): void;
  /** Writes the head first, if it was not sent yet. false: accepts no more until `QueuedReply.writable()` is called. */
  write(piece: Buffer | string): boolean;
  /** Ends the body cleanly. */
  finish(): void;
  /** Breaks the connection. `notified`: the handler was already notified. */
  cut(notified: boolean): void;
}

function write(reply: QueuedReply): void {
  reply.writeQueue();
}

/**
 * The body of a started answer: bytes of one turn of the event loop are sent together, the source is paused
 * while the client does not read, and a client that does not read for too long is cut.
 */
export class QueuedReply implements ReplySink, Flushable {
  /** What is to be written next, before the queue: most often it is all there is. */
  #next: Buffer | string | null = null;
  #queue: (Buffer | string)[] = [];
  #queued = 0;
  #blocked = false;
  #owesResume = false;
  #ending = false;
  #over = false;
  #scheduled = false;
  #timer: NodeJS.Timeout | null = null;
  readonly #wire: Wire;
  readonly #writeTimeoutMs: number;
  readonly #resume: () => void;

  constructor(wire: Wire, writeTimeoutMs: number, resume: () => void) {
    this.#wire = wire;
    this.#writeTimeoutMs = writeTimeoutMs;
    this.#resume = resume;
  }

  data(chunk: Buffer | string): boolean {
    if (this.#over || this.#ending) return true;
    if (chunk.length > pieceBytes) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        this.#queue.push(bytes.subarray(at, at + pieceBytes));
      }
      this.#queued += bytes.length;
    } else if (chunk.length > 0) {
      if (this.#queued === 0) this.#next = chunk;
      else this.#queue.push(chunk);
      this.#queued += chunk.length;
    }
    if (!this.#blocked) this.#schedule();
    if (!this.#blocked && this.#queued < highWater) return true;
    this.#owesResume = true;
    return false;
  }

  end(): void {
    if (this.#over || this.#ending) return;
    this.#ending = true;
    if (!this.#blocked) this.#schedule();
  }

  error(_error: GatewayError): void {
    if (this.#over) return;
    // Data from before the break is still sent; the missing end shows the client that it is incomplete.
    if (!this.#blocked) this.#wire.together(write, this);
    if (this.#over) return;
    this.stop();
    this.#wire.cut(true);
  }

  /** The connection accepts bytes again. */
  writable(): void {
    if (this.#over) return;
    this.#blocked = false;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.flush();
  }

  flush(): void {
    this.#scheduled = false;
    if (this.#over || this.#blocked) return;
    this.#wire.together(write, this);
    if (this.#over || this.#blocked || this.#ending || !this.#owesResume) return;
    this.#owesResume = false;
    this.#resume();
  }

  writeQueue(): void {
    const wire = this.#wire;
    const next = this.#next;
    if (next !== null && !this.#blocked && !this.#over) {
      this.#next = null;
      this.#queued -= next.length;
      if (!wire.write(next)) this.#block();
    }
    if (this.#queue.length > 0) this.#writeRest(wire, this.#queue);
    if (this.#ending && !this.#blocked && !this.#over) {
      this.stop();
      wire.finish();
    }
  }

  #writeRest(wire: Wire, queue: (Buffer | string)[]): void {
    let taken = 0;
    while (taken < queue.length && !this.#blocked && !this.#over) {
      const piece = queue[taken++]!;
      this.#queued -= piece.length;
      if (!wire.write(piece)) this.#block();
    }
    if (taken === queue.length) this.#queue = [];
    else if (taken > 0) queue.splice(0, taken);
  }

  /** Nothing is written after this. */
  stop(): void {
    this.#over = true;
    this.#next = null;
    if (this.#queue.length > 0) this.#queue = [];
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    flushAfterRead(this);
  }

  #block(): void {
    this.#blocked = true;
    this.#timer = setTimeout(() => {
      this.stop();
      this.#wire.cut(false);
    }, this.#writeTimeoutMs);
  }
}

/** The sink of a call whose client has already disconnected: ignores everything. */
export const deadReply: ReplySink = {
  data: () => true,
  end() {},
  error() {},
};
