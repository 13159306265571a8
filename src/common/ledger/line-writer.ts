import { wholeCharactersJson } from '../text/whole-characters.js';

/** ASCII characters that need no escape in a JSON string. */
const plain = new Uint8Array(128);
for (let code = 0x20; code < 0x7f; code++) plain[code] = code === 0x22 || code === 0x5c ? 0 : 1;

/** A text this long is handed to the native copy, whose call costs about as much as this many steps of the loop. */
const longText = 128;
/** The same of bytes, whose native copy allocates. */
const longCopy = 256;
/** The largest that V8 keeps as a plain integer on every machine. */
const smallInteger = 0x3fffffff;

// biome-ignore lint/suspicious/noControlCharactersInRegex: everything beyond ASCII, which JSON.stringify leaves as it is.
const beyondAscii = /[^\x00-\x7f]/g;

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A JSON string (or any JSON text) in ASCII. */
export const asciiJson = (value: unknown): string =>
  wholeCharactersJson(value).replace(beyondAscii, escapeUnit);

/** A record would not fit under the writer's ceiling. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom';
}

/**
 * Writes JSON text into a buffer, character by character and with no string in between: a record has some forty
 * fields, and joining their texts first costs three times as much (measured: 3.0 µs against 1.0).
 */
export class LineWriter {
  bytes: Buffer;
  used = 0;

  constructor(
    size: number,
    /** The buffer grows up to this; past it, NoRoom is thrown. */
    readonly maxBytes: number,
  ) {
    this.bytes = Buffer.allocUnsafe(size);
  }

  /** ASCII as it is. */
  raw(text: string): void {
    const { length } = text;
    if (this.used + length > this.bytes.length) this.#grow(length);
    const { bytes, used } = this;
    if (length > longText) bytes.write(text, used, 'latin1');
    else for (let i = 0; i < length; i++) bytes[used + i] = text.charCodeAt(i);
    this.used = used + length;
  }

  /** Bytes of another buffer as they are. */
  copy(bytes: Buffer, from: number, end: number): void {
    if (this.used + end - from > this.bytes.length) this.#grow(end - from);
    const { used } = this;
    if (end - from > longCopy) bytes.copy(this.bytes, used, from, end);
    else for (let i = from, to = used; i < end; i++, to++) this.bytes[to] = bytes[i]!;
    this.used = used + end - from;
  }

  comma(): void {
    if (this.used === this.bytes.length) this.#grow(1);
    this.bytes[this.used++] = 0x2c;
  }

  /** A JSON string, or null. */
  text(text: string | null): void {
    if (text === null) return this.raw('null');
    const { length } = text;
    if (this.used + length + 2 > this.bytes.length) this.#grow(length + 2);
    const { bytes, used } = this;
    bytes[used] = 0x22;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0x7f || plain[code] === 0) return this.raw(asciiJson(text));
      bytes[used + 1 + i] = code;
    }
    bytes[used + 1 + length] = 0x22;
    this.used = used + length + 2;
  }

  /** JSON has no NaN or Infinity, and one of them would spoil the whole batch it is read in. */
  number(value: number | null): void {
    if (value === null || !Number.isFinite(value)) return this.raw('null');
    if (value < 0 || value >= 1e15 || !Number.isInteger(value)) return this.raw(String(value));
    let count = 1;
    for (let power = 10; power <= value; power *= 10) count++;
    if (this.used + count > this.bytes.length) this.#grow(count);
    const { bytes, used } = this;
    let at = used + count - 1;
    let rest = value;
    for (; rest > smallInteger; at--) {
      const next = Math.floor(rest / 10);
      bytes[at] = 0x30 + rest - next * 10;
      rest = next;
    }
    // Divided without a double: most numbers are small, and those that are not have only a few digits more.
    for (let small = rest | 0; at >= used; at--) {
      const next = (small / 10) | 0;
      bytes[at] = 0x30 + small - next * 10;
      small = next;
    }
    this.used = used + count;
  }

  #grow(more: number): void {
    const needed = this.used + more;
    if (needed > this.maxBytes) throw new NoRoom(`More than ${this.maxBytes} bytes wait to be written.`);
    const larger = Buffer.allocUnsafe(Math.min(this.maxBytes, Math.max(needed, this.bytes.length * 2)));
    this.bytes.copy(larger, 0, 0, this.used);
    this.bytes = larger;
  }
}
