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
import { type ChargeSums, chargesMark } from './charging.js';

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

/** Rows with charges; they are last in `rest`. */
function packedCharges({ count, contexts, records, rest, restEnds, node }: PackedRows): ChargedRow[] {
  const found: ChargedRow[] = [];
  const shared = JSON.parse(contexts.toString('latin1')) as (string | null)[][];
  for (let row = 0, from = 1; row < count; from = restEnds[row++]! + 1) {
    const end = restEnds[row]!;
    const at = rest.lastIndexOf(chargesMark, end);
    if (at < from) continue;
    const record = row * recordWidth;
    const number = ({ from: slot, width }: RecordSlot): number =>
      numberAt(records, record + slot, width) ?? 0;
    const context = shared[number(contextSlot)] ?? [];
    found.push({
      id: records.toString('latin1', record + idSlot.from, record + idSlot.from + idSlot.width),
      org: String(context[orgIndex]),
      workspace: context[workspaceIndex] ?? null,
      node,
      at: number(atSlot),
      state: 'settled',
      charges: chargesIn(rest, from, at + chargesMark.length - 2, end),
    });
  }
  return found;
}

/** Of a row's `rest`, an object from `from` up to `end`; `at`: where they begin. A field of a stage may have their name. */
function chargesIn(rest: Buffer, from: number, at: number, end: number): unknown {
  try {
    return JSON.parse(rest.toString('latin1', at, end - 1));
  } catch {
    return (JSON.parse(rest.toString('latin1', from, end)) as { readonly charges?: unknown }).charges;
  }
}
