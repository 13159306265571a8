import type { ChargedBudget } from '../../../common/ledger/budgets.js';
import type { PackedRows } from '../../../common/ledger/packed-rows.js';
import type { SqliteConnection } from '../../database/sqlite.js';
import type { LedgerBatch } from '../ledger.js';
import { addPacked, addRow } from './batch-charges.js';
import { chargeStatements } from './charge-statements.js';
import { type ChargePlace, ChargeSums } from './charge-sums.js';
import { charge, hasCharges, writtenCharges } from './charging.js';
import { KnownBudgets } from './known-budgets.js';
import { sqliteLanguage } from './language.js';

/**
 * Of the connection that writes: charges of unknown rows whose places settlements take. A trigger that does not fire costs the other
 * batches nothing.
 */
export const replacedTable = `CREATE TEMP TABLE batch_replaced (org TEXT, workspace TEXT, node_id TEXT, at INTEGER, charges TEXT);
  CREATE TEMP TRIGGER exchange_replaced AFTER UPDATE ON main.exchanges
    WHEN old.state = 1 AND old.rest -> '$.charges' IS NOT NULL
    BEGIN INSERT INTO batch_replaced VALUES (old.org, old.workspace, old.node_id, old.at, old.rest -> '$.charges'); END;`;

const most = Number.MAX_SAFE_INTEGER;

/** A number of a charge; null: it has none at this position. */
const number = (position: number): string =>
  `iif(typeof(charge.value ->> ${position}) IN ('integer', 'real'), CAST(charge.value ->> ${position} AS INTEGER), NULL)`;

const charges = (row: string, seq: string, sign: '' | '-'): string => `
  SELECT ${row}.org, ${row}.workspace, charge.value -> 0 AS budget, ${number(1)} AS starts_at, coalesce(${row}.node_id, '') AS node,
    ${row}.at / 3600000 AS hour, ${sign}${number(5)} AS amount, ${number(2)} AS ends_at, ${number(3)} AS "limit",
    ${number(4)} AS threshold, ${seq} AS seq`;

/** `?1`: rows after this one have just been inserted. The limits are those of the row with `max(seq)`. */
const sums = `SELECT org, workspace, budget, starts_at, node, hour, ends_at, "limit", threshold, max(seq) AS seq,
    CAST(max(-${most}, min(${most}, total(amount))) AS INTEGER) AS amount FROM (
  ${charges('e', 'e.seq', '')} FROM exchanges AS e CROSS JOIN jsonb_each(e.rest, '$.charges') AS charge
    WHERE e.seq > ?1 AND charge.type = 'array'
  UNION ALL
  ${charges('r', '0', '-')} FROM temp.batch_replaced AS r CROSS JOIN jsonb_each(r.charges) AS charge
    WHERE charge.type = 'array'
  ) GROUP BY org, workspace, budget, starts_at, node, hour ORDER BY seq`;

/** Charges that have a budget, a period, a node and an hour in common; `budget`: JSON. */
interface SummedCharge extends ChargePlace {
  readonly budget: string;
  readonly starts_at: number | null;
  readonly ends_at: number | null;
  readonly limit: number | null;
  readonly threshold: number | null;
  readonly amount: number;
}

const statements = chargeStatements(sqliteLanguage);

/** Adds the charges of rows to their budgets, in the transaction of these rows. */
export class SqliteCharges {
  readonly #writer: SqliteConnection;
  readonly #known = new KnownBudgets();

  constructor(writer: SqliteConnection) {
    this.#writer = writer;
  }

  /** The charges of packed rows, if nothing but counters has to be changed for them, as nearly always. */
  written(packed: PackedRows, now: number): ReturnType<typeof writtenCharges> {
    const added = new ChargeSums(this.#known);
    addPacked(added, packed);
    return writtenCharges(added, now);
  }

  /** Before the rows of a batch are inserted: the number of the last row; null: none of the batch has charges. */
  async before(batch: LedgerBatch): Promise<number | null> {
    if (!hasCharges(batch)) return null;
    const [row] = await this.#writer.allKept<{ last: number | null }>(
      'SELECT max(seq) AS last FROM exchanges',
      [],
    );
    return row?.last ?? 0;
  }

  /** After they were. `last`: of `before`; `inserted`: rows of the batch that were new, or took the place of others. */
  async after(
    batch: LedgerBatch,
    last: number | null,
    inserted: number,
    now: number,
  ): Promise<readonly ChargedBudget[]> {
    const { settled, unknown } = batch;
    const step = this.#writer.allKept.bind(this.#writer);
    const isReplaced =
      settled !== null && (await step('SELECT 1 FROM temp.batch_replaced LIMIT 1', [])).length > 0;
    if (last === null && !isReplaced) return [];
    const given = (settled?.packed?.count ?? 0) + (settled?.rows.length ?? 0) + unknown.length;
    const added = new ChargeSums(this.#known);
    if (!isReplaced && inserted === given) {
      // As nearly always: then the bytes of the batch are read at a tenth of what it costs to take its rows apart again.
      if (settled?.packed) addPacked(added, settled.packed);
      for (const row of [...(settled?.rows ?? []), ...unknown]) addRow(added, row, 1);
      return charge(sqliteLanguage, statements, step, added, now);
    }
    const found = await step<SummedCharge>(sums, [last ?? most]);
    if (isReplaced) await step('DELETE FROM temp.batch_replaced', []);
    for (const sum of found) {
      const { budget, starts_at, ends_at, limit, threshold, amount } = sum;
      added.add(sum, [JSON.parse(budget), starts_at, ends_at, limit, threshold, amount], 1);
    }
    return charge(sqliteLanguage, statements, step, added, now);
  }
}
