import type { Transaction } from '../sql/connection/driver.js';

/** The user who created a key, and is notified of its budget; null: no user did, or the key is older than this column. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.alterTable('api_keys', (table) => {
    table.string('created_by', 255);
  });
}
