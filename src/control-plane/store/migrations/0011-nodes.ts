import type { Transaction } from '../sql/connection/driver.js';

/** The nodes of a deployment, in PostgreSQL. A node with SQLite is alone, and its table stays empty. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.createTable('nodes', (t) => {
    t.string('id').primary();
    t.string('name').notNullable();
    t.string('version').notNullable();
    // The newest version of the store that its program can use.
    t.integer('schema_version').notNullable();
    t.string('role').notNullable();
    t.string('state').notNullable();
    // Of this start of its program, and of the directory that it started on.
    t.string('instance').notNullable();
    t.string('place').notNullable();
    t.bigInteger('started_at').notNullable();
    t.bigInteger('last_seen_at').notNullable();
    t.integer('workers').notNullable();
    t.bigInteger('journal_behind_ms').notNullable();
  });
}
