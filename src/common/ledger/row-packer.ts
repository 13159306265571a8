import { LineWriter } from './line-writer.js';
import {
  contextSlot,
  type PackedRows,
  packedNull,
  type RecordSlot,
  recordWidth,
  slots,
} from './packed-rows.js';

const quote = 0x22;
const comma = 0x2c;
const brace = 0x7b;
const space = 0x20;
const zero = 0x30;
const nine = 0x39;
/** First letter of `null`. */
const nullLetter = 0x6e;

/** The part of a row's sort key that is the row's index. */
const maxSorted = 8192;
const lineParts = 3;

const nibbles = new Uint8Array(256);
for (let digit = 0; digit < 16; digit++) nibbles[digit.toString(16).charCodeAt(0)] = digit;

/** The slots once more, for the loop over them. */
const slotStarts = Int32Array.from(slots, ({ from }) => from);
const slotEnds = Int32Array.from(slots, ({ from, width }) => from + width);
const nullNever = 0;
const nullNumber = 1;
const nullText = 2;
const slotNulls = Uint8Array.from(slots, ({ field }) =>
  field?.nullable !== true ? nullNever : field.type === 'text' ? nullText : nullNumber,
);

/** Packs the settlements of a chunk of a journal, without parsing them. */
export class RowPacker {
  #bytes: Buffer = Buffer.alloc(0);
  #node: string | null = null;
  /** Of each line: where its array begins, where the row's own fields do, and where it ends. */
  #lines = new Int32Array(lineParts * maxSorted);
  #count = 0;
  readonly #keys = new Float64Array(maxSorted);
  readonly #contexts = new Map<number, KnownContext[]>();
  #contextCount = 0;
  #lastContext: KnownContext | null = null;
  readonly #contextTexts = writer();
  readonly #rest = writer();
  #records = Buffer.alloc(0);
  #restEnds = new Int32Array(0);

  /** `node`: id of the node that wrote these bytes. */
  begin(bytes: Buffer, node: string | null): void {
    this.#bytes = bytes;
    this.#node = node;
    this.#count = 0;
  }

