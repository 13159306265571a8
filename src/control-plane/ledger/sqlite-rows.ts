import {
  columnFields,
  contextFields,
  fileFields,
  type LedgerField,
  rowFields,
} from '../../common/ledger/fields.js';
import {
  contextSlot,
  packedNull,
  type RecordSlot,
  recordWidth,
  slots,
} from '../../common/ledger/packed-rows.js';
import type { LedgerRow } from '../../common/ledger/record.js';
import { type Rest, restOf, rowOf, type StoredValues, storedValue } from '../../common/ledger/rows.js';
import { chargeSteps } from './budgets/charge-statements.js';
import { sqliteLanguage } from './budgets/language.js';

/** Statements over the columns of the table of fields: none names a column by itself that is in the table. */

export const quoted = (name: string): string => `"${name}"`;

export const columnType = ({ type }: LedgerField): string =>
  type === 'text' || type === 'json' ? 'TEXT' : 'INTEGER';

const states = ['settled', 'unknown'] as const;
export const stateNumber = (state: LedgerRow['state']): number => states.indexOf(state);

const columns = ['state', ...columnFields.map(({ name }) => name), 'rest'];
const columnList = columns.map(quoted).join(', ');

/**
 * A late settlement replaces its unknown row, as a new row for readers that follow the ledger. SQLite computes a
 * subquery once for the whole statement unless it refers to the row: without `excluded` two rows would get one number.
 */
const inPlaceOfUnknown = `ON CONFLICT (id) DO UPDATE SET
  seq = (SELECT max(seq) + 1 + (excluded.id IS NULL) FROM exchanges),
  ${columns.map((name) => `${quoted(name)} = excluded.${quoted(name)}`).join(', ')}
  WHERE state = ${stateNumber('unknown')}`;

/** Of the records: one slot of the row that `position` numbers. */
function slotValue({ field, from, width }: RecordSlot, records: string, position: string): string {
  const part = `substr(${records}, ${position} * ${recordWidth} + ${from + 1}, ${width})`;
  if (field === null) return `CAST(${part} AS INTEGER)`;
  if (columnType(field) === 'INTEGER') {
    return field.nullable ? `nullif(CAST(${part} AS INTEGER), ${packedNull})` : `CAST(${part} AS INTEGER)`;
  }
  const text = `CAST(${part} AS TEXT)`;
  if (!field.nullable) return text;
  const first = `substr(${records}, ${position} * ${recordWidth} + ${from + 1}, 1)`;
  return `CASE WHEN ${first} <> x'20' THEN rtrim(${text}) END`;
}

/** Contexts of the batch, by number: a table of the connection's own, since SQLite makes no index for a subquery of JSON. */
export const contextTable = `CREATE TEMP TABLE batch_context (number INTEGER PRIMARY KEY,
  ${contextFields.map(({ name }) => quoted(name)).join(', ')})`;

const contextsFrom = (contexts: string): string => `INSERT INTO batch_context
  SELECT key, ${contextFields.map(({ type }, index) => `value ${type === 'json' ? '->' : '->>'} ${index}`).join(', ')}
  FROM jsonb_each(CAST(${contexts} AS TEXT))`;

/**
 * `substr` of a blob reads only that part, at a third of the cost of a value in JSON; each context is parsed once. A row's
 * position is its `rowid`: the same number as its `key` in the array, at a fraction of the cost.
 */
const packedFrom = (
  rest: string,
  records: string,
  node: string,
): string => `INSERT INTO exchanges (${columnList})
  SELECT ${stateNumber('settled')},
    ${slots.map((slot) => slotValue(slot, records, 'own.rowid')).join(',\n    ')},
    ${contextFields.map(({ name }) => `context.${quoted(name)}`).join(', ')},
    ${node},
    own.value
  FROM jsonb_each(CAST(${rest} AS TEXT)) AS own CROSS JOIN batch_context AS context
  WHERE context.number = ${slotValue(contextSlot, records, 'own.rowid')}
  ${inPlaceOfUnknown}`;

/** `?1` are the contexts of packed rows. */
export const insertContexts = contextsFrom('?1');

export const deleteContexts = 'DELETE FROM batch_context';

/** Packed rows: `?1` is their `rest`, `?2` their records, `?3` their node. */
export const insertPacked = packedFrom('?1', '?2', '?3');

const putPosition = (source: string, position: string): string =>
  `INSERT OR REPLACE INTO journal_positions (source, position) VALUES (${source}, ${position})`;

export const insertPosition = putPosition('?1', '?2');

/** The message of `insertBatch` and `insertCharged` if the batch is not as they have it. Then they have changed nothing. */
export const unusualBatch = 'an unusual batch';
const refuse = `RAISE(ABORT, '${unusualBatch}')`;

