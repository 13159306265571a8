import type { Transaction } from '../sql/connection/driver.js';

/** Prices that an organisation sets for models, for the calls through its stored providers. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.createTable('model_prices', (table) => {
    table.string('organisation_id').notNullable();
    table.string('provider').notNullable();
    table.string('model').notNullable();
    // The day from which on it holds (UTC); empty: always, until another one's day.
    table.string('since').notNullable();
    // JSON, in dollars for a million tokens.
    table.text('price').notNullable();
    table.text('source');
    table.string('read_on');
    table.bigInteger('updated_at').notNullable();
    table.primary(['organisation_id', 'provider', 'model', 'since']);
  });
}
