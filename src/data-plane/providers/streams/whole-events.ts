import { maxEventBytes, tooLong } from './sse.js';

const lf = 0x0a;
const cr = 0x0d;
const none = Buffer.alloc(0);

/**
 * Holds the unfinished event at the end of a chunk of server-sent events back until the rest of it comes, so that a
 * stream that breaks inside an event ends with the last whole one. A chunk that ends with a blank line, as most do,
 * passes as it is; only what is held back is copied.
 */
export class WholeEvents {
  /** The start of the unfinished event; only the first `#length` bytes count. */
  #held: Buffer = none;
  #length = 0;
  /** An event that was too long to hold passes as it comes, until a chunk ends with a blank line. */
  #passing = false;

  /** `tooLong`: does an event of more than 1 MiB end the stream, or pass as it comes? */
  constructor(readonly tooLong: 'throw' | 'pass') {}

  /** The bytes up to the end of the last whole event; null: there is none. Throws `upstream_stream_error`. */
  push(chunk: Buffer): Buffer | null {
    if (this.#length === 0 && chunk.length <= maxEventBytes && endsEvent(chunk)) {
      this.#passing = false;
      return chunk;
    }
    return this.#passing ? chunk : this.#cut(chunk);
  }

  /** The start of an event whose end has not come, and which is then no longer held; null: there is none. */
  rest(): Buffer | null {
    if (this.#length === 0) return null;
    const bytes = Buffer.from(this.#held.subarray(0, this.#length));
    this.#length = 0;
    return bytes;
  }

  #cut(chunk: Buffer): Buffer | null {
    if (this.#length + chunk.length > maxEventBytes && this.#hasLongEvent(chunk)) {
      if (this.tooLong === 'throw') throw tooLong();
      const held = this.rest();
      this.#passing = !endsEvent(chunk);
      return held === null ? chunk : Buffer.concat([held, chunk]);
    }
    const end = this.#lastEnd(chunk);
    if (end === 0) {
      this.#hold(chunk);
      return null;
    }
    const whole = end === chunk.length ? chunk : chunk.subarray(0, end);
    const out = this.#length === 0 ? whole : Buffer.concat([this.#held.subarray(0, this.#length), whole]);
    this.#length = 0;
    // One long event should not hold its memory for the rest of the stream.
    if (this.#held.length > 64 * 1024) this.#held = none;
    if (end < chunk.length) this.#hold(chunk.subarray(end));
    return out;
  }

  #hold(bytes: Buffer): void {
    const length = this.#length + bytes.length;
    if (length > this.#held.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(maxEventBytes, Math.max(512, length * 2)));
      this.#held.copy(larger, 0, 0, this.#length);
      this.#held = larger;
    }
    bytes.copy(this.#held, this.#length);
    this.#length = length;
  }

  /** The index after the last blank line; 0: there is none. */
  #lastEnd(chunk: Buffer): number {
    const at = this.#lastEndBy(chunk, lf, -1);
    return this.#lastEndBy(chunk, cr, at) + 1;
  }

  /** Where the last blank line ends with this byte; `after`: none follows it. */
  #lastEndBy(chunk: Buffer, byte: number, after: number): number {
    let at = chunk.lastIndexOf(byte);
    // From a negative index `lastIndexOf` would count from the end.
    while (at > after && !this.#endsAt(chunk, at)) at = at === 0 ? -1 : chunk.lastIndexOf(byte, at - 1);
    return Math.max(at, after);
  }

  #hasLongEvent(chunk: Buffer): boolean {
    let start = -this.#length;
    for (let at = 0; at < chunk.length; at++) {
      if (at + 1 - start > maxEventBytes) return true;
      if (this.#endsAt(chunk, at)) start = at + 1;
    }
    return false;
  }

  /** Is the byte at `at` the last of a blank line, which may have begun in what is held? */
  #endsAt(chunk: Buffer, at: number): boolean {
    const last = chunk[at]!;
    if (last !== lf && last !== cr) return false;
    return isBlankLine(last, this.#before(chunk, at - 1), this.#before(chunk, at - 2));
  }

  #before(chunk: Buffer, at: number): number | undefined {
    if (at >= 0) return chunk[at];
    return this.#length + at < 0 ? undefined : this.#held[this.#length + at];
  }
}

function endsEvent(chunk: Buffer): boolean {
  const { length } = chunk;
  const last = chunk[length - 1];
  return (last === lf || last === cr) && isBlankLine(last, chunk[length - 2], chunk[length - 3]);
}

/** By the last three bytes, the last first: a line end, and before it another one. */
function isBlankLine(last: number, second: number | undefined, third: number | undefined): boolean {
  if (second === lf) return true;
  if (second !== cr) return false;
  return last === cr || third === lf || third === cr;
}
