import type { Transaction } from '../sql/connection/driver.js';

/** What documents of configuration have made or changed. */
export async function up(sql: Transaction): Promise<void> {
  await sql.schema.createTable('applied_documents', (table) => {
    table.string('organisation_id').notNullable();
    // The name of the set of documents.
    table.string('set_name').notNullable();
    table.string('kind').notNullable();
    table.string('record_id').notNullable();
    // Of the record; null: the organisation's own.
    table.string('workspace_id');
    // As documents call it.
    table.string('name').notNullable();
    // Was the record made by documents, so that it may be deleted with them?
    table.boolean('made').notNullable();
    // JSON: the fields that the document had.
    table.text('fields').notNullable();
    // JSON: keyed hashes of the secrets that the document named, by their paths.
    table.text('secrets').notNullable();
    table.bigInteger('applied_at').notNullable();
    table.primary(['organisation_id', 'set_name', 'kind', 'record_id']);
  });
}
