import type { Transaction } from '../sql/connection/driver.js';

/** Each version has the oldest one whose programs may use the store from then on. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.alterTable('schema_version', (t) => {
    t.integer('compatible_from');
  });
  await sql('schema_version').update({ compatible_from: sql.ref('version') });
}
