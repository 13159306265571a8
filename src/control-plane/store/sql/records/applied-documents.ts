import type { AppliedDocument, AppliedDocumentStore } from '../../records/applied-documents.js';
import type { Database } from '../connection/driver.js';

interface AppliedRow {
  readonly organisation_id: string;
  readonly set_name: string;
  readonly kind: string;
  readonly record_id: string;
  readonly workspace_id: string | null;
  readonly name: string;
  readonly made: boolean | number;
  readonly fields: string;
  readonly secrets: string;
  readonly applied_at: number | string;
}

const fromRow = (row: AppliedRow): AppliedDocument => ({
  set: row.set_name,
  kind: row.kind,
  recordId: row.record_id,
  workspaceId: row.workspace_id,
  name: row.name,
  made: Boolean(row.made),
  fields: JSON.parse(row.fields),
  secrets: JSON.parse(row.secrets),
});

/** Rows that are written by one statement. */
const rowsAtOnce = 200;
const key = ['organisation_id', 'set_name', 'kind', 'record_id'];

export class SqlAppliedDocuments implements AppliedDocumentStore {
  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  list(organisationId: string): Promise<readonly AppliedDocument[]> {
    return this.database.read(async (sql) => {
      const rows: AppliedRow[] = await sql('applied_documents').where({ organisation_id: organisationId });
      return rows.map(fromRow);
    });
  }

  put(organisationId: string, documents: readonly AppliedDocument[]): Promise<void> {
    return this.database.write(async (sql) => {
      const rows = documents.map(
        (document): AppliedRow => ({
          organisation_id: organisationId,
          set_name: document.set,
          kind: document.kind,
          record_id: document.recordId,
          workspace_id: document.workspaceId,
          name: document.name,
          made: document.made,
          fields: JSON.stringify(document.fields),
          secrets: JSON.stringify(document.secrets),
          applied_at: this.now(),
        }),
      );
      for (let at = 0; at < rows.length; at += rowsAtOnce)
        await sql('applied_documents')
          .insert(rows.slice(at, at + rowsAtOnce))
          .onConflict(key)
          .merge();
    });
  }

  delete(organisationId: string, kind: string, recordId: string, set?: string): Promise<void> {
    return this.database.write(async (sql) => {
      await sql('applied_documents')
        .where({ organisation_id: organisationId, kind, record_id: recordId })
        .andWhere(set === undefined ? {} : { set_name: set })
        .delete();
    });
  }
}
