import type { Client } from 'pg';
import type { ChargedBudget } from '../../../common/ledger/budgets.js';
import type { LedgerBatch } from '../ledger.js';
import { within } from '../postgres/connections.js';
import { addRow, type ChargedRow, chargedRows } from './batch-charges.js';
import { chargeStatements } from './charge-statements.js';
import { ChargeSums } from './charge-sums.js';
import { charge } from './charging.js';
import type { KnownBudgets } from './known-budgets.js';
import { numbered, postgresLanguage, type Step } from './language.js';

/**
 * In PostgreSQL charges are read from the batch, not from its rows: its functions for JSON refuse a NUL and half a character
 * anywhere in the document, and a client may send them.
 */

const statements = chargeStatements(postgresLanguage);

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
  known: KnownBudgets,
  batch: LedgerBatch,
  replaced: readonly ChargedRow[],
  stagedTimes: readonly [from: number, to: number] | null,
): Promise<ChargedBatch> {
  const step = stepOf(client);
  let rows = chargedRows(batch);
  if (stagedTimes !== null) rows = await newOf(step, rows, ...stagedTimes);
  const sums = new ChargeSums(known);
  for (const row of replaced) addRow(sums, row, -1);
  for (const row of rows) addRow(sums, row, 1);
  return { charged: await charge(postgresLanguage, statements, step, sums, Date.now()), rows };
}

export interface ChargedBatch {
  readonly charged: readonly ChargedBudget[];
  /** Those that were charged. */
  readonly rows: readonly ChargedRow[];
}

interface LostCommit {
  readonly charged: readonly ChargedBudget[];
  /** A row that it put in, if it was carried out. */
  readonly id: string;
}

/** More are not found out about; each is of a connection that was cut within one message. */
const mostLost = 16;

/** Commits whose answer did not arrive: what they charged is reported once their batch comes again and its rows are there. */
export class LostCommits {
  readonly #lost: LostCommit[] = [];

  add({ charged, rows }: ChargedBatch): void {
    if (rows[0] !== undefined && this.#lost.length < mostLost) this.#lost.push({ charged, id: rows[0].id });
  }

  /** What they charged of this batch, which is called once for it. `added`: of its rows those that were not there. */
  of(batch: LedgerBatch, added: readonly ChargedRow[]): readonly ChargedBudget[] {
    if (this.#lost.length === 0) return [];
    const ids = new Set(chargedRows(batch).map(({ id }) => id));
    const found = this.#lost.filter(({ id }) => ids.has(id));
    this.#lost.splice(0, this.#lost.length, ...this.#lost.filter(({ id }) => !ids.has(id)));
    const isAdded = new Set(added.map(({ id }) => id));
    return found.flatMap(({ id, charged }) => (isAdded.has(id) ? [] : charged));
  }
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
