import type { SecretMapping } from '../../records/credentials.js';
import type { SecretReferenceUse } from '../../records/secret-references.js';
import type { Sql } from '../connection/driver.js';

/** A message names no more. */
const maxUses = 20;

interface MappedRow {
  readonly name: string;
  readonly secret_mappings: string;
}

const tables = [
  { table: 'integrations', column: 'slug', kind: 'integration', only: { status: 'active' } },
  { table: 'providers', column: 'slug', kind: 'virtual key', only: {} },
  { table: 'partner_plugins', column: 'partner', kind: 'plugin', only: {} },
] as const;

/** What takes a credential from this secret reference: the first 20. */
export async function usesOf(
  sql: Sql,
  organisationId: string,
  reference: { readonly id: string; readonly slug: string },
): Promise<SecretReferenceUse[]> {
  const uses: SecretReferenceUse[] = [];
  for (const { table, column, kind, only } of tables) {
    const rows: MappedRow[] = await sql(table)
      .where({ organisation_id: organisationId, ...only })
      .whereNot({ secret_mappings: '[]' })
      .select({ name: column }, 'secret_mappings')
      .orderBy(column);
    for (const { name, secret_mappings } of rows) {
      if (uses.length === maxUses) return uses;
      const mappings: readonly SecretMapping[] = JSON.parse(secret_mappings);
      const isUsed = mappings.some(
        ({ secretReferenceId: named }) => named === reference.id || named === reference.slug,
      );
      if (isUsed) uses.push({ kind, slug: name });
    }
  }
  return uses;
}
