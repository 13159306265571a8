import { LineWriter } from './line-writer.js';

/** The settlements of a chunk of a journal, as they are put into the ledger; only until the next chunk is read. */
export interface Settlements {
  readonly bytes: Buffer;
  /** A JSON array of where the plain ones are in `bytes`, a number each: see `lengthBit`. null: none. */
  readonly plain: Buffer | null;
  /** A JSON array of the arrays of all others, in ASCII or UTF-8; null: none. */
  readonly odd: Buffer | null;
}

/**
 * A plain settlement begins as nearly all do, so that its first fields stand at these distances from its `[`: four
 * ids of 36 characters and a time of 13 digits, with no escapes. Its trace has none either.
 */
export const head = { id: 2, at: 40, org: 55, workspace: 94, key: 133, rest: 171 } as const;
export const idLength = 36;
export const timeLength = 13;

/**
 * Of the number that says where a plain settlement is: the offset of its `[` in the low bits, then the array's length,
 * then how far behind the `[` its trace begins, 0 where that is its id. 53 bits: what a double holds.
 */
export const lengthBit = 24;
export const traceBit = 40;
export const offsetMask = 2 ** lengthBit - 1;
export const lengthMask = 2 ** (traceBit - lengthBit) - 1;
const maxTraceStart = 2 ** (53 - traceBit) - 1;
export const maxTraceLength = 256;

const quote = 0x22;
const comma = 0x2c;
const opening = 0x5b;
const closing = 0x5d;

/** Of the key that rows are sorted by, the part that says which row it is of. */
const maxSorted = 4096;

const nibbles = new Uint8Array(256);
for (let digit = 0; digit < 16; digit++) nibbles[digit.toString(16).charCodeAt(0)] = digit;

/** Collects a chunk's settlements. */
export class SettlementsBuilder {
  #bytes: Buffer = Buffer.alloc(0);
  #noneIsPlain = false;
  #plain: number[] = [];
  readonly #keys = new Float64Array(maxSorted);
  readonly #places = new LineWriter(64 * 1024, Number.POSITIVE_INFINITY);
  #odd = Buffer.alloc(0);
  #oddBytes = 0;

  /** `noneIsPlain`: the database shall parse them all. */
  begin(bytes: Buffer, noneIsPlain: boolean): void {
    this.#bytes = bytes;
    this.#noneIsPlain = noneIsPlain;
    this.#plain = [];
    this.#oddBytes = 0;
  }

  /**
   * The array from its `[` at `from` up to `end`. `trace`: how far behind `from` its own trace begins, 0 where that is
   * its id; -1: it is not known to be plain.
   */
  add(from: number, end: number, trace: number): void {
    const length = end - from;
    const isPlain =
      trace >= 0 &&
      trace <= maxTraceStart &&
      length <= lengthMask &&
      from <= offsetMask &&
      !this.#noneIsPlain &&
      hasPlainHead(this.#bytes, from);
    if (!isPlain) return this.#addOdd(from, end);
    const row = this.#plain.push(from + length * 2 ** lengthBit + trace * 2 ** traceBit) - 1;
    if (row < maxSorted) this.#keys[row] = keyOf(this.#bytes, from + head.id) * maxSorted + row;
  }

  #addOdd(from: number, end: number): void {
    const bytes = this.#bytes;
    // Room for whatever follows in this chunk as well.
    if (this.#odd.length < bytes.length + 2) this.#odd = Buffer.allocUnsafe(bytes.length + 2);
    this.#odd[this.#oddBytes] = this.#oddBytes === 0 ? opening : comma;
    this.#oddBytes += 1 + bytes.copy(this.#odd, this.#oddBytes + 1, from, end);
  }

  end(): Settlements | null {
    const isAnyPlain = this.#plain.length > 0;
    if (!isAnyPlain && this.#oddBytes === 0) return null;
    if (this.#oddBytes > 0) this.#odd[this.#oddBytes++] = closing;
    return {
      bytes: this.#bytes,
      plain: isAnyPlain ? this.#writePlaces() : null,
      odd: this.#oddBytes === 0 ? null : this.#odd.subarray(0, this.#oddBytes),
    };
  }

  /** By time and id, as the indexes are: rows that go to their ends one after the other cost a fifth less. */
  #writePlaces(): Buffer {
    const plain = this.#plain;
    const { length } = plain;
    const isSorted = length <= maxSorted;
    const keys = isSorted ? this.#keys.subarray(0, length).sort() : this.#keys;
    const to = this.#places;
    to.used = 0;
    for (let i = 0; i < length; i++) {
      to.raw(i === 0 ? '[' : ',');
      to.number(plain[isSorted ? keys[i]! % maxSorted : i]!);
    }
    to.raw(']');
    return to.bytes.subarray(0, to.used);
  }
}

/** Do the texts at its head begin and end where those of a plain one do? */
function hasPlainHead(bytes: Buffer, from: number): boolean {
  return (
    bytes[from + head.at - 1] === comma &&
    bytes[from + head.at + timeLength] === comma &&
    isText(bytes, from + head.id) &&
    isText(bytes, from + head.org) &&
    isText(bytes, from + head.workspace) &&
    isText(bytes, from + head.key)
  );
}

const isText = (bytes: Buffer, from: number): boolean =>
  bytes[from - 1] === quote && bytes[from + idLength] === quote;

/** The order of time-ordered UUIDs, in 40 bits: of the milliseconds the lower 24, and 16 that tell apart what shares them. */
function keyOf(bytes: Buffer, id: number): number {
  const time =
    (hex(bytes, id + 6) << 20) |
    (hex(bytes, id + 7) << 16) |
    (hex(bytes, id + 9) << 12) |
    (hex(bytes, id + 10) << 8) |
    (hex(bytes, id + 11) << 4) |
    hex(bytes, id + 12);
  const rest =
    (hex(bytes, id + 15) << 12) |
    (hex(bytes, id + 16) << 8) |
    (hex(bytes, id + 17) << 4) |
    hex(bytes, id + 20);
  return time * 2 ** 16 + rest;
}

const hex = (bytes: Buffer, at: number): number => nibbles[bytes[at]!]!;
