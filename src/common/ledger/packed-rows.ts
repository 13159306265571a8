import { contextFields, type RowField, rowFields } from './fields.js';
import type { LedgerRow } from './record.js';
import { type Rest, rowOf } from './rows.js';

/**
 * Settled rows of a batch, laid out so that a database takes their columns without a JSON value for each: what rows have in
 * common once, and what each has for itself in slots of a fixed width. Only until the next batch is read.
 */
export interface PackedRows {
  readonly count: number;
  /** A JSON array with an array for each context, in the order of `contextFields`. */
  readonly contexts: Buffer;
  /** `recordWidth` characters for each row, a slot for each of `slots`. */
  readonly records: Buffer;
  /** A JSON array with the `rest` of each row, an object. */
  readonly rest: Buffer;
  /** Of each row, where its object ends in `rest`; longer than `count`. */
  readonly restEnds: Int32Array;
  /** Id of the node that wrote the journal file. */
  readonly node: string | null;
}

/** A place in a record: text, or a whole number, filled up with spaces. */
export interface RecordSlot {
  /** Null: the number of the row's context. */
  readonly field: RowField | null;
  readonly from: number;
  readonly width: number;
}

/** Digits of a context's number: more than a batch can have rows. */
const contextWidth = 8;

export const contextSlot: RecordSlot = { field: null, from: 0, width: contextWidth };
export const slots: readonly RecordSlot[] = placed(rowFields);
export const recordWidth = rowFields.reduce((sum, { width }) => sum + width, contextWidth);

function placed(fields: readonly RowField[]): RecordSlot[] {
  let from = contextWidth;
  return fields.map((field) => {
    const slot = { field, from, width: field.width };
    from += field.width;
    return slot;
  });
}

/** A number's slot has this where the field is null. No number of a packed row is negative. */
export const packedNull = '-1';

const space = 0x20;
const minus = packedNull.charCodeAt(0);
const zero = 0x30;

/** A number from digits padded with spaces; null: the slot is empty. Creating a string for each would cost more than all else of a row. */
export function numberAt(bytes: Buffer, from: number, width: number): number | null {
  let value = 0;
  for (let at = from; at < from + width; at++) {
    const byte = bytes[at]!;
    if (byte === minus) return null;
    if (byte !== space) value = value * 10 + byte - zero;
  }
  return value;
}

/** The rows themselves: for databases that take rows. */
export function unpack({ count, contexts, records, rest, node }: PackedRows): LedgerRow[] {
  const shared = JSON.parse(contexts.toString('latin1')) as unknown[][];
  const rests = JSON.parse(rest.toString('latin1')) as Rest[];
  return Array.from({ length: count }, (_, row) => {
    const read = ({ from, width }: RecordSlot): string =>
      records.toString('latin1', row * recordWidth + from, row * recordWidth + from + width).trimEnd();
    const context = shared[Number(read(contextSlot))] ?? [];
    const values: Record<string, unknown> = { node_id: node };
    for (const [i, { name }] of contextFields.entries()) values[name] = context[i];
    for (const slot of slots) {
      const text = read(slot);
      const isText = slot.field?.type === 'text';
      values[slot.field?.name ?? ''] = isText ? text || null : text === packedNull ? null : Number(text);
    }
    return rowOf(values, rests[row] ?? {}, 'settled');
  });
}
