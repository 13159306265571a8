/** A value of a ledger field of a stage. */
export type LedgerValue = string | number | boolean;

/** A field that a stage adds to the ledger's rows. */
export interface StageLedgerField {
  /** `integer` and `number` are finite; a `string` has at most `maxFieldLength` characters. */
  readonly type: 'integer' | 'number' | 'string' | 'boolean';
  readonly doc: string;
}

export const maxFieldLength = 256;

/** What the stages recorded of an exchange, by stage and field. */
export type StageFields = Record<string, Record<string, LedgerValue>>;

/** Does the value fit its field? */
export function fitsField({ type }: StageLedgerField, value: unknown): value is LedgerValue {
  if (type === 'integer') return Number.isSafeInteger(value);
  if (type === 'number') return Number.isFinite(value);
  if (type === 'string') return typeof value === 'string' && value.length <= maxFieldLength;
  return typeof value === 'boolean';
}
