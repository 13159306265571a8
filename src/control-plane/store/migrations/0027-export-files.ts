import type { Transaction } from '../sql/connection/driver.js';

/** When the file of an export was removed; null: it was not, or there is none. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.alterTable('log_exports', (table) => {
    table.bigInteger('file_removed_at');
  });
}
