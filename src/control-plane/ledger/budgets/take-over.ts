import { type BudgetDatabase, rowsParameter } from './language.js';
import { type BudgetTableName, budgetTableNames, budgetTables } from './tables.js';

/** Rows of one of the tables of budgets, each with the values of its columns in their order. */
export interface TableRows {
  readonly table: BudgetTableName;
  readonly rows: readonly (readonly unknown[])[];
}

const batchRows = 2000;

/** All rows of a ledger's budgets. Nothing may change them meanwhile. */
export async function* readBudgets(database: BudgetDatabase): AsyncIterable<TableRows> {
  for (const table of budgetTableNames) {
    const columns = Object.keys(budgetTables[table].columns);
    const key = budgetTables[table].key.map((name) => `"${name}"`).join(', ');
    for (let offset = 0; ; offset += batchRows) {
      const rows = await database.read<Record<string, unknown>>(
        `SELECT * FROM ${table} ORDER BY ${key} LIMIT ?1 OFFSET ?2`,
        [batchRows, offset],
      );
      if (rows.length > 0) yield { table, rows: rows.map((row) => columns.map((name) => row[name])) };
      if (rows.length < batchRows) break;
    }
  }
}

/** Rows as a parameter of `insertTaken`. */
export const takenParameter = ({ rows }: TableRows): string => rowsParameter(rows);
