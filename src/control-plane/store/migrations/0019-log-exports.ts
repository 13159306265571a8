import type { Transaction } from '../sql/connection/driver.js';

/** Logs of a workspace that are written to files. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.createTable('log_exports', (table) => {
    table.string('id').primary();
    table.string('organisation_id').notNullable();
    table.string('workspace_id').notNullable();
    table.string('description');
    // JSON, by the names of the API.
    table.text('filters').notNullable();
    table.text('requested_data').notNullable();
    table.string('format').notNullable();
    table.string('status').notNullable();
    // JSON: what who started it may see; null: a draft.
    table.text('sight');
    table.bigInteger('started_at');
    table.bigInteger('records');
    table.string('error');
    // The node that writes it, until when that is believed without a sign of life, and how many have begun.
    table.string('node_id');
    table.bigInteger('held_until').notNullable();
    table.integer('runs').notNullable();
    // Id of a user or key.
    table.string('created_by').notNullable();
    table.bigInteger('created_at').notNullable();
    table.bigInteger('updated_at').notNullable();
    table.index(['organisation_id', 'workspace_id', 'created_at']);
    table.index(['status', 'held_until']);
  });
}
