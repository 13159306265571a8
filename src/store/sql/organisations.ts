import type { AuditChain } from './audit-chain.js';
import type { DataKeys } from './data-keys.js';
import type { Transaction } from './driver.js';

/** What every organisation must have from its first moment on. */
export interface OrganisationParts {
  readonly dataKeys: DataKeys;
  readonly chain: AuditChain;
}

/** Makes an organisation, with the key that seals its secrets and the head of its audit log. */
export async function insertOrganisation(
  sql: Transaction,
  { dataKeys, chain }: OrganisationParts,
  row: { readonly id: string; readonly name: string; readonly created_at: number },
): Promise<void> {
  await sql('organisations').insert({ ...row, revision: 1 });
  await dataKeys.create(sql, row.id);
  await chain.begin(sql, row.id);
}