const batchColumns = ['contexts', 'rest', 'records', 'node', 'source', 'position'] as const;
const chargedColumns = ['rows', 'counters', 'count', 'byNode', 'course', 'now'] as const;
const given = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, `new."${name}"`])) as Readonly<Record<Name, string>>;

/** A statement that inserts into a view is one transaction: its trigger runs all the others. */
function inOneStatement(view: string, names: readonly string[], steps: string): string {
  return `CREATE TEMP VIEW ${view} AS SELECT ${names.map((name) => `NULL AS "${name}"`).join(', ')};
    CREATE TEMP TRIGGER ${view}_put INSTEAD OF INSERT ON ${view} BEGIN ${steps} END`;
}

const batch = given(batchColumns);
const charges = given(chargedColumns);

/**
 * Combines the statements above for the usual batch, and those of charges if nothing but counters has to be changed for them. Each
 * statement is a round trip to SQLite's thread, which costs as much as about ten rows.
 */
export const batchViews = [
  inOneStatement(
    'whole_batch',
    batchColumns,
    `${contextsFrom(batch.contexts)}; ${packedFrom(batch.rest, batch.records, batch.node)}; ${deleteContexts};
    ${putPosition(batch.source, batch.position)};
    SELECT ${refuse} FROM batch_replaced;`,
  ),
  inOneStatement(
    'charged_batch',
    [...batchColumns, ...chargedColumns],
    `${contextsFrom(batch.contexts)}; ${packedFrom(batch.rest, batch.records, batch.node)};
    SELECT ${refuse} WHERE changes() <> ${charges.rows};
    ${deleteContexts};
    ${putPosition(batch.source, batch.position)};
    SELECT ${refuse} FROM batch_replaced;
    ${chargeSteps(sqliteLanguage, charges, refuse)}`,
  ),
].join(';\n');

const insertInto = (view: string, names: readonly string[]): string =>
  `INSERT INTO ${view} (${names.map((name) => `"${name}"`).join(', ')}) VALUES (${names.map((_, i) => `?${i + 1}`).join(', ')})`;

export const insertBatch = insertInto('whole_batch', batchColumns);
export const insertCharged = insertInto('charged_batch', [...batchColumns, ...chargedColumns]);

const rowValues = [
  `value ->> 0`,
  ...columnFields.map(({ type }, index) => `value ${type === 'json' ? '->' : '->>'} ${index + 1}`),
  `jsonb(value -> ${columnFields.length + 1})`,
];

/** Rows of any kind: `?1` is a JSON array with an array for each. */
const insert = `INSERT INTO exchanges (${columnList}) SELECT ${rowValues.join(', ')} FROM jsonb_each(?1) WHERE true`;
export const insertSettled = `${insert} ${inPlaceOfUnknown}`;
export const insertUnknown = `${insert} ON CONFLICT (id) DO NOTHING`;

/** The same with their old numbers, which are last in each array. */
export const insertNumbered = `INSERT INTO exchanges (${columnList}, seq)
  SELECT ${rowValues.join(', ')}, value ->> ${columns.length} FROM jsonb_each(?1) WHERE true ON CONFLICT (id) DO NOTHING`;

export const rowArray = (row: LedgerRow): unknown[] => [
  stateNumber(row.state),
  ...columnFields.map((field) => storedValue(field, row)),
  restOf(row),
];

export type SelectedRow = StoredValues & {
  readonly seq: number;
  readonly state: number;
  /** Absent: not requested. */
  readonly rest?: string;
};

/** `wanted`: names of columns; all unless given. */
export function selectColumns(wanted: readonly string[] = columns): string {
  const selected = columns.filter((name) => name === 'state' || wanted.includes(name));
  const list = selected.map((name) => (name === 'rest' ? 'json(rest) AS rest' : quoted(name)));
  return `SELECT seq, ${list.join(', ')} FROM exchanges`;
}
export const selectRows = selectColumns();

export const selectedRow = ({ rest = '{}', ...row }: SelectedRow): LedgerRow =>
  rowOf(row, JSON.parse(rest) as Rest, states[row.state] ?? 'unknown');

/** Columns that version `since` introduced. */
export const columnsSince = (since: (version: number) => boolean): string[] =>
  [...rowFields, ...contextFields, ...fileFields]
    .filter((field) => since(field.since))
    .map((field) => `${quoted(field.name)} ${columnType(field)}${isKey(field) ? ' NOT NULL' : ''}`);

/** Without these a row is not found again. */
const isKey = ({ name }: LedgerField): boolean => name === 'id' || name === 'at' || name === 'org';
