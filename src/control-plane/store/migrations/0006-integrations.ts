import type { Transaction } from '../sql/connection/driver.js';

/** Integrations, who may use them and which models; what a provider has besides its credential. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.createTable('integrations', (t) => {
    t.string('id').primary();
    t.integer('revision').notNullable().defaultTo(1);
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    // null: the organisation's own.
    t.string('workspace_id').references('workspaces.id').onDelete('CASCADE');
    t.string('slug').notNullable();
    // The slug while it is active: an archived one holds none.
    t.string('active_slug');
    t.string('name').notNullable();
    t.text('description');
    t.string('provider').notNullable();
    t.string('status').notNullable();
    t.binary('credential');
    t.string('masked_credential');
    // JSON as it is shown; the secrets of it are sealed beside it, a JSON object by field.
    t.text('configurations').notNullable();
    t.binary('secrets');
    t.text('secret_mappings').notNullable();
    t.boolean('host_trusted').notNullable();
    t.text('pricing_adjustments');
    t.string('default_provider_slug');
    t.boolean('allow_all_models').notNullable();
    t.boolean('global_enabled').notNullable();
    t.text('global_usage_limits');
    t.text('global_rate_limits').notNullable();
    t.bigInteger('created_at').notNullable();
    t.bigInteger('updated_at').notNullable();
    t.unique(['organisation_id', 'active_slug']);
    t.index(['organisation_id', 'created_at']);
  });

  await sql.schema.createTable('integration_workspaces', (t) => {
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('integration_id').notNullable().references('integrations.id').onDelete('CASCADE');
    t.string('workspace_id').notNullable().references('workspaces.id').onDelete('CASCADE');
    t.boolean('enabled').notNullable();
    t.text('usage_limits');
    t.text('usage').notNullable();
    t.text('rate_limits').notNullable();
    t.primary(['organisation_id', 'integration_id', 'workspace_id']);
  });

  await sql.schema.createTable('integration_models', (t) => {
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('integration_id').notNullable().references('integrations.id').onDelete('CASCADE');
    t.string('slug').notNullable();
    t.boolean('enabled').notNullable();
    t.boolean('is_custom').notNullable();
    t.boolean('is_finetune').notNullable();
    t.string('base_model_slug');
    t.text('custom_host');
    t.text('pricing_config');
    t.primary(['organisation_id', 'integration_id', 'slug']);
  });

  await sql.schema.alterTable('providers', (t) => {
    // Set: credential, address and the rest come from there. No foreign key: SQLite adds none to a table that is.
    t.string('integration_id');
    t.text('configurations').notNullable().defaultTo('{}');
    t.binary('secrets');
    t.text('secret_mappings').notNullable().defaultTo('[]');
    // Was its address given by a member of the organisation? Else calls to it pass the rules for callers' hosts.
    t.boolean('host_trusted').notNullable().defaultTo(true);
    t.text('usage_limits');
    t.text('usage');
    t.text('rate_limits').notNullable().defaultTo('[]');
    t.bigInteger('expires_at');
    t.text('tags');
  });
  await sql.schema.alterTable('providers', (t) => {
    t.index(['organisation_id', 'integration_id']);
  });
}
