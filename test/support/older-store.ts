import type { Transaction } from '../../src/control-plane/store/sql/connection/driver.js';

/** Undoes what migrations from 10 on have added: the rest of what a store of version 9 differs by, the test undoes itself. */
export async function undoNewest(sql: Transaction): Promise<void> {
  await sql('schema_version').where('version', '>=', 10).delete();
  for (const table of [
    'failed_sign_ins',
    'key_sets',
    'auth_settings',
    'secret_references',
    'applied_documents',
    'mails',
    'api_key_notices',
    'rotated_key_texts',
    'used_states',
    'user_identities',
    'user_links',
    'passwords',
    'sessions',
    'scim_mappings',
    'scim_group_members',
    'scim_groups',
    'log_exports',
    'saved_filters',
    'unredacted_texts',
    'partner_plugins',
    'model_prices',
    'schedule_runs',
    'schedules',
    'nodes',
  ])
    await sql.schema.dropTable(table);
  for (const column of ['previous_expires_at', 'expires_at'])
    await sql.schema.alterTable('api_keys', (t) => t.dropIndex([column]));
  await sql.schema.alterTable('users', (t) => t.dropIndex(['organisation_id', 'external_id']));
  const dropped = {
    workspaces: ['scim_source_id'],
    workspace_members: ['scim_role', 'own_role'],
    api_keys: ['created_by'],
    users: ['is_active', 'external_id', 'display_name', 'scim_attributes', 'scim_emails'],
  };
  // Not by knex: for SQLite it makes the table anew, and the rows that refer to the old one go with it.
  for (const [table, columns] of Object.entries(dropped))
    for (const column of columns) await sql.raw(`ALTER TABLE ${table} DROP COLUMN ${column}`);
  await sql.schema.alterTable('usage_limits_policies', (t) => t.dropColumn('shadow'));
  await sql.schema.alterTable('rate_limits_policies', (t) => t.dropColumn('shadow'));
  await sql.schema.alterTable('schema_version', (t) => t.dropColumn('compatible_from'));
}
