import type { Transaction } from '../sql/connection/driver.js';

/** Organisations, workspaces, keys, stored providers and configs. Times are Unix milliseconds. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.createTable('meta', (t) => {
    t.string('name').primary();
    t.text('value').notNullable();
  });

  await sql.schema.createTable('organisations', (t) => {
    t.string('id').primary();
    t.string('name').notNullable();
    t.bigInteger('created_at').notNullable();
  });

  // One per organisation and version, wrapped by the master key; seals the organisation's own secrets.
  await sql.schema.createTable('data_keys', (t) => {
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.integer('version').notNullable();
    t.string('master_key_id').notNullable();
    t.binary('wrapped').notNullable();
    t.bigInteger('created_at').notNullable();
    t.primary(['organisation_id', 'version']);
  });

  await sql.schema.createTable('workspaces', (t) => {
    t.string('id').primary();
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('slug').notNullable();
    t.string('name').notNullable();
    t.bigInteger('created_at').notNullable();
    t.unique(['organisation_id', 'slug']);
  });

  await sql.schema.createTable('api_keys', (t) => {
    t.string('id').primary();
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('workspace_id').references('workspaces.id').onDelete('CASCADE');
    t.string('user_id');
    t.string('type').notNullable();
    t.string('name').notNullable();
    t.text('description');
    t.string('hash').notNullable().unique();
    t.integer('pepper_version').notNullable();
    t.string('masked').notNullable();
    t.text('scopes').notNullable();
    t.string('default_config_id');
    t.boolean('allow_config_override').notNullable();
    t.text('default_metadata').notNullable();
    t.string('creation_mode').notNullable();
    t.bigInteger('expires_at');
    t.bigInteger('created_at').notNullable();
    t.bigInteger('updated_at').notNullable();
    t.index(['organisation_id', 'workspace_id', 'created_at']);
  });

  await sql.schema.createTable('providers', (t) => {
    t.string('id').primary();
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('workspace_id').notNullable().references('workspaces.id').onDelete('CASCADE');
    t.string('slug').notNullable();
    t.string('name').notNullable();
    t.text('note');
    t.string('provider').notNullable();
    t.binary('credential');
    t.string('masked_credential');
    t.text('base_url');
    // Its base URL is known only while the program runs; without one the provider is not offered.
    t.boolean('base_url_at_run_time').notNullable();
    t.bigInteger('created_at').notNullable();
    t.bigInteger('updated_at').notNullable();
    t.unique(['workspace_id', 'slug']);
  });

  await sql.schema.createTable('configs', (t) => {
    t.string('id').primary();
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('workspace_id').notNullable().references('workspaces.id').onDelete('CASCADE');
    t.string('slug').notNullable();
    t.string('name').notNullable();
    t.boolean('is_default').notNullable();
    t.string('status').notNullable();
    t.string('current_version_id').notNullable();
    t.string('owner_id');
    t.string('updated_by');
    t.bigInteger('created_at').notNullable();
    t.bigInteger('updated_at').notNullable();
    t.unique(['workspace_id', 'slug']);
  });

  await sql.schema.createTable('config_versions', (t) => {
    t.string('id').primary();
    t.string('config_id').notNullable().references('configs.id').onDelete('CASCADE');
    t.integer('number').notNullable();
    t.text('text').notNullable();
    t.string('created_by');
    t.bigInteger('created_at').notNullable();
    t.unique(['config_id', 'number']);
  });
}
