import type { Transaction } from '../sql/connection/driver.js';

/** Secrets that other systems keep, and plugins that take credentials from them. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.createTable('secret_references', (table) => {
    table.string('id').primary();
    table.integer('revision').notNullable();
    table.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    table.string('slug').notNullable();
    table.string('name').notNullable();
    table.text('description');
    table.string('manager_type').notNullable();
    // JSON, by the names of the API: as it is shown, and as it is used.
    table.text('shown').notNullable();
    table.binary('sealed').notNullable();
    table.text('secret_path').notNullable();
    table.string('secret_key');
    // JSON: ids of the workspaces that may use it; null: all of them.
    table.text('workspaces');
    table.text('tags');
    // Id of a user or key.
    table.string('created_by').notNullable();
    table.bigInteger('created_at').notNullable();
    table.bigInteger('updated_at').notNullable();
    table.unique(['organisation_id', 'slug']);
    table.index(['organisation_id', 'created_at']);
  });
  await sql.schema.alterTable('partner_plugins', (table) => {
    table.text('secret_mappings').notNullable().defaultTo('[]');
  });
}
