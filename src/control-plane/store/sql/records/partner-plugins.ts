import { randomUUID } from 'node:crypto';
import type { PartnerTexts } from '../../../../common/guardrails/partner-credentials.js';
import { partners } from '../../../../common/guardrails/partners.js';
import type { MappedField, PartnerRecord } from '../../../../common/ipc/records.js';
import { etagOf } from '../../records/etag.js';
import type {
  NewPartnerPlugin,
  PartnerPlugin,
  PartnerPluginChange,
  PartnerPluginStore,
} from '../../records/partner-plugins.js';
import type { Listed, Page } from '../../records/place.js';
import type { SealedPlace } from '../../secrets/seal.js';
import type { Database, Sql } from '../connection/driver.js';
import { isDuplicate } from '../connection/failure.js';
import type { DataKeys } from '../keys/data-keys.js';
import { listed } from '../lists.js';
import { isCurrent, replaceRow } from '../revision.js';
import { SealedCredentials } from './credentials.js';
import type { IntegrationRow } from './integration-row.js';
import { MappedSecrets, unfetched } from './mapped-secrets.js';

interface PartnerPluginRow {
  readonly id: string;
  readonly revision: number;
  readonly organisation_id: string;
  readonly partner: string;
  readonly name: string;
  readonly status: PartnerPlugin['status'];
  readonly integration_id: string | null;
  readonly shown: string;
  readonly sealed: Buffer;
  readonly secret_mappings: string;
  readonly created_at: number | string;
  readonly updated_at: number | string;
}

const fromRow = (row: PartnerPluginRow): PartnerPlugin => ({
  id: row.id,
  organisationId: row.organisation_id,
  partner: row.partner,
  name: row.name,
  status: row.status,
  integrationId: row.integration_id,
  shown: JSON.parse(row.shown),
  secretMappings: JSON.parse(row.secret_mappings),
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
  etag: etagOf(row),
});

const rowAt = (
  sql: Sql,
  organisationId: string,
  idOrPartner: string,
): Promise<PartnerPluginRow | undefined> =>
  sql('partner_plugins')
    .where({ organisation_id: organisationId })
    .andWhere((either) => either.where({ id: idOrPartner }).orWhere({ partner: idOrPartner }))
    .first();

const sealedPlace = ({
  id,
  organisation_id,
}: Pick<PartnerPluginRow, 'id' | 'organisation_id'>): SealedPlace => ({
  table: 'partner_plugins',
  row: id,
  organisation: organisation_id,
  field: 'sealed',
});

export class SqlPartnerPlugins implements PartnerPluginStore {
  readonly #integrations: SealedCredentials;
  readonly #mapped: MappedSecrets;

  constructor(
    readonly database: Database,
    readonly dataKeys: DataKeys,
    readonly now: () => number,
  ) {
    this.#integrations = new SealedCredentials(dataKeys, 'integrations');
    this.#mapped = new MappedSecrets(dataKeys);
  }

  get(organisationId: string, idOrPartner: string): Promise<PartnerPlugin | null> {
    return this.database.read(async (sql) => {
      const row = await rowAt(sql, organisationId, idOrPartner);
      return row === undefined ? null : fromRow(row);
    });
  }

  open(organisationId: string, id: string): Promise<PartnerTexts | null> {
    return this.database.read(async (sql) => {
      const row = await rowAt(sql, organisationId, id);
      return row === undefined ? null : this.#opened(sql, row);
    });
  }

  find(scope: string, partner: string): Promise<PartnerRecord | null> {
    return this.database.read(async (sql) => {
      const workspace = await sql('workspaces')
        .where({ id: scope, status: 'active' })
        .first('organisation_id');
      const row: PartnerPluginRow | undefined = await sql('partner_plugins')
        .where({ organisation_id: workspace?.organisation_id ?? scope, partner, status: 'active' })
        .first();
      if (row === undefined) return null;
      const owner = {
        organisationId: row.organisation_id,
        workspaceId: workspace === undefined ? null : scope,
      };
      const lender = await this.#lender(sql, row);
      const lent = lender === null ? [] : await this.#lentMappings(sql, owner, row.partner, lender);
      const own = await this.#mapped.fields(sql, owner, row.secret_mappings);
      const mapped = [...lent, ...own];
      const lentTexts = lender === null ? {} : await this.#lent(sql, row.partner, lender);
      return {
        credentials: { ...lentTexts, ...(await this.#opened(sql, row)) },
        ...(mapped.length > 0 && { mapped, unresolved: mapped.map(unfetched) }),
      };
    });
  }

  async #opened(sql: Sql, row: PartnerPluginRow): Promise<PartnerTexts> {
    return JSON.parse(await this.dataKeys.open(sql, sealedPlace(row), row.sealed));
  }

  /** The integration that lends its credential, while that is active. */
  async #lender(
    sql: Sql,
    { organisation_id, partner, integration_id: id }: PartnerPluginRow,
  ): Promise<IntegrationRow | null> {
    if (id === null || partners.get(partner)?.lender === undefined) return null;
    const row: IntegrationRow | undefined = await sql('integrations')
      .where({ organisation_id, id, status: 'active' })
      .first();
    return row ?? null;
  }