  /** The array from its `[` at `from` up to `end`; the row's own fields begin at `row`. */
  add(from: number, row: number, end: number): void {
    const line = this.#count++;
    if (line * lineParts === this.#lines.length) this.#grow();
    this.#lines[line * lineParts] = from;
    this.#lines[line * lineParts + 1] = row;
    this.#lines[line * lineParts + 2] = end;
    if (line < maxSorted) this.#keys[line] = keyOf(this.#bytes, row + 1) * maxSorted + line;
  }

  #grow(): void {
    const lines = new Int32Array(this.#lines.length * 2);
    lines.set(this.#lines);
    this.#lines = lines;
  }

  /**
   * null: none. By time and id, as the indexes are: rows that go to their ends one after the other cost a fifth less.
   * `odd` gets what does not fit into slots after all.
   */
  end(odd: (from: number, end: number) => void): PackedRows | null {
    const count = this.#count;
    if (count === 0) return null;
    if (this.#records.length < count * recordWidth)
      this.#records = Buffer.allocUnsafe(2 * count * recordWidth);
    this.#records.fill(space, 0, count * recordWidth);
    if (this.#restEnds.length < count) this.#restEnds = new Int32Array(2 * count);
    this.#contexts.clear();
    this.#contextCount = 0;
    this.#lastContext = null;
    this.#contextTexts.used = 0;
    this.#rest.used = 0;
    const isSorted = count <= maxSorted;
    const keys = isSorted ? this.#keys.subarray(0, count).sort() : this.#keys;
    let packed = 0;
    for (let i = 0; i < count; i++) {
      const line = (isSorted ? keys[i]! % maxSorted : i) * lineParts;
      const [from, row, end] = [this.#lines[line]!, this.#lines[line + 1]!, this.#lines[line + 2]!];
      if (this.#pack(packed, from, row, end)) packed++;
      else odd(from, end);
    }
    if (packed === 0) return null;
    this.#contextTexts.raw(']');
    this.#rest.raw(']');
    return {
      count: packed,
      contexts: this.#contextTexts.bytes.subarray(0, this.#contextTexts.used),
      records: this.#records.subarray(0, packed * recordWidth),
      rest: this.#rest.bytes.subarray(0, this.#rest.used),
      restEnds: this.#restEnds,
      node: this.#node,
    };
  }

  #pack(index: number, from: number, row: number, end: number): boolean {
    const record = index * recordWidth;
    const rest = this.#packSlots(record, row, end);
    if (rest < 0) {
      this.#records.fill(space, record, record + recordWidth);
      return false;
    }
    this.#writeNumber(record, contextSlot, this.#contextNumber(from + 1, row - 1));
    this.#rest.raw(index === 0 ? '[' : ',');
    this.#rest.copy(this.#bytes, rest, end - 1);
    this.#restEnds[index] = this.#rest.used;
    return true;
  }

  /** Where the `rest` begins; -1: some value does not fit its slot. */
  #packSlots(record: number, row: number, end: number): number {
    const bytes = this.#bytes;
    const records = this.#records;
    let at = row;
    for (let i = 0; i < slotNulls.length; i++) {
      let to = record + slotStarts[i]!;
      const limit = record + slotEnds[i]!;
      if (bytes[at] === nullLetter) {
        at += 4;
        if (slotNulls[i] === nullNever) return -1;
        if (slotNulls[i] === nullNumber) {
          records[to] = packedNull.charCodeAt(0);
          records[to + 1] = packedNull.charCodeAt(1);
        }
      } else if (bytes[at] === quote) {
        for (at++; bytes[at] !== quote; at++) {
          if (to === limit) return -1;
          records[to++] = bytes[at]!;
        }
        at++;
      } else {
        for (let byte = bytes[at]!; byte >= zero && byte <= nine; byte = bytes[++at]!) {
          if (to === limit) return -1;
          records[to++] = byte;
        }
      }
      if (bytes[at++] !== comma || at >= end) return -1;
    }
    return bytes[at] === brace ? at : -1;
  }

  /** Digits from the right: spaces before a number are none of it. */
  #writeNumber(record: number, slot: RecordSlot, value: number): void {
    let at = record + slot.from + slot.width;
    let rest = value;
    do {
      const next = (rest / 10) | 0;
      this.#records[--at] = zero + rest - next * 10;
      rest = next;
    } while (rest > 0);
  }

  #contextNumber(from: number, end: number): number {
    const bytes = this.#bytes;
    const last = this.#lastContext;
    if (last !== null && isSame(bytes, last, from, end)) return last.number;
    const hash = sampleHash(bytes, from, end);
    let bucket = this.#contexts.get(hash);
    if (bucket === undefined) {
      bucket = [];
      this.#contexts.set(hash, bucket);
    }
    for (const known of bucket) {
      if (!isSame(bytes, known, from, end)) continue;
      this.#lastContext = known;
      return known.number;
    }
    const number = this.#contextCount++;
    this.#lastContext = { number, from, end };
    bucket.push(this.#lastContext);
    this.#contextTexts.raw(number === 0 ? '[' : ',');
    this.#contextTexts.copy(bytes, from, end);
    return number;
  }
}

/** A context of this chunk, by where it was met first. */
interface KnownContext {
  readonly number: number;
  readonly from: number;
  readonly end: number;
}

/** Bytes of a context that its hash is made of. Hashing all of them costs more than comparing two contexts. */
const sampledBytes = 32;

function sampleHash(bytes: Buffer, from: number, end: number): number {
  const length = end - from;
  const step = length / sampledBytes;
  let hash = length;
  for (let at = from; at < end; at += step) hash = (Math.imul(hash, 31) + bytes[at | 0]!) | 0;
  return hash;
}

const isSame = (bytes: Buffer, known: KnownContext, from: number, end: number): boolean =>
  known.end - known.from === end - from && bytes.compare(bytes, known.from, known.end, from, end) === 0;

const writer = (): LineWriter => new LineWriter(64 * 1024, Number.POSITIVE_INFINITY);

/** The order of time-ordered UUIDs, in 40 bits: the lower 24 of the milliseconds, then 16 bits that distinguish ids of one millisecond. */
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
