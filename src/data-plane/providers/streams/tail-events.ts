import type { JsonObject } from '../../../common/core/exchange.js';

const lf = 0x0a;
const cr = 0x0d;
const space = 0x20;
const bracket = 0x5b;
const brace = 0x7b;
const dataField = Buffer.from('data:');
const eventField = Buffer.from('event:');

/** One line of data, which begins at `line`. */
export class TailEvent {
  readonly #bytes: Buffer;
  readonly #from: number;
  readonly #to: number;
  #object: JsonObject | null | undefined;

  /** `line` to `to`: the line, without its end. */
  constructor(
    bytes: Buffer,
    readonly line: number,
    to: number,
  ) {
    const from = line + dataField.length;
    this.#bytes = bytes;
    this.#from = from < to && bytes[from] === space ? from + 1 : from;
    this.#to = to;
  }

  /** The value of its `event` field; '' where it has none. */
  get name(): string {
    const lines = new LinesBackwards(this.#bytes, this.line);
    while (lines.next() && !lines.isBlank) {
      if (lines.beginsWith(eventField))
        return this.#bytes.toString('utf8', lines.from + eventField.length, lines.to).trim();
    }
    return '';
  }

  get data(): string {
    return this.#bytes.toString('utf8', this.#from, this.#to);
  }

  /** Is it `[DONE]`, with which some formats end? */
  get isEnd(): boolean {
    return this.#bytes[this.#from] === bracket && this.data.trimEnd() === '[DONE]';
  }

  /** null: it is no JSON object, or is not whole. */
  get object(): JsonObject | null {
    if (this.#object === undefined) this.#object = this.#parse();
    return this.#object;
  }

  #parse(): JsonObject | null {
    if (this.#bytes[this.#from] !== brace) return null;
    try {
      return JSON.parse(this.data) as JsonObject;
    } catch {
      return null;
    }
  }
}

/** Lines, the last one first. They end in LF, CRLF or CR. */
class LinesBackwards {
  /** The line that was found: from here … */
  from: number;
  /** … to here, its end not included. */
  to: number;
  /** The last CR before it; -1, as in most streams: none. */
  #lastCr: number;

  /** Those before `from`, where a line begins, or would begin: one after the last byte. */
  constructor(
    readonly bytes: Buffer,
    from: number,
  ) {
    this.from = from;
    this.to = from;
    this.#lastCr = lastBefore(bytes, cr, from);
  }

  /** false: there are no more. */
  next(): boolean {
    const { bytes, from } = this;
    if (from === 0) return false;
    const to = from - (from > 1 && bytes[from - 1] === lf && bytes[from - 2] === cr ? 2 : 1);
    if (this.#lastCr >= to) this.#lastCr = lastBefore(bytes, cr, to);
    this.to = to;
    this.from = Math.max(lastBefore(bytes, lf, to), this.#lastCr) + 1;
    return true;
  }

  get isBlank(): boolean {
    return this.from === this.to;
  }

  beginsWith(field: Buffer): boolean {
    const { from, bytes } = this;
    const end = from + field.length;
    return end <= this.to && bytes.compare(field, 0, field.length, from, end) === 0;
  }
}

/** From a negative index `lastIndexOf` would count from the end. */
const lastBefore = (bytes: Buffer, byte: number, end: number): number =>
  end === 0 ? -1 : bytes.lastIndexOf(byte, end - 1);

/**
 * The lines of data in the last bytes of a stream, the last one first, each found and decoded when it is asked for. One
 * that lost its start simply will not parse.
 */
export class TailEvents {
  readonly #lines: LinesBackwards;
  readonly #found: TailEvent[] = [];

  constructor(readonly bytes: Buffer) {
    this.#lines = new LinesBackwards(bytes, bytes.length + 1);
  }

  /** 0: the last one; null: there are no more. */
  fromEnd(index: number): TailEvent | null {
    while (this.#found.length <= index) {
      const event = this.#previous();
      if (event === null) return null;
      this.#found.push(event);
    }
    return this.#found[index]!;
  }

  /** The last one but end markers. */
  get last(): TailEvent | null {
    for (let i = 0; ; i++) {
      const event = this.fromEnd(i);
      if (event === null || !event.isEnd) return event;
    }
  }

  #previous(): TailEvent | null {
    const lines = this.#lines;
    while (lines.next()) {
      if (lines.beginsWith(dataField)) return new TailEvent(this.bytes, lines.from, lines.to);
    }
    return null;
  }
}
