import type { Transaction } from '../sql/connection/driver.js';

/** The user who made a key, to be notified of its budget; null: no user did, or it is older than this column. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.alterTable('api_keys', (table) => {
    table.string('created_by', 255);
  });
}
