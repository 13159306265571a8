import type { Transaction } from '../sql/connection/driver.js';

/** How an organisation's people and tokens sign in. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.createTable('auth_settings', (table) => {
    table.string('organisation_id').primary();
    // JSON, by the names of the record.
    table.text('settings').notNullable();
    table.binary('client_secret');
    table.bigInteger('updated_at').notNullable();
  });
}
