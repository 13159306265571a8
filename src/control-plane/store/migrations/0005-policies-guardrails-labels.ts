import { randomUUID } from 'node:crypto';
import type { Transaction } from '../sql/connection/driver.js';

/** Configs that leave their slug free; policies, guardrails, labels, collections, deployments. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.alterTable('configs', (t) => {
    t.dropUnique(['workspace_id', 'slug']);
    t.index(['workspace_id', 'slug']);
  });
  // An archived record keeps its slug, which others may use again.
  await sql.raw(
    "CREATE UNIQUE INDEX configs_active_slug ON configs (workspace_id, slug) WHERE status = 'active'",
  );

  await sql.schema.createTable('usage_limits_policies', (t) => {
    t.string('id').primary();
    t.integer('revision').notNullable().defaultTo(1);
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('workspace_id').notNullable().references('workspaces.id').onDelete('CASCADE');
    t.string('name');
    t.text('description');
    t.text('conditions').notNullable();
    t.text('group_by').notNullable();
    t.string('type').notNullable();
    t.double('credit_limit').notNullable();
    t.double('alert_threshold');
    t.string('periodic_reset');
    t.integer('periodic_reset_days');
    t.bigInteger('next_usage_reset_at');
    t.bigInteger('last_reset_at');
    t.string('status').notNullable();
    t.bigInteger('created_at').notNullable();
    t.bigInteger('updated_at').notNullable();
    t.index(['organisation_id', 'workspace_id', 'status', 'created_at']);
  });

  await sql.schema.createTable('usage_limits_entities', (t) => {
    t.string('id').primary();
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('policy_id').notNullable().references('usage_limits_policies.id').onDelete('CASCADE');
    t.string('value_key', 1024).notNullable();
    t.double('current_usage').notNullable();
    t.string('status').notNullable();
    t.boolean('threshold_alerts_sent').notNullable();
    t.boolean('exhausted_alerts_sent').notNullable();
    t.bigInteger('created_at').notNullable();
    t.unique(['organisation_id', 'policy_id', 'value_key']);
  });

  await sql.schema.createTable('rate_limits_policies', (t) => {
    t.string('id').primary();
    t.integer('revision').notNullable().defaultTo(1);
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('workspace_id').notNullable().references('workspaces.id').onDelete('CASCADE');
    t.string('name');
    t.text('description');
    t.text('conditions').notNullable();
    t.text('group_by').notNullable();
    t.string('type').notNullable();
    t.string('unit').notNullable();
    t.integer('value').notNullable();
    t.string('target').notNullable();
    t.string('status').notNullable();
    t.bigInteger('created_at').notNullable();
    t.bigInteger('updated_at').notNullable();
    t.index(['organisation_id', 'workspace_id', 'status', 'created_at']);
  });

  // Without a workspace: the organisation's own.
  await sql.schema.createTable('guardrails', (t) => {
    t.string('id').primary();
    t.integer('revision').notNullable().defaultTo(1);
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('workspace_id').references('workspaces.id').onDelete('CASCADE');
    t.string('slug').notNullable();
    t.string('name').notNullable();
    t.string('status').notNullable();
    t.string('current_version_id').notNullable();
    t.string('owner_id');
    t.string('updated_by');
    t.bigInteger('created_at').notNullable();
    t.bigInteger('updated_at').notNullable();
    t.unique(['organisation_id', 'slug']);
    t.index(['organisation_id', 'workspace_id', 'status', 'created_at']);
  });

  await sql.schema.createTable('guardrail_versions', (t) => {
    t.string('id').primary();
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('guardrail_id').notNullable().references('guardrails.id').onDelete('CASCADE');
    t.integer('number').notNullable();
    t.text('checks').notNullable();
    t.text('actions').notNullable();
    t.string('created_by');
    t.bigInteger('created_at').notNullable();
    t.unique(['organisation_id', 'guardrail_id', 'number']);
  });

  // Without a workspace: of every workspace.
  await sql.schema.createTable('labels', (t) => {
    t.string('id').primary();
    t.integer('revision').notNullable().defaultTo(1);
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('workspace_id').references('workspaces.id').onDelete('CASCADE');
    t.string('name').notNullable();
    t.text('description');
    t.string('color_code');
    t.boolean('is_universal').notNullable();
    t.bigInteger('created_at').notNullable();
    t.bigInteger('updated_at').notNullable();
    t.index(['organisation_id', 'workspace_id', 'name']);
  });

  await sql.schema.createTable('collections', (t) => {
    t.string('id').primary();
    t.integer('revision').notNullable().defaultTo(1);
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('workspace_id').notNullable().references('workspaces.id').onDelete('CASCADE');
    t.string('slug').notNullable();
    t.string('name').notNullable();
    t.string('parent_id').references('collections.id').onDelete('CASCADE');
    t.boolean('is_default').notNullable();
    t.bigInteger('created_at').notNullable();
    t.bigInteger('updated_at').notNullable();
    t.unique(['organisation_id', 'slug']);
    t.index(['organisation_id', 'workspace_id', 'created_at']);
    t.index(['organisation_id', 'parent_id']);
  });

  await sql.schema.createTable('deployments', (t) => {
    t.string('id').primary();
    t.integer('revision').notNullable().defaultTo(1);
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('slug').notNullable();
    t.string('name').notNullable();
    t.string('type').notNullable();
    t.string('status').notNullable();
    t.text('config');
    t.text('auth_settings');
    t.text('tags');
    t.boolean('is_default').notNullable();
    t.string('username');
    t.binary('password');
    t.string('auth_hash').notNullable();
    t.bigInteger('last_seen_at');
    t.bigInteger('created_at').notNullable();
    t.bigInteger('updated_at').notNullable();
    t.index(['organisation_id', 'slug']);
  });
  await sql.raw(
    "CREATE UNIQUE INDEX deployments_active_slug ON deployments (organisation_id, slug) WHERE status = 'active'",
  );

  await addBuiltIn(sql);
}

/** What organisations and workspaces have from their beginning, for those that are there already. */
async function addBuiltIn(sql: Transaction): Promise<void> {
  const now = Date.now();
  const common = { revision: 1, created_at: now, updated_at: now };
  for (const organisation_id of await sql('organisations').pluck('id')) {
    for (const name of ['production', 'staging', 'development'])
      await sql('labels').insert({ ...common, id: randomUUID(), organisation_id, name, is_universal: true });
  }
  const workspaces: { id: string; organisation_id: string }[] = await sql('workspaces').select(
    'id',
    'organisation_id',
  );
  for (const { id, organisation_id } of workspaces) {
    await sql('collections').insert({
      ...common,
      id: randomUUID(),
      organisation_id,
      workspace_id: id,
      slug: `default-${id}`,
      name: 'Default',
      is_default: true,
    });
  }
}
