import type { Transaction } from '../sql/connection/driver.js';

/** Usage-limits policies that count and report, and refuse nothing. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.alterTable('usage_limits_policies', (table) => {
    table.boolean('shadow').notNullable().defaultTo(false);
  });
}
