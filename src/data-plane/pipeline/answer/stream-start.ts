import { Pieces } from '../../../common/bytes/pieces.js';
import { type ReportedError, reportedError } from '../../providers/formats/reported-error.js';
import type { EventReader, Framing } from '../../providers/streams/framing.js';
import type { Outgoing } from '../outgoing/outgoing.js';
import { invalidAnswer } from './answer-body.js';

/** Bytes. A longer first event is no error. */
const longestError = 16 * 1024;
/** Milliseconds for which comments and pings are held back: proxies in between may close a silent connection. */
const longestHold = 10_000;

/** Bytes that are enough to decide whether they are events. */
const enoughToDecide = 4 * 1024;

/** The start of a stream that its client has not seen yet. */
export interface Begun {
  readonly bytes: Buffer;
  /** The first event, if it reports an error: then no client needs to see the stream. */
  readonly error: ReportedError | null;
}

/**
 * Holds the bytes of a stream back until its first event is whole, which no client could use before. Comments and
 * pings, by which providers keep a connection open, do not count as events.
 */
export class StreamStart {
  readonly #pieces = new Pieces();
  readonly #since = performance.now();
  readonly #reader: EventReader;
  /** Bytes that were read. */
  #readBytes = 0;
  /** Is it known that these are events? Nothing is read before. */
  #isValid = false;
  #hasEvent = false;
  #error: ReportedError | null = null;
  #timer: NodeJS.Timeout | null = null;

  /** `onHeldLong`: called where the stream begins although nothing arrives, because its bytes were held long enough. */
  constructor(
    readonly framing: Framing,
    readonly outgoing: Outgoing,
    readonly onHeldLong: (begun: Begun) => void,
  ) {
    this.#reader = framing.reader((name, data) => {
      if (name === 'ping' || this.#hasEvent) return;
      this.#hasEvent = true;
      this.#error = reportedError(name, data);
    });
  }

  /** null: the first event is still to come. Throws for a damaged event, and for what is no such stream. */
  push(chunk: Buffer): Begun | null {
    this.#pieces.add(chunk);
    if (this.#isValid) {
      this.#read(chunk);
    } else {
      if (this.#pieces.length < enoughToDecide && isBlank(chunk)) return null;
      const bytes = this.#pieces.bytes();
      const valid = this.framing.looksValid(bytes);
      if (valid === false) throw invalidAnswer(this.outgoing, 'a body that is not a stream of events');
      if (valid === null) return null;
      this.#isValid = true;
      this.#read(bytes);
    }
    if (this.#hasEvent || this.#pieces.length >= longestError) return this.#begun();
    if (this.#timer !== null) return null;
    const leftMs = longestHold - (performance.now() - this.#since);
    if (leftMs <= 0) return this.#begun();
    this.#timer = setTimeout(() => this.onHeldLong(this.#begun()), Math.ceil(leftMs)).unref();
    return null;
  }

  /** The stream has ended. Throws if it had no event. */
  end(): Begun {
    if (!this.#isValid) this.#read(this.#pieces.bytes());
    this.#reader.end();
    if (!this.#hasEvent) throw invalidAnswer(this.outgoing, 'a stream that ended before its first event');
    return this.#begun();
  }

  /** Its bytes are not needed any more. */
  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #read(bytes: Buffer): void {
    const room = longestError - this.#readBytes;
    this.#readBytes += bytes.length;
    this.#reader.push(bytes.length > room ? bytes.subarray(0, room) : bytes);
  }

  #begun(): Begun {
    this.stop();
    return { bytes: this.#pieces.bytes(), error: this.#error };
  }
}

/** Line ends alone decide nothing, however many come. */
function isBlank(chunk: Buffer): boolean {
  for (let i = 0; i < chunk.length; i++) if (chunk[i] !== 0x0a && chunk[i] !== 0x0d) return false;
  return true;
}
