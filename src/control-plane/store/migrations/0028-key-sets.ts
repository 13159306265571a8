import type { Transaction } from '../sql/connection/driver.js';

/** The key sets of JSON web tokens that were fetched last, and failed sign-ins of the last minute. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.createTable('key_sets', (table) => {
    table.string('organisation_id').primary().references('organisations.id').onDelete('CASCADE');
    table.text('url').notNullable();
    // A JSON Web Key Set of public keys.
    table.text('keys').notNullable();
    table.bigInteger('fetched_at').notNullable();
  });
  await sql.schema.createTable('failed_sign_ins', (table) => {
    // A keyed hash of an account, an address or both.
    table.string('hash').primary();
    table.integer('count').notNullable();
    table.bigInteger('ends_at').notNullable();
    table.index(['ends_at']);
  });
}
