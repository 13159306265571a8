import type { Transaction } from '../sql/connection/driver.js';

/** Users, members, invitations; settings of organisations and workspaces, and the archive of workspaces. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.alterTable('organisations', (t) => {
    // JSON: what was set, and nothing else.
    t.text('settings').notNullable().defaultTo('{}');
    t.text('security_settings').notNullable().defaultTo('{}');
    t.text('input_guardrails').notNullable().defaultTo('[]');
    t.text('output_guardrails').notNullable().defaultTo('[]');
    t.integer('max_session_ttl');
    t.bigInteger('updated_at').notNullable().defaultTo(0);
  });
  await sql('organisations').update({ updated_at: sql.ref('created_at') });

  await sql.schema.alterTable('workspaces', (t) => {
    t.text('description');
    t.string('icon');
    t.boolean('is_default').notNullable().defaultTo(false);
    t.string('status').notNullable().defaultTo('active');
    t.text('defaults').notNullable().defaultTo('{}');
    t.text('usage_limits').notNullable().defaultTo('[]');
    t.text('rate_limits').notNullable().defaultTo('[]');
    t.text('security_settings').notNullable().defaultTo('{}');
    t.text('settings').notNullable().defaultTo('{}');
    t.boolean('excluded_from_input_guardrails').notNullable().defaultTo(false);
    t.boolean('excluded_from_output_guardrails').notNullable().defaultTo(false);
    t.string('created_by');
    t.bigInteger('updated_at').notNullable().defaultTo(0);
  });
  await sql('workspaces').update({ updated_at: sql.ref('created_at') });
  for (const organisation_id of await sql('organisations').pluck('id')) {
    const first = await sql('workspaces')
      .where({ organisation_id })
      .orderBy(['created_at', 'id'])
      .first('id');
    if (first !== undefined) await sql('workspaces').where({ id: first.id }).update({ is_default: true });
  }

  await sql.schema.createTable('users', (t) => {
    t.string('id').primary();
    t.integer('revision').notNullable().defaultTo(1);
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('email').notNullable();
    // In lower case: one person, however it is typed.
    t.string('email_key').notNullable();
    t.string('first_name').notNullable();
    t.string('last_name').notNullable();
    t.string('role').notNullable();
    t.bigInteger('created_at').notNullable();
    t.bigInteger('updated_at').notNullable();
    t.unique(['organisation_id', 'email_key']);
  });

  await sql.schema.createTable('workspace_members', (t) => {
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('workspace_id').notNullable().references('workspaces.id').onDelete('CASCADE');
    t.string('user_id').notNullable().references('users.id').onDelete('CASCADE');
    t.string('role').notNullable();
    t.bigInteger('created_at').notNullable();
    t.bigInteger('updated_at').notNullable();
    t.primary(['organisation_id', 'workspace_id', 'user_id']);
    t.index(['organisation_id', 'user_id']);
  });

  await sql.schema.createTable('invites', (t) => {
    t.string('id').primary();
    t.integer('revision').notNullable().defaultTo(1);
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('email').notNullable();
    t.string('email_key').notNullable();
    t.string('role').notNullable();
    // JSON: the workspaces to join, and the keys to make there.
    t.text('workspaces').notNullable();
    t.text('key_details');
    // Of the link's token; the token itself is nowhere.
    t.string('token_hash').notNullable().unique();
    t.string('status').notNullable();
    t.string('invited_by').notNullable();
    t.bigInteger('created_at').notNullable();
    t.bigInteger('expires_at').notNullable();
    t.bigInteger('accepted_at');
    t.index(['organisation_id', 'created_at']);
  });
}
