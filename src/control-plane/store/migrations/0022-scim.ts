import type { Transaction } from '../sql/connection/driver.js';

/** SCIM: what identity providers know of users, groups, and the workspaces that groups are mapped to. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.alterTable('users', (t) => {
    t.boolean('is_active').notNullable().defaultTo(true);
    t.string('external_id');
    t.string('display_name');
    // JSON: the other attributes, under the names of RFC 7643.
    t.text('scim_attributes');
    // A line `type:address` for each address of scim_attributes, in lower case, between line feeds; for filters.
    t.text('scim_emails');
    t.index(['organisation_id', 'external_id']);
  });

  await sql.schema.alterTable('workspace_members', (t) => {
    // The role by groups; null: by none. `role` is the higher one of the two.
    t.string('scim_role');
    // The role given by hand, where there is a role by groups as well; null: none.
    t.string('own_role');
  });

  await sql.schema.alterTable('workspaces', (t) => {
    // The group that was mapped to it first.
    t.string('scim_source_id');
  });

  await sql.schema.createTable('scim_groups', (t) => {
    t.string('id').primary();
    t.integer('revision').notNullable().defaultTo(1);
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('display_name').notNullable();
    // In lower case: names differ by more than that.
    t.string('name_key').notNullable();
    t.string('external_id');
    t.bigInteger('created_at').notNullable();
    t.bigInteger('updated_at').notNullable();
    t.unique(['organisation_id', 'name_key']);
    t.index(['organisation_id', 'external_id']);
  });

  await sql.schema.createTable('scim_group_members', (t) => {
    t.string('organisation_id').notNullable();
    t.string('group_id').notNullable().references('scim_groups.id').onDelete('CASCADE');
    t.string('user_id').notNullable().references('users.id').onDelete('CASCADE');
    t.bigInteger('created_at').notNullable();
    t.primary(['group_id', 'user_id']);
    t.index(['organisation_id', 'user_id']);
  });

  await sql.schema.createTable('scim_mappings', (t) => {
    t.string('id').primary();
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('workspace_id').notNullable();
    t.string('group_id').notNullable();
    t.string('role').notNullable();
    t.string('status').notNullable();
    t.bigInteger('created_at').notNullable();
    t.bigInteger('updated_at').notNullable();
    t.index(['organisation_id', 'status', 'group_id']);
    t.index(['organisation_id', 'workspace_id']);
  });
}
