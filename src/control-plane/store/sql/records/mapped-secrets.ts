import type { MappedField, SecretReferenceRecord, UnresolvedField } from '../../../../common/ipc/records.js';
import type { SecretMapping } from '../../records/credentials.js';
import type { Sql } from '../connection/driver.js';
import type { DataKeys } from '../keys/data-keys.js';
import { recordOf, type SecretReferenceRow } from './secret-references.js';

/** Whose record it is that has the mappings. `workspaceId`: null for the organisation as a whole. */
interface Owner {
  readonly organisationId: string;
  readonly workspaceId: string | null;
}

/** A field whose value was not fetched. */
export const unfetched = ({ field, named }: MappedField): UnresolvedField => ({
  field,
  code: 'secret_unavailable',
  message: `is mapped to the secret reference ${named}, whose value was not fetched: try again shortly.`,
});

/** The fields of a record that secret references fill, with what is needed to fetch their values. */
export class MappedSecrets {
  constructor(readonly dataKeys: DataKeys) {}

  /** JSON text of mappings, as rows have it. Empty where there is none: most records have none. */
  async fields(sql: Sql, owner: Owner, text: string): Promise<MappedField[]> {
    if (text === '[]') return [];
    const mappings: readonly SecretMapping[] = JSON.parse(text);
    const names = [...new Set(mappings.map(({ secretReferenceId }) => secretReferenceId))];
    const rows: SecretReferenceRow[] = await sql('secret_references')
      .where({ organisation_id: owner.organisationId })
      .andWhere((either) => either.whereIn('id', names).orWhereIn('slug', names));
    const records = new Map<string, SecretReferenceRecord>();
    for (const name of names) {
      const row = rows.find(({ id }) => id === name) ?? rows.find(({ slug }) => slug === name);
      if (row !== undefined) records.set(name, await this.#record(sql, row, owner.workspaceId));
    }
    return mappings.map(({ targetField, secretReferenceId, secretKey, valueFormat }) => ({
      field: targetField.replace(/^[^.]*\./, ''),
      named: secretReferenceId,
      secretKey,
      isJson: valueFormat === 'json',
      reference: records.get(secretReferenceId) ?? null,
    }));
  }

  #record(sql: Sql, row: SecretReferenceRow, workspaceId: string | null): Promise<SecretReferenceRecord> {
    const workspaces: readonly string[] | null = row.workspaces === null ? null : JSON.parse(row.workspaces);
    const isAllowed = workspaces === null || (workspaceId !== null && workspaces.includes(workspaceId));
    return recordOf(this.dataKeys, sql, row, isAllowed);
  }
}
