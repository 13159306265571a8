import type { Transaction } from '../sql/connection/driver.js';

/** How people sign in: passwords, one-time links, identities at OpenID providers; and their sessions. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.createTable('sessions', (t) => {
    t.string('id').primary();
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('user_id').notNullable().references('users.id').onDelete('CASCADE');
    // The token itself is stored nowhere.
    t.string('token_hash').notNullable().unique();
    t.string('address').notNullable();
    t.text('user_agent').notNullable();
    t.bigInteger('created_at').notNullable();
    t.bigInteger('seen_at').notNullable();
    t.bigInteger('expires_at').notNullable();
    t.index(['organisation_id', 'user_id']);
    t.index(['expires_at']);
  });

  await sql.schema.createTable('passwords', (t) => {
    t.string('user_id').primary().references('users.id').onDelete('CASCADE');
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    // Algorithm, parameters, salt and hash.
    t.string('hash').notNullable();
    t.bigInteger('updated_at').notNullable();
  });

  await sql.schema.createTable('user_links', (t) => {
    t.string('id').primary();
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    // null: for the first owner, who is not a user yet.
    t.string('user_id').references('users.id').onDelete('CASCADE');
    t.string('token_hash').notNullable().unique();
    t.bigInteger('created_at').notNullable();
    t.bigInteger('expires_at').notNullable();
    t.index(['organisation_id', 'user_id']);
  });

  await sql.schema.createTable('user_identities', (t) => {
    t.string('organisation_id').notNullable().references('organisations.id').onDelete('CASCADE');
    t.string('issuer').notNullable();
    t.string('subject').notNullable();
    t.string('user_id').notNullable().references('users.id').onDelete('CASCADE');
    t.bigInteger('created_at').notNullable();
    t.primary(['organisation_id', 'issuer', 'subject']);
    t.index(['user_id']);
  });

  // Values that are accepted once: the `state` of sign-ins at an OpenID provider.
  await sql.schema.createTable('used_states', (t) => {
    t.string('hash').primary();
    t.bigInteger('expires_at').notNullable();
  });
}
