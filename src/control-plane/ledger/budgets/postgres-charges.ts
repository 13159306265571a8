import type { Client } from 'pg';
import type { ChargedBudget } from '../../../common/ledger/budgets.js';
import { contextFields } from '../../../common/ledger/fields.js';
import {
  contextSlot,
  type PackedRows,
  type RecordSlot,
  recordWidth,
  slots,
} from '../../../common/ledger/packed-rows.js';
import type { RowState } from '../../../common/ledger/record.js';
import type { LedgerBatch } from '../ledger.js';
import { within } from '../postgres/connections.js';
import { type ChargeSum, charge, chargeStatements, chargesMark } from './charging.js';
import { numbered, postgresLanguage, type Step } from './language.js';

/**
 * In PostgreSQL charges are read from the batch, not from its rows: its functions for JSON refuse a NUL and half a character
 * anywhere in the document, and a client may send them.
 */

const statements = chargeStatements(postgresLanguage);
const hourMs = 3_600_000;

/** The charges of a row, as they are in the journal: nothing about them is sure. */
interface ChargedRow {
  readonly id: string;
  readonly org: string;
  readonly workspace: string | null;
  readonly node: string | null;
  readonly at: number;
  readonly state: RowState;
  readonly charges: unknown;
}

/** A step on the connection that writes. */
export const stepOf =
  (client: Client): Step =>
  async <Row>(statement: string, parameters: readonly unknown[]) => {
    const { rows } = await within(client, client.query(numbered(statement), [...parameters]));
    return rows as Row[];
  };

/** Unknown rows whose places settlements are about to take. `stage`: the settlements. */
export async function replacedRows(
  client: Client,
  stage: string,
  from: number,
  to: number,
): Promise<readonly ChargedRow[]> {
  const rows = await stepOf(client)<Omit<ChargedRow, 'charges'> & { rest: string }>(
    `SELECT id, org, workspace, node_id AS node, at, 'unknown' AS state, rest::text AS rest FROM exchanges AS present
      WHERE at >= ${from} AND at < ${to} AND state = 1 AND EXISTS (SELECT 1 FROM ${stage} AS arrived
        WHERE arrived.id = present.id AND arrived.at = present.at AND arrived.state = 0)
      ORDER BY id FOR UPDATE`,
    [],
  );
  return rows.map((row) => ({ ...row, charges: JSON.parse(row.rest).charges }));
}

/**
 * Adds the charges of a batch's rows, and takes back those of `replaced`. Last in the transaction of the batch. `stagedTimes`: the
 * times of its rows, where some may have been there already; null: it has put in all of them.
 */
export async function chargeBatch(
  client: Client,
  { settled, unknown }: LedgerBatch,
  replaced: readonly ChargedRow[],
  stagedTimes: readonly [from: number, to: number] | null,
): Promise<readonly ChargedBudget[]> {
  const step = stepOf(client);
  let rows: ChargedRow[] = [
    ...(settled?.packed ? packedCharges(settled.packed) : []),
    ...(settled?.rows ?? []),
    ...unknown,
  ];
  if (stagedTimes !== null) rows = await newOf(step, rows, ...stagedTimes);
  const sums: ChargeSum[] = [];
  for (const row of replaced) addSums(sums, row, -1);
  for (const row of rows) addSums(sums, row, 1);
  return charge(postgresLanguage, statements, step, sums, Date.now());
}

/** The rows that this transaction has put in; of those with one id that which counts. */
async function newOf(
  step: Step,
  rows: readonly ChargedRow[],
  from: number,
  to: number,
): Promise<ChargedRow[]> {
  const found = await step<{ id: string }>(
    `SELECT id FROM exchanges WHERE tx = pg_current_xact_id() AND at >= ${from} AND at < ${to}`,
    [],
  );
  const ids = new Set(found.map(({ id }) => id));
  const counting = new Map<string, ChargedRow>();
  for (const row of rows) {
    const id = row.id.replaceAll('\0', '\ufffd');
    const other = counting.get(id);
    const isBetter = other === undefined || (other.state === 'unknown' && row.state === 'settled');
    if (ids.has(id) && isBetter) counting.set(id, row);
  }
  return [...counting.values()];
}

function addSums(sums: ChargeSum[], { org, workspace, node, at, charges }: ChargedRow, sign: 1 | -1): void {
  if (!Array.isArray(charges)) return;
  for (const each of charges) {
    if (!Array.isArray(each)) continue;
    const [budget, startsAt, endsAt, limit, threshold, amount] = each.map(whole);
    if (typeof amount !== 'number') continue;
    const where = { org, workspace, budget, node: node ?? '', hour: Math.floor(at / hourMs) };
    const terms = { starts_at: startsAt, ends_at: endsAt, limit, threshold };
    sums.push({ ...where, ...terms, amount: amount * sign });
  }
}

const most = Number.MAX_SAFE_INTEGER;

/** A number as a column of 64 bits takes it; all else that is no text becomes null. */
const whole = (value: unknown): string | number | null => {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? Math.max(-most, Math.min(most, Math.round(value))) : null;
};

const slotOf = (name: string): RecordSlot => slots.find(({ field }) => field?.name === name)!;
const idSlot = slotOf('id');
const atSlot = slotOf('at');
const [orgIndex, workspaceIndex] = ['org', 'workspace'].map((wanted) =>
  contextFields.findIndex(({ name }) => name === wanted),
) as [number, number];

/** Of those rows that have charges: they come last in `rest`. */
function packedCharges({ count, contexts, records, rest, restEnds, node }: PackedRows): ChargedRow[] {
  const found: ChargedRow[] = [];
  const shared = JSON.parse(contexts.toString('latin1')) as (string | null)[][];
  for (let row = 0, from = 1; row < count; from = restEnds[row++]! + 1) {
    const end = restEnds[row]!;
    const at = rest.lastIndexOf(chargesMark, end);
    if (at < from) continue;
    const read = ({ from: slot, width }: RecordSlot): string =>
      records.toString('latin1', row * recordWidth + slot, row * recordWidth + slot + width).trim();
    const context = shared[Number(read(contextSlot))] ?? [];
    found.push({
      id: read(idSlot),
      org: String(context[orgIndex]),
      workspace: context[workspaceIndex] ?? null,
      node,
      at: Number(read(atSlot)),
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
