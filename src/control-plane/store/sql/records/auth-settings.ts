import { Secret } from '../../../../common/access/secret.js';
import {
  type AuthSettings,
  type AuthSettingsChange,
  type AuthSettingsStore,
  defaultAuthSettings,
} from '../../records/auth-settings.js';
import type { SealedPlace } from '../../secrets/seal.js';
import type { Database, Sql, Transaction } from '../connection/driver.js';
import { insertRow, updateRows } from '../connection/statements.js';
import type { DataKeys } from '../keys/data-keys.js';

interface AuthSettingsRow {
  readonly organisation_id: string;
  readonly settings: string;
  readonly client_secret: Buffer | null;
  readonly updated_at: number | string;
}

const rowOf = (sql: Sql, organisationId: string): Promise<AuthSettingsRow | undefined> =>
  sql('auth_settings').where({ organisation_id: organisationId }).first();

const settingsOf = (row: AuthSettingsRow | undefined): AuthSettings =>
  row === undefined ? defaultAuthSettings : { ...defaultAuthSettings, ...JSON.parse(row.settings) };

const secretPlace = (organisation: string): SealedPlace => ({
  table: 'auth_settings',
  row: organisation,
  organisation,
  field: 'client_secret',
});

export class SqlAuthSettings implements AuthSettingsStore {
  constructor(
    readonly database: Database,
    readonly dataKeys: DataKeys,
    readonly now: () => number,
  ) {}

  get(organisationId: string): Promise<AuthSettings> {
    return this.database.read(async (sql) => settingsOf(await rowOf(sql, organisationId)));
  }

  clientSecret(organisationId: string): Promise<Secret | null> {
    return this.database.read(async (sql) => {
      const row = await rowOf(sql, organisationId);
      if (row === undefined || row.client_secret === null) return null;
      return new Secret(await this.dataKeys.open(sql, secretPlace(organisationId), row.client_secret));
    });
  }

  update(organisationId: string, change: AuthSettingsChange): Promise<AuthSettings> {
    return this.database.write(async (sql) => {
      const row = await rowOf(sql, organisationId);
      const { clientSecret, ...rest } = change;
      const given = Object.entries(rest).filter(([, value]) => value !== undefined);
      const settings: AuthSettings = { ...settingsOf(row), ...Object.fromEntries(given) };
      const next: AuthSettingsRow = {
        organisation_id: organisationId,
        settings: JSON.stringify(settings),
        client_secret:
          clientSecret === undefined
            ? (row?.client_secret ?? null)
            : await this.#sealed(sql, organisationId, clientSecret),
        updated_at: this.now(),
      };
      if (row === undefined) await insertRow(sql, 'auth_settings', next);
      else await updateRows(sql, 'auth_settings', { organisation_id: organisationId }, next);
      return settings;
    });
  }

  async #sealed(sql: Transaction, organisationId: string, secret: Secret | null): Promise<Buffer | null> {
    return secret === null ? null : this.dataKeys.seal(sql, secretPlace(organisationId), secret.reveal());
  }
}
