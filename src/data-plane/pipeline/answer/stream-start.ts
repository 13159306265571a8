import { Pieces } from '../../../common/bytes/pieces.js';
import { type ReportedError, reportedError } from '../../providers/formats/reported-error.js';
import type { Framing } from '../../providers/streams/framing.js';
import type { Outgoing } from '../outgoing/outgoing.js';
import { invalidAnswer } from './answer-body.js';

/** Bytes. A longer first event is no error. */
const longestError = 16 * 1024;
/** Milliseconds for which comments and pings are held back: proxies in between may close a silent connection. */
const longestHold = 10_000;

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

  constructor(
    readonly framing: Framing,
    readonly outgoing: Outgoing,
  ) {}

  /** null: the first event is still to come. Throws for a damaged event, and for what is no such stream. */
  push(chunk: Buffer): Begun | null {
    this.#pieces.add(chunk);
    const bytes = this.#pieces.bytes();
    const valid = this.framing.looksValid(bytes);
    if (valid === false) throw invalidAnswer(this.outgoing, 'a body that is not a stream of events');
    if (valid === null) return null;
    const begun = this.#begun(bytes, false);
    if (begun !== null) return begun;
    const isLong = bytes.length >= longestError || performance.now() - this.#since > longestHold;
    return isLong ? { bytes, error: null } : null;
  }

  /** The stream has ended. Throws if it had no event. */
  end(): Begun {
    const begun = this.#begun(this.#pieces.bytes(), true);
    if (begun === null) throw invalidAnswer(this.outgoing, 'a stream that ended before its first event');
    return begun;
  }

  #begun(bytes: Buffer, isAll: boolean): Begun | null {
    let begun: Begun | null = null;
    const reader = this.framing.reader((name, data) => {
      if (name !== 'ping') begun ??= { bytes, error: reportedError(name, data) };
    });
    reader.push(bytes.length > longestError ? bytes.subarray(0, longestError) : bytes);
    if (isAll) reader.end();
    return begun;
  }
}