  /** What an integration has mapped to secrets, by the names of the partner's fields. */
  async #lentMappings(
    sql: Sql,
    owner: { readonly organisationId: string; readonly workspaceId: string | null },
    partner: string,
    lender: IntegrationRow,
  ): Promise<MappedField[]> {
    const fields = Object.entries(partners.get(partner)?.lender?.fields ?? {});
    return (await this.#mapped.fields(sql, owner, lender.secret_mappings)).flatMap((mapped) =>
      fields.filter(([, source]) => source === mapped.field).map(([field]) => ({ ...mapped, field })),
    );
  }

  async #lent(sql: Sql, partner: string, row: IntegrationRow): Promise<PartnerTexts> {
    const { key, secrets } = await this.#integrations.open(sql, row);
    const all: Record<string, unknown> = { ...JSON.parse(row.configurations), ...secrets, key };
    const texts = Object.entries(partners.get(partner)?.lender?.fields ?? {}).flatMap(([field, source]) => {
      const value = all[source];
      return typeof value === 'string' && value !== '' ? [[field, value] as const] : [];
    });
    return Object.fromEntries(texts);
  }

  list(organisationId: string, page: Page): Promise<Listed<PartnerPlugin>> {
    return this.database.read((sql) =>
      listed<PartnerPluginRow, PartnerPlugin>(
        sql('partner_plugins').where({ organisation_id: organisationId }),
        [{ column: 'partner' }],
        page,
        fromRow,
      ),
    );
  }

  async create(organisationId: string, input: NewPartnerPlugin): Promise<PartnerPlugin | 'taken'> {
    const now = this.now();
    const own = { id: randomUUID(), organisation_id: organisationId };
    try {
      return await this.database.write(
        async (sql) => {
          const row: PartnerPluginRow = {
            ...own,
            revision: 1,
            partner: input.partner,
            name: input.name,
            status: 'active',
            integration_id: input.integrationId,
            shown: JSON.stringify(input.shown),
            sealed: await this.dataKeys.seal(sql, sealedPlace(own), JSON.stringify(input.credentials)),
            secret_mappings: JSON.stringify(input.secretMappings),
            created_at: now,
            updated_at: now,
          };
          await sql('partner_plugins').insert(row);
          return fromRow(row);
        },
        { apart: true },
      );
    } catch (error) {
      if (isDuplicate(error)) return 'taken';
      throw error;
    }
  }

  update(
    organisationId: string,
    id: string,
    change: PartnerPluginChange,
  ): Promise<PartnerPlugin | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await rowAt(sql, organisationId, id);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, change.etag)) return 'stale';
      const { credentials, shown, secretMappings } = change;
      const written = await replaceRow(sql, 'partner_plugins', {
        ...row,
        name: change.name ?? row.name,
        status: change.status ?? row.status,
        shown: shown === undefined ? row.shown : JSON.stringify(shown),
        sealed:
          credentials === undefined
            ? row.sealed
            : await this.dataKeys.seal(sql, sealedPlace(row), JSON.stringify(credentials)),
        secret_mappings: secretMappings === undefined ? row.secret_mappings : JSON.stringify(secretMappings),
        updated_at: this.now(),
      });
      return written === 'stale' ? written : fromRow(written);
    });
  }

  delete(organisationId: string, id: string, etag?: string): Promise<PartnerPlugin | 'missing' | 'stale'> {
    return this.database.write(async (sql) => {
      const row = await rowAt(sql, organisationId, id);
      if (row === undefined) return 'missing';
      if (!isCurrent(row, etag)) return 'stale';
      await sql('partner_plugins').where({ id: row.id }).delete();
      return fromRow(row);
    });
  }
}
