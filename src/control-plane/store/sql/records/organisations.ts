import { etagOf } from '../../records/etag.js';
import type {
  Organisation,
  OrganisationChange,
  OrganisationStore,
  SettingsInForce,
} from '../../records/organisations.js';
import { settingsInForce } from '../../records/settings-in-force.js';
import type { Database, Sql, Transaction } from '../connection/driver.js';
import type { DataKeys } from '../keys/data-keys.js';
import { isCurrent, replaceRow } from '../revision.js';
import type { AuditChain } from './audit-chain.js';
import { insertUniversalLabels } from './built-in.js';

interface OrganisationRow {
  readonly id: string;
  readonly revision: number;
  readonly name: string;
  /** These four are JSON. */
  readonly settings: string;
  readonly security_settings: string;
  readonly input_guardrails: string;
  readonly output_guardrails: string;
  readonly max_session_ttl: number | null;
  readonly created_at: number | string;
  readonly updated_at: number | string;
}

const fromRow = (row: OrganisationRow): Organisation => ({
  id: row.id,
  name: row.name,
  settings: JSON.parse(row.settings),
  securitySettings: JSON.parse(row.security_settings),
  defaults: {
    inputGuardrails: JSON.parse(row.input_guardrails),
    outputGuardrails: JSON.parse(row.output_guardrails),
  },
  maxSessionTtl: row.max_session_ttl === null ? null : Number(row.max_session_ttl),
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  etag: etagOf(row),
});

/** What every organisation must have from its first moment on. */
export interface OrganisationParts {
  readonly dataKeys: DataKeys;
  readonly chain: AuditChain;
}

/** Makes an organisation, with the key that seals its secrets, the head of its audit log and the built-in labels. */
export async function insertOrganisation(
  sql: Transaction,
  { dataKeys, chain }: OrganisationParts,
  row: { readonly id: string; readonly name: string; readonly created_at: number },
): Promise<void> {
  await sql('organisations').insert({ ...row, updated_at: row.created_at, revision: 1 });
  await dataKeys.create(sql, row.id);
  await chain.begin(sql, row.id);
  await insertUniversalLabels(sql, row.id, row.created_at);
}

const rowOf = (sql: Sql, id: string): Promise<OrganisationRow | undefined> =>
  sql('organisations').where({ id }).first();

export class SqlOrganisations implements OrganisationStore {
  constructor(
    readonly database: Database,
    readonly now: () => number,
  ) {}

  get(organisationId: string): Promise<Organisation | null> {
    return this.database.read(async (sql) => {
      const row = await rowOf(sql, organisationId);
      return row === undefined ? null : fromRow(row);
    });
  }

  update(organisationId: string, change: OrganisationChange): Promise<Organisation | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await rowOf(sql, organisationId);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, change.etag)) return 'stale';
      const old = fromRow(row);
      const { inputGuardrails, outputGuardrails } = change.defaults ?? old.defaults;
      const written = await replaceRow<OrganisationRow>(sql, 'organisations', {
        ...row,
        name: change.name ?? row.name,
        settings: JSON.stringify(change.settings ?? old.settings),
        security_settings: JSON.stringify(change.securitySettings ?? old.securitySettings),
        input_guardrails: JSON.stringify(inputGuardrails),
        output_guardrails: JSON.stringify(outputGuardrails),
        max_session_ttl: change.maxSessionTtl === undefined ? row.max_session_ttl : change.maxSessionTtl,
        updated_at: this.now(),
      });
      return written === 'stale' ? written : fromRow(written);
    });
  }

  settings(organisationId: string, workspaceId: string | null = null): Promise<SettingsInForce | null> {
    return this.database.read(async (sql) => {
      const organisation = await rowOf(sql, organisationId);
      if (organisation === undefined) return null;
      if (workspaceId === null) return settingsInForce(fromRow(organisation), null);
      const own: { settings: string; security_settings: string } | undefined = await sql('workspaces')
        .where({ organisation_id: organisationId, id: workspaceId })
        .first('settings', 'security_settings');
      if (own === undefined) return null;
      return settingsInForce(fromRow(organisation), {
        settings: JSON.parse(own.settings),
        securitySettings: JSON.parse(own.security_settings),
      });
    });
  }
}
