import type { Transaction } from '../sql/connection/driver.js';

/** Mails that are to be sent, and what the rotation of keys by schedule needs. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.createTable('mails', (table) => {
    table.string('id').primary();
    table.string('organisation_id').notNullable();
    table.string('workspace_id');
    table.string('kind').notNullable();
    // What is reported, and the id of the record that it is about. No one gets two mails of one event.
    table.string('event').notNullable();
    table.string('resource_id').notNullable();
    table.string('recipient').notNullable();
    table.string('recipient_key').notNullable();
    // JSON.
    table.text('content').notNullable();
    // A link with a token in it; null once it was sent.
    table.binary('sealed_link');
    table.string('status').notNullable();
    table.integer('tries').notNullable();
    table.bigInteger('due_at').notNullable();
    table.bigInteger('give_up_at').notNullable();
    table.string('error');
    table.bigInteger('created_at').notNullable();
    table.bigInteger('sent_at');
    table.unique(['organisation_id', 'event', 'recipient_key']);
    table.index(['status', 'due_at']);
    table.index(['organisation_id', 'created_at']);
  });
  // What people were notified of: of each kind, the time that the last notice was about.
  await sql.schema.createTable('api_key_notices', (table) => {
    table.string('key_id').notNullable();
    table.string('kind').notNullable();
    table.bigInteger('about_at').notNullable();
    table.primary(['key_id', 'kind']);
  });
  // New texts of keys that were rotated by schedule, until they are revealed.
  await sql.schema.createTable('rotated_key_texts', (table) => {
    table.string('key_id').primary();
    table.string('organisation_id').notNullable();
    table.binary('sealed').notNullable();
    table.bigInteger('created_at').notNullable();
  });
  // Of keys that expired before there were notices, people are not notified.
  await sql.raw(
    `INSERT INTO api_key_notices (key_id, kind, about_at)
      SELECT id, 'key_expired', expires_at FROM api_keys WHERE expires_at <= ?`,
    [Date.now()],
  );
  await sql.schema.alterTable('api_keys', (table) => {
    table.index(['previous_expires_at']);
    table.index(['expires_at']);
  });
}
