import type { Transaction } from '../sql/connection/driver.js';

/** Rotation, budgets, rate limits and alerts of gateway keys. Times are Unix milliseconds. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.alterTable('api_keys', (t) => {
    // The text before the last rotation, good until then.
    t.string('previous_hash');
    t.bigInteger('previous_expires_at');
    t.bigInteger('last_rotated_at');
    t.text('rotation_policy');
    t.bigInteger('next_rotation_at');
    t.text('rate_limits').notNullable().defaultTo('[]');
    t.text('usage_limits');
    t.double('current_usage').notNullable().defaultTo(0);
    t.boolean('is_exhausted').notNullable().defaultTo(false);
    t.boolean('is_threshold_alerts_sent').notNullable().defaultTo(false);
    t.boolean('is_exhausted_alerts_sent').notNullable().defaultTo(false);
    t.bigInteger('next_usage_reset_at');
    t.bigInteger('last_reset_at');
    t.text('alert_emails').notNullable().defaultTo('[]');
  });
  await sql.schema.alterTable('api_keys', (t) => {
    t.unique(['previous_hash']);
    t.index(['organisation_id', 'user_id']);
    t.index(['next_rotation_at']);
  });
}
