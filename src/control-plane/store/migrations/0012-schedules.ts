import type { Transaction } from '../sql/connection/driver.js';

/** Work that runs once per due time, whichever node does it. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.createTable('schedules', (t) => {
    t.string('name').primary();
    t.integer('interval_s').notNullable();
    t.bigInteger('next_due_at').notNullable();
    // Grows with every run: it separates what an older run writes from what a newer one does.
    t.bigInteger('fence').notNullable();
  });
  await sql.schema.createTable('schedule_runs', (t) => {
    t.string('name').notNullable();
    t.bigInteger('due_at').notNullable();
    t.bigInteger('fence').notNullable();
    t.string('node_id').notNullable();
    t.bigInteger('started_at').notNullable();
    t.bigInteger('lease_until').notNullable();
    t.bigInteger('ended_at');
    // null: it runs.
    t.string('outcome');
    t.primary(['name', 'due_at']);
  });
}
