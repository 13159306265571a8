import type { Transaction } from '../sql/connection/driver.js';

/** Policies that count and report, and refuse nothing. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.alterTable('rate_limits_policies', (table) => {
    table.boolean('shadow').notNullable().defaultTo(false);
  });
}
