import { type BudgetDatabase, postgresLanguage, rowsParameter, type Step } from './language.js';
import { type BudgetTableName, budgetTableNames, budgetTables, insertTaken } from './tables.js';

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

/** Puts the budgets of another ledger into one in PostgreSQL, once for each source. */
export async function takeBudgets(
  step: Step,
  node: string,
  source: string,
  tables: AsyncIterable<TableRows>,
): Promise<void> {
  const noted = await step(
    `INSERT INTO journal_positions VALUES (?1, ?2, 0) ON CONFLICT (node, source) DO NOTHING RETURNING node`,
    [node, source],
  );
  if (noted.length === 0) return;
  for await (const { table, rows } of tables)
    await step(insertTaken(postgresLanguage, table), [rowsParameter(rows)]);
}
