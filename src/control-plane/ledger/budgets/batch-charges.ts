import { contextFields } from '../../../common/ledger/fields.js';
import {
  contextSlot,
  numberAt,
  type PackedRows,
  type RecordSlot,
  recordWidth,
  slots,
} from '../../../common/ledger/packed-rows.js';
import type { RowState } from '../../../common/ledger/record.js';
import type { LedgerBatch } from '../ledger.js';
import type { ChargePlace, ChargeSums, SummedCounter } from './charge-sums.js';
import { chargesMark } from './charging.js';

const hourMs = 3_600_000;

/** The charges of a row, as they are in the journal: nothing about them is sure. */
export interface ChargedRow {
  readonly id: string;
  readonly org: string;
  readonly workspace: string | null;
  readonly node: string | null;
  readonly at: number;
  readonly state: RowState;
  readonly charges: unknown;
}

/** The rows of a batch that have charges, read from its bytes. */
export const chargedRows = ({ settled, unknown }: LedgerBatch): ChargedRow[] => [
  ...(settled?.packed ? packedCharges(settled.packed) : []),
  ...(settled?.rows ?? []),
  ...unknown,
];

/** Adds the charges of a row; `sign`: -1 where they are taken back. */
export function addRow(sums: ChargeSums, row: ChargedRow, sign: 1 | -1): void {
  const { org, workspace, node, at, charges } = row;
  if (!Array.isArray(charges)) return;
  const place = { org, workspace, node: node ?? '', hour: Math.floor(at / hourMs) };
  for (const charge of charges) sums.add(place, charge, sign);
}

const slotOf = (name: string): RecordSlot => slots.find(({ field }) => field?.name === name)!;
const idSlot = slotOf('id');
const atSlot = slotOf('at');
const [orgIndex, workspaceIndex] = ['org', 'workspace'].map((wanted) =>
  contextFields.findIndex(({ name }) => name === wanted),
) as [number, number];

/** A row with charges: where its record begins, its `rest`, and in that its charges. */
interface Charged {
  readonly record: number;
  readonly from: number;
  readonly charges: number;
  readonly end: number;
}

/** Rows with charges; they are last in `rest`, but for its steps. */
function* charged({ count, rest, restEnds }: PackedRows): Generator<Charged> {
  for (let row = 0, from = 1; row < count; from = restEnds[row++]! + 1) {
    const end = restEnds[row]!;
    const mark = rest.lastIndexOf(chargesMark, end);
    if (mark >= from) yield { record: row * recordWidth, from, charges: mark + chargesMark.length - 2, end };
  }
}

const numberIn = (records: Buffer, record: number, { from, width }: RecordSlot): number =>
  numberAt(records, record + from, width) ?? 0;

const sharedOf = ({ contexts }: PackedRows): (string | null)[][] => JSON.parse(contexts.toString('latin1'));

function packedCharges(packed: PackedRows): ChargedRow[] {
  const { records, rest, node } = packed;
  const shared = sharedOf(packed);
  return Array.from(charged(packed), ({ record, from, charges, end }) => {
    const context = shared[numberIn(records, record, contextSlot)] ?? [];
    return {
      id: records.toString('latin1', record + idSlot.from, record + idSlot.from + idSlot.width),
      org: String(context[orgIndex]),
      workspace: context[workspaceIndex] ?? null,
      node,
      at: numberIn(records, record, atSlot),
      state: 'settled',
      charges: chargesIn(rest, from, charges, end),
    };
  });
}

/** A charge that a row had: its text up to the amount, and the counter that the text names. */
interface SeenCharge {
  readonly text: Buffer;
  readonly counter: SummedCounter;
  readonly values: readonly unknown[];
}

/**
 * Adds the charges of packed rows. Rows of one context nearly always charge the same budgets: then only the amounts are read,
 * at a fifth of what it costs to parse the charges.
 */
