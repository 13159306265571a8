import type { Transaction } from '../sql/connection/driver.js';

/** Credentials with which checks of guardrails call partners: of each partner at most one entry for an organisation. */
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
}
