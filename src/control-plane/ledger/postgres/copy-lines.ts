import { columnFields, contextFields, type LedgerField } from '../../../common/ledger/fields.js';
import {
  contextSlot,
  type PackedRows,
  packedNull,
  recordWidth,
  slots,
} from '../../../common/ledger/packed-rows.js';
import type { LedgerRow } from '../../../common/ledger/record.js';
import { restOf, storedValue } from '../../../common/ledger/rows.js';
import { wholeCharactersJson } from '../../../common/text/whole-characters.js';
import { dayOf, timeWithin } from './schema.js';

/**
 * Rows as lines of COPY: values between tabs, in the order of `givenColumns`. Packed rows go from the journal's bytes to
 * these without a string for each value (measured: 0.3 µs a row, against 14 where each becomes an object first).
 */

const tab = 0x09;
const newline = 0x0a;
const backslash = 0x5c;
const space = 0x20;
const zero = 0x30;
const minus = packedNull.charCodeAt(0);
const nothing = '\\N';
const settledAndTab = '0\t';

const starts = Int32Array.from(slots, ({ from }) => from);
const ends = Int32Array.from(slots, ({ from, width }) => from + width);
/** A number's slot has a sign only where the field is null; a text's none where it is. */
const isText = Uint8Array.from(slots, ({ field }) => (field?.type === 'text' ? 1 : 0));
const atSlot = slots.find(({ field }) => field?.name === 'at')!;

const escapes: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '\0': '\ufffd',
};
// biome-ignore lint/suspicious/noControlCharactersInRegex: those that COPY gives a meaning to, and the one no text may have.
const special = /[\\\t\n\r\x00]/g;
/** A NUL becomes the sign for what is no character: PostgreSQL keeps none. */
const escaped = (text: string): string => text.replace(special, (character) => escapes[character] ?? '');

const largest = Number.MAX_SAFE_INTEGER;

function integerText(value: unknown): string {
  const number = Number(value);
  if (!Number.isFinite(number)) return nothing;
  return String(Math.max(-largest, Math.min(largest, Math.round(number))));
}

/** A stored value between its tabs. */
function valueText({ name, type }: LedgerField, value: unknown): string {
  if (value === null || value === undefined) return nothing;
  if (name === 'at') return String(timeWithin(value as number));
  if (type === 'json') return escaped(wholeCharactersJson(value));
  if (type === 'text') return escaped(typeof value === 'string' ? value : wholeCharactersJson(value));
  return type === 'boolean' ? (value === 1 ? '1' : '0') : integerText(value);
}

/** Of one row, as its line has it; `n`: its place in the transaction. */
function lineOf(row: LedgerRow, n: number): string {
  const values = columnFields.map((field) => valueText(field, storedValue(field, row)));
  return `${n}\t${row.state === 'settled' ? 0 : 1}\t${values.join('\t')}\t${escaped(wholeCharactersJson(restOf(row)))}\n`;
}

/** Lines of any rows; the first has the number `from`. */
export function linesOf(rows: readonly LedgerRow[], from: number): Buffer {
  return Buffer.from(rows.map((row, i) => lineOf(row, from + i)).join(''));
}

/** Days of the rows of a batch. */
export function daysOf(packed: PackedRows | null, rows: readonly LedgerRow[]): Set<number> {
  const days = new Set<number>();
  if (packed !== null) {
    const { records, count } = packed;
    for (let row = 0; row < count; row++) {
      const from = row * recordWidth + atSlot.from;
      days.add(dayOf(numberAt(records, from, from + atSlot.width)));
    }
  }
  for (const { at } of rows) days.add(dayOf(at));
  return days;
}

/** Digits up to the end, or to the first other character. */
function numberAt(bytes: Buffer, from: number, end: number): number {
  let value = 0;
  for (let at = from; at < end && bytes[at] !== space; at++) value = value * 10 + bytes[at]! - zero;
  return value;
}

/** Packed rows as lines, which last until the next ones are made. */
export class PackedLines {
  #bytes: Buffer = Buffer.allocUnsafe(1024 * 1024);
  #used = 0;

  /** The first row has the number `from`. */
  of({ count, contexts, records, rest, restEnds, node }: PackedRows, from: number): Buffer {
    const shared = (JSON.parse(contexts.toString('latin1')) as unknown[][]).map((values) =>
      contextText(values, node),
    );
    const longest = shared.reduce((most, { length }) => Math.max(most, length), 0);
    this.#used = 0;
    let restAt = 1;
    let nextBackslash = rest.indexOf(backslash);
    for (let row = 0; row < count; row++) {
      const record = row * recordWidth;
      const restEnd = restEnds[row]!;
      // At most: every byte of `rest` twice, a tab after each slot, and the numbers.
      this.#reserve(recordWidth + slots.length + longest + 2 * (restEnd - restAt) + 32);
      this.#ascii(`${from + row}\t`);
      this.#ascii(settledAndTab);
      this.#slots(records, record);
      const context = shared[contextNumber(records, record)]!;
      context.copy(this.#bytes, this.#used);
      this.#used += context.length;
      nextBackslash = this.#rest(rest, restAt, restEnd, nextBackslash);
      this.#bytes[this.#used++] = newline;
      restAt = restEnd + 1;
    }
    return this.#bytes.subarray(0, this.#used);
  }

  #slots(records: Buffer, record: number): void {
    const bytes = this.#bytes;
    let to = this.#used;
    for (let slot = 0; slot < starts.length; slot++) {
      const end = record + ends[slot]!;
      let at = record + starts[slot]!;
      const first = records[at]!;
      if (isText[slot] === 1 ? first === space : first === minus) {
        bytes[to++] = backslash;
        bytes[to++] = 0x4e;
      } else if (isText[slot] === 1) {
        let last = end;
        while (records[last - 1] === space) last--;
        while (at < last) bytes[to++] = records[at++]!;
      } else {
        while (at < end && records[at] !== space) bytes[to++] = records[at++]!;
      }
      bytes[to++] = tab;
    }
    this.#used = to;
  }

  /** Doubles its backslashes; returns where the next one after it is. */
  #rest(rest: Buffer, from: number, end: number, backslashAt: number): number {
    let at = from;
    let next = backslashAt;
    while (next >= 0 && next < end) {
      rest.copy(this.#bytes, this.#used, at, next + 1);
      this.#used += next + 1 - at;
      this.#bytes[this.#used++] = backslash;
      at = next + 1;
      next = rest.indexOf(backslash, at);
    }
    rest.copy(this.#bytes, this.#used, at, end);
    this.#used += end - at;
    return next;
  }

  #ascii(text: string): void {
    const { length } = text;
    for (let i = 0; i < length; i++) this.#bytes[this.#used + i] = text.charCodeAt(i);
    this.#used += length;
  }

  #reserve(more: number): void {
    if (this.#used + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#used + more));
    this.#bytes.copy(larger, 0, 0, this.#used);
    this.#bytes = larger;
  }
}

/** What a context and the file's node are in a line, with the tabs between and after them. */
function contextText(values: readonly unknown[], node: string | null): Buffer {
  const texts = contextFields.map((field, i) => valueText(field, values[i]));
  return Buffer.from(`${texts.join('\t')}\t${node === null ? nothing : escaped(node)}\t`);
}

function contextNumber(records: Buffer, record: number): number {
  const end = record + contextSlot.from + contextSlot.width;
  let at = record + contextSlot.from;
  while (records[at] === space) at++;
  return numberAt(records, at, end);
}
