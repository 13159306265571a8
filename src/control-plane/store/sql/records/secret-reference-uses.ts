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
  { table: 'integrations', column: 'slug', kind: 'integration', only: { status: 'active' }, hasPlace: true },
  { table: 'providers', column: 'slug', kind: 'virtual key', only: {}, hasPlace: true },
  { table: 'partner_plugins', column: 'partner', kind: 'plugin', only: {}, hasPlace: false },
] as const;

/** What takes a credential from this secret reference: the first 20. */
export async function usesOf(
  sql: Sql,
  organisationId: string,
  reference: { readonly id: string; readonly slug: string },
): Promise<SecretReferenceUse[]> {
  const uses: SecretReferenceUse[] = [];
  for (const { table, column, kind, only, hasPlace } of tables) {
    const wanted = sql(table).where({ organisation_id: organisationId, ...only });
    // Records of an archived workspace are not used, and can no longer be changed.
    if (hasPlace) {
      const active = sql('workspaces')
        .where({ organisation_id: organisationId, status: 'active' })
        .select('id');
      wanted.andWhere((place) => place.whereNull('workspace_id').orWhereIn('workspace_id', active));
    }
    const rows: MappedRow[] = await wanted
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
