import type { Transaction } from '../sql/connection/driver.js';

/**
 * Credentials with which checks of guardrails call partners, of each partner at most one entry for an organisation; bodies as
 * they were before guardrails changed them.
 */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.createTable('partner_plugins', (t) => {
    t.string('id').primary();
    t.integer('revision').notNullable().defaultTo(1);
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('partner').notNullable();
    t.string('name').notNullable();
    t.string('status').notNullable();
    // The integration that lends its credential.
    t.string('integration_id');
    // JSON as it is shown: secrets are masked.
    t.text('shown').notNullable();
    // All of it.
    t.binary('sealed').notNullable();
    t.bigInteger('created_at').notNullable();
    t.bigInteger('updated_at').notNullable();
    t.unique(['organisation_id', 'partner']);
  });

  await sql.schema.createTable('unredacted_texts', (t) => {
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    // Of the row in the ledger.
    t.string('log_id').notNullable();
    // `request` or `response`.
    t.string('part').notNullable();
    t.binary('sealed').notNullable();
    t.boolean('cut').notNullable();
    t.bigInteger('created_at').notNullable();
    t.primary(['organisation_id', 'log_id', 'part']);
    t.index(['organisation_id', 'created_at']);
  });
}
