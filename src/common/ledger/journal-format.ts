import { contextFields, ledgerVersion, rowFields } from './fields.js';
import { intentFields } from './intent-fields.js';
import { positions } from './positions.js';
import type { Intent, LedgerRow } from './record.js';
import { type Rest, rowOf } from './rows.js';

/** How the lines of a journal of one version are read. Both throw for a text that is no record. */
export interface JournalFormat {
  /** Do its settlements contain the position of the row's own fields? */
  readonly isPacked: boolean;
  /** `node`: id of the node that wrote the file. */
  settlement(json: string, node: string | null): LedgerRow;
  intent(json: string): Intent;
}

/** Since then fields were only added at the end: older lines have fewer. */
const firstOfColumns = 3;

const columns: JournalFormat = {
  isPacked: true,
  settlement(json, node) {
    const [context, ...own] = JSON.parse(json) as [unknown[], ...unknown[]];
    const values: Record<string, unknown> = { node_id: node };
    for (const [i, { name }] of contextFields.entries()) values[name] = context[i];
    for (const [i, { name }] of rowFields.entries()) values[name] = own[i];
    return checked(rowOf(values, own[rowFields.length] as Rest, 'settled'));
  },
  intent(json) {
    const values = JSON.parse(json) as unknown[];
    const intent = Object.fromEntries(intentFields.map((name, i) => [name, values[i] ?? null]));
    const charges = values[intentFields.length] ?? null;
    return checked({ ...intent, charges } as unknown as Intent);
  },
};

const positional: JournalFormat = {
  isPacked: false,
  settlement: (json) => checked(positions.settlement(JSON.parse(json), 'settled')),
  intent: (json) => checked(positions.intent(JSON.parse(json))),
};

/** Without these a row cannot be stored. What a disk made up may have anything in their places. */
function checked<Record extends { readonly id: string; readonly at: number; readonly org: string }>(
  record: Record,
): Record {
  const { id, at, org } = record;
  if (typeof id !== 'string' || typeof org !== 'string' || !Number.isSafeInteger(at)) {
    throw new SyntaxError('This is no record of the ledger.');
  }
  return record;
}

/** The format of a version; null: a later program wrote it. */
export function formatOf(version: number): JournalFormat | null {
  if (version >= firstOfColumns && version <= ledgerVersion) return columns;
  return version === 1 ? positional : null;
}
