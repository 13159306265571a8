import { maskGatewayKey } from '../../../../common/access/gateway-key.js';
import type { Credentials, CredentialsChange } from '../../records/credentials.js';
import type { SealedPlace } from '../../secrets/seal.js';
import type { Sql } from '../connection/driver.js';
import type { DataKeys } from '../keys/data-keys.js';

/** Columns that integrations and providers share. */
export interface CredentialColumns {
  readonly credential: Buffer | null;
  readonly masked_credential: string | null;
  readonly configurations: string;
  readonly secrets: Buffer | null;
  readonly secret_mappings: string;
}

interface Owner {
  readonly id: string;
  readonly organisation_id: string;
}

export interface OpenedCredentials {
  readonly key: string | null;
  /** Secret configurations by field. */
  readonly secrets: Readonly<Record<string, unknown>>;
}

export const noCredentials: CredentialColumns = {
  credential: null,
  masked_credential: null,
  configurations: '{}',
  secrets: null,
  secret_mappings: '[]',
};

export const credentialsOf = (row: CredentialColumns): Credentials => ({
  maskedKey: row.masked_credential,
  configurations: JSON.parse(row.configurations),
  secretMappings: JSON.parse(row.secret_mappings),
});

const only = (row: CredentialColumns): CredentialColumns => ({
  credential: row.credential,
  masked_credential: row.masked_credential,
  configurations: row.configurations,
  secrets: row.secrets,
  secret_mappings: row.secret_mappings,
});

/** The sealed parts of one table's rows. */
export class SealedCredentials {
  constructor(
    readonly dataKeys: DataKeys,
    readonly table: 'integrations' | 'providers',
  ) {}

  #place({ id, organisation_id }: Owner, field: 'credential' | 'secrets'): SealedPlace {
    return { table: this.table, row: id, organisation: organisation_id, field };
  }

  async open(
    sql: Sql,
    row: Owner & Pick<CredentialColumns, 'credential' | 'secrets'>,
  ): Promise<OpenedCredentials> {
    const opened = async (field: 'credential' | 'secrets'): Promise<string | null> => {
      const sealed = row[field];
      return sealed === null ? null : this.dataKeys.open(sql, this.#place(row, field), sealed);
    };
    const secrets = await opened('secrets');
    return { key: await opened('credential'), secrets: secrets === null ? {} : JSON.parse(secrets) };
  }

  /** The columns after a change, for the row `owner`. */
  async changed(
    sql: Sql,
    owner: Owner,
    before: CredentialColumns,
    change: CredentialsChange,
  ): Promise<CredentialColumns> {
    const columns = { ...only(before) };
    if (change.key !== undefined) {
      const clear = change.key?.reveal() ?? null;
      columns.credential = await this.#seal(sql, owner, 'credential', clear);
      columns.masked_credential = clear === null ? null : maskGatewayKey(clear);
    }
    if (change.configurations !== undefined) {
      const { shown, secrets, kept } = change.configurations;
      const old = kept.length === 0 ? {} : (await this.open(sql, { ...before, ...owner })).secrets;
      const still = Object.fromEntries(Object.entries(old).filter(([field]) => kept.includes(field)));
      const all = { ...still, ...JSON.parse(secrets?.reveal() ?? '{}') };
      columns.secrets = await this.#seal(
        sql,
        owner,
        'secrets',
        Object.keys(all).length === 0 ? null : JSON.stringify(all),
      );
      columns.configurations = JSON.stringify(shown);
    }
    if (change.secretMappings !== undefined) columns.secret_mappings = JSON.stringify(change.secretMappings);
    return columns;
  }

  /** What the row `from` holds, sealed for `owner`. */
  async moved(
    sql: Sql,
    owner: Owner,
    from: CredentialColumns,
    { key, secrets }: OpenedCredentials,
  ): Promise<CredentialColumns> {
    const hasSecrets = Object.keys(secrets).length > 0;
    return {
      ...only(from),
      credential: await this.#seal(sql, owner, 'credential', key),
      secrets: await this.#seal(sql, owner, 'secrets', hasSecrets ? JSON.stringify(secrets) : null),
    };
  }

  async #seal(
    sql: Sql,
    owner: Owner,
    field: 'credential' | 'secrets',
    clear: string | null,
  ): Promise<Buffer | null> {
    return clear === null ? null : this.dataKeys.seal(sql, this.#place(owner, field), clear);
  }
}