export function addPacked(sums: ChargeSums, packed: PackedRows): void {
  const { records, rest, node } = packed;
  const shared = sharedOf(packed);
  /** By context; null: it had one row so far. */
  const seen = new Map<number, SeenCharge[] | null>();
  for (const { record, from, charges: at, end } of charged(packed)) {
    const number = numberIn(records, record, contextSlot);
    const hour = Math.floor(numberIn(records, record, atSlot) / hourMs);
    const before = seen.get(number);
    if (before && addAmounts(before, rest, at, end, node ?? '', hour)) continue;
    const charges = chargesIn(rest, from, at, end);
    if (!Array.isArray(charges)) continue;
    const context = shared[number] ?? [];
    const place: ChargePlace = {
      ...{ org: String(context[orgIndex]), workspace: context[workspaceIndex] ?? null },
      ...{ node: node ?? '', hour },
    };
    const counters = charges.map((charge) => sums.add(place, charge, 1));
    if (before === undefined) seen.set(number, null);
    else if (before === null) seen.set(number, seenCharges(charges, counters));
  }
}

const amountIndex = 5;

/** Empty: they are not as usual. */
function seenCharges(
  charges: readonly (readonly unknown[])[],
  counters: readonly (SummedCounter | null)[],
): SeenCharge[] {
  if (counters.includes(null) || charges.some(({ length }) => length !== amountIndex + 1)) return [];
  return charges.map((charge, i) => {
    const values = charge.slice(0, amountIndex);
    const text = Buffer.from(`${JSON.stringify(values).slice(0, -1)},`);
    return { text, values, counter: counters[i]! };
  });
}

const [zero, nine, comma, closing] = [0x30, 0x39, 0x2c, 0x5d];
/** Of an amount that a number has exactly. */
const mostDigits = 15;
const amounts: number[] = [];

/** Adds the amounts of a row that has the same charges otherwise. false: it does not, and nothing was added. */
function addAmounts(
  seen: readonly SeenCharge[],
  rest: Buffer,
  charges: number,
  end: number,
  node: string,
  hour: number,
): boolean {
  let at = charges;
  for (let i = 0; i < seen.length; i++) {
    const { text } = seen[i]!;
    const digits = at + 1 + text.length;
    if (digits > end || rest.compare(text, 0, text.length, at + 1, digits) !== 0) return false;
    let amount = 0;
    for (at = digits; rest[at]! >= zero && rest[at]! <= nine; at++) amount = amount * 10 + rest[at]! - zero;
    if (at === digits || at - digits > mostDigits || rest[at] !== closing) return false;
    amounts[i] = amount;
    at++;
    if (rest[at] !== (i < seen.length - 1 ? comma : closing)) return false;
  }
  if (seen.length === 0 || !isTail(rest, at + 1, end)) return false;
  for (const [i, { counter, values }] of seen.entries()) {
    counter.setTerms(values);
    counter.add(node, hour, amounts[i]!);
  }
  return true;
}

const stepsMark = Buffer.from(',"steps":[');
const [dot, minus, brace] = [0x2e, 0x2d, 0x7d];
const isOfNumbers = (byte: number): boolean =>
  (byte >= zero && byte <= nine) || byte === comma || byte === dot || byte === minus;

/** Does the row end at `from`, but for its steps? Then what is before it are its charges, and not those of a stage's field. */
function isTail(rest: Buffer, from: number, end: number): boolean {
  if (from === end - 1) return rest[from] === brace;
  const steps = from + stepsMark.length;
  if (steps >= end || rest.compare(stepsMark, 0, stepsMark.length, from, steps) !== 0) return false;
  let at = steps;
  while (isOfNumbers(rest[at]!)) at++;
  return rest[at] === closing && at === end - 2 && rest[at + 1] === brace;
}

/** Where the charges that begin at `at` end. -1: they are not the row's. */
function endOf(rest: Buffer, at: number, end: number): number {
  const steps = rest.subarray(at, end).indexOf(stepsMark);
  const last = steps < 0 ? end - 1 : at + steps;
  return isTail(rest, last, end) ? last : -1;
}

/** Of a row's `rest`, an object from `from` up to `end`; `at`: where they begin. A field of a stage may have their name. */
function chargesIn(rest: Buffer, from: number, at: number, end: number): unknown {
  const last = endOf(rest, at, end);
  try {
    if (last >= 0) return JSON.parse(rest.toString('latin1', at, last));
  } catch {
    // Those of a stage's field.
  }
  return (JSON.parse(rest.toString('latin1', from, end)) as { readonly charges?: unknown }).charges;
}
