import type { Transaction } from '../sql/connection/driver.js';

/** Filters of logs and analytics that are kept under a name. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.createTable('saved_filters', (table) => {
    table.string('id').primary();
    table.integer('revision').notNullable();
    table.string('organisation_id').notNullable();
    table.string('workspace_id').notNullable();
    table.string('name').notNullable();
    // JSON, by the names of the API.
    table.text('filters').notNullable();
    // Id of a user or key.
    table.string('created_by').notNullable();
    table.bigInteger('created_at').notNullable();
    table.bigInteger('updated_at').notNullable();
    table.index(['organisation_id', 'workspace_id']);
  });
}
