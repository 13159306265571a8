import type { Transaction } from '../sql/connection/driver.js';
import type { MigrationContext } from './migration.js';

/** Audit log, kept answers, feed of changes, and a revision for everything that can be changed. */
export async function up(
  sql: Transaction,
  { systemKeys, chain, storeName }: MigrationContext,
): Promise<void> {
  for (const table of ['organisations', 'workspaces', 'api_keys', 'providers', 'configs']) {
    await sql.schema.alterTable(table, (t) => {
      t.integer('revision').notNullable().defaultTo(1);
    });
  }

  // Serve all organisations; wrapped by the master key.
  await sql.schema.createTable('system_keys', (t) => {
    t.string('name').primary();
    t.string('master_key_id').notNullable();
    t.binary('wrapped').notNullable();
    t.bigInteger('created_at').notNullable();
  });
  await systemKeys.create(sql, storeName);

  // No foreign key: a log outlives the records that it names.
  await sql.schema.createTable('audit_logs', (t) => {
    t.string('organisation_id').notNullable();
    t.bigInteger('seq').notNullable();
    t.bigInteger('at').notNullable();
    t.string('workspace_id');
    t.text('method').notNullable();
    t.text('uri').notNullable();
    t.text('request_id').notNullable();
    t.text('request_body').notNullable();
    t.text('query_params').notNullable();
    t.text('request_headers').notNullable();
    t.text('user_id').notNullable();
    t.text('user_type').notNullable();
    t.text('actor_name').notNullable();
    t.integer('response_status_code').notNullable();
    t.text('resource_type').notNullable();
    t.text('resource_id');
    t.text('action').notNullable();
    t.text('client_ip');
    t.text('country');
    t.boolean('allowed').notNullable();
    t.string('previous', 64).notNullable();
    t.string('hash', 64).notNullable();
    t.primary(['organisation_id', 'seq']);
    t.index(['organisation_id', 'at']);
  });

  await sql.schema.createTable('audit_heads', (t) => {
    t.string('organisation_id').primary();
    t.bigInteger('seq').notNullable();
    t.string('hash', 64).notNullable();
    t.string('mac', 64).notNullable();
  });
  for (const id of await sql('organisations').pluck('id')) await chain.begin(sql, id);

  await sql.schema.createTable('idempotency', (t) => {
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('caller_id').notNullable();
    t.string('key').notNullable();
    t.string('request_hash').notNullable();
    t.binary('answer').notNullable();
    t.bigInteger('expires_at').notNullable().index();
    t.primary(['organisation_id', 'caller_id', 'key']);
  });

  await sql.schema.createTable('changes', (t) => {
    t.bigIncrements('seq');
    t.string('organisation_id').notNullable();
    t.string('workspace_id');
    t.string('kind').notNullable();
    t.string('record_id').notNullable();
    t.string('slug');
    t.string('action').notNullable();
    t.text('forget').notNullable();
    t.bigInteger('at').notNullable().index();
    t.index(['organisation_id', 'seq']);
  });
}
